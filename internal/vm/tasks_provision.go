package vm

import (
	"context"
	"fmt"

	"biztraak.dev/vm/internal/catalog/manifest"
	"biztraak.dev/vm/internal/fault"
	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/operation"
	"biztraak.dev/vm/internal/provider"
)

func (s *Service) provisionHandler() operation.Handler {
	return operation.Handler{
		Kind: operation.Provision,
		Steps: []operation.StepDef{
			{Name: "create_instance", Cancelable: true, Limit: callLimit, Do: s.step(s.createInstance)},
			{Name: "wait_for_boot", Cancelable: true, Limit: bootLimit, Do: s.step(s.waitForBoot)},
			{Name: "wait_for_guest", Cancelable: true, Limit: bootLimit, Do: s.step(s.waitForGuest)},
		},
		CleanUp: []operation.StepDef{
			{Name: "remove_instance", Limit: goneLimit, Do: s.step(s.removeAfterCancel)},
		},
		Lock:  lockTarget,
		Begin: s.enterOn(operation.Provision),
		End:   s.endProvision,
		Retry: s.retryFrom(operation.Provision),
	}
}

// enterOn moves the provider into the status of the work when it is first taken
// up.
func (s *Service) enterOn(kind operation.Kind) func(tx *operation.Tx, w *operation.Work) error {
	return func(tx *operation.Tx, w *operation.Work) error {
		p, err := readProvider(tx.DB, w.Target())
		if err != nil {
			return err
		}
		return p.enter(tx, kind, cause{operationID: w.ID(), actorID: w.Actor()})
	}
}

// createInstance makes sure that exactly one instance is kept and recorded.
func (s *Service) createInstance(ctx context.Context, m *machine) (operation.Result, error) {
	if m.instance() != "" && m.work.Retries() > 0 {
		if done, err := s.clearCorpse(ctx, m); err != nil || !done {
			return m.waitFor("removing what an earlier try left"), err
		}
	}
	spec, err := s.spec(ctx, m)
	if err != nil {
		return operation.Result{}, err
	}
	creation := provider.Creation{
		Driver: m.driver, Account: m.account, Spec: spec, FirstTry: m.work.FirstTry(), Guard: m.work.Guard,
		Save: func(ctx context.Context, ref provider.Ref) error { return s.recordInstance(ctx, m, ref) },
	}
	if m.instance() != "" {
		ref := m.ref()
		creation.Recorded = &ref
	}
	created, err := provider.EnsureCreated(ctx, creation)
	if err != nil {
		return operation.Result{}, err
	}
	return operation.Result{
		Detail: "instance " + created.Observation.InstanceID,
		Apply: func(tx *operation.Tx) error {
			return s.auditDestroyed(tx, m.TeamID, m.ID, refIDs(created.Twins), "a twin of the same create")
		},
	}, nil
}

// recordInstance stores the instance before anything else is done with it, and
// has its journal followed.
func (s *Service) recordInstance(ctx context.Context, m *machine, ref provider.Ref) error {
	return m.work.Save(ctx, func(tx *operation.Tx) error {
		p, err := readProvider(tx.DB, m.ID)
		if err != nil {
			return err
		}
		if err := p.setInstance(tx, ref.InstanceID); err != nil {
			return err
		}
		m.InstanceID = p.InstanceID
		conn, err := tx.SQL()
		if err != nil {
			return err
		}
		if err := s.journals.WantTx(ctx, conn, m.ID, true); err != nil {
			return err
		}
		tx.Log(m.ID, "the cloud has made instance %s in %s", ref.InstanceID, m.Region)
		return nil
	})
}

// clearCorpse removes an instance that an earlier try left broken, so that a
// retry makes a new one. It answers whether there is none (any more), or a
// usable one.
func (s *Service) clearCorpse(ctx context.Context, m *machine) (bool, error) {
	o, err := m.observe(ctx)
	gone, err := unlessGone(err)
	switch {
	case err != nil:
		return false, err
	case gone:
		return true, m.work.Save(ctx, func(tx *operation.Tx) error { return m.setInstance(tx, "") })
	case o.State != provider.StateError && o.State != provider.StateDeleting && o.Fault == nil:
		return true, nil
	}
	if err := m.work.Guard(ctx); err != nil {
		return false, err
	}
	return false, m.driver.Destroy(ctx, m.account, m.ref())
}

// spec says what to create. The token names the operation and the retry, so
// that a retry does not find the corpse of the try before.
func (s *Service) spec(ctx context.Context, m *machine) (provider.Spec, error) {
	var vm struct {
		Slug       string
		TemplateID ident.ID
	}
	err := s.db.Gorm(ctx).Raw(`SELECT c.slug, v.template_id FROM virtual_machine v JOIN component c ON c.id = v.id
		WHERE v.id = ?`, m.VMID).Scan(&vm).Error
	if err != nil {
		return provider.Spec{}, fmt.Errorf("read virtual machine: %w", err)
	}
	image, err := s.catalog.BaseImage(ctx, vm.TemplateID, manifest.ProviderKind(m.Kind))
	if err != nil {
		return provider.Spec{}, err
	}
	return provider.Spec{
		ClientToken: fmt.Sprintf("%s-%d", m.work.ID(), m.work.Retries()), Owner: string(m.ID), Name: vm.Slug,
		Region: m.Region, Size: m.Size, Image: image,
	}, nil
}

// removeAfterCancel undoes the create of a canceled provision. After a failure
// it leaves the machine: its log tells why, and a destroy removes it.
func (s *Service) removeAfterCancel(ctx context.Context, m *machine) (operation.Result, error) {
	if !m.work.Canceled() {
		return operation.Result{Detail: "kept for a look; destroy removes it"}, nil
	}
	return s.remove(ctx, m)
}

func (s *Service) endProvision(tx *operation.Tx, w *operation.Work, status operation.Status, failure *operation.Error) error {
	p, err := readProvider(tx.DB, w.Target())
	if err != nil {
		return err
	}
	if err := p.setLastError(tx, failure); err != nil {
		return err
	}
	by := cause{operationID: w.ID(), actorID: w.Actor()}
	if p.Status != Provisioning {
		return nil // a destroy has taken over
	}
	if status != operation.Succeeded {
		return p.setStatus(tx, Failed, by)
	}
	// What the machine was made of is what the VM wanted when it came up.
	if err := tx.Exec(`UPDATE vm_provider p SET applied_template_id = v.template_id, applied_add_on_ids = v.add_on_ids
		FROM virtual_machine v WHERE v.id = p.vm_id AND p.id = ?`, p.ID).Error; err != nil {
		return err
	}
	return p.setStatus(tx, Running, by)
}

// refuseRetry explains why a failed operation cannot be taken up again now.
func (s *Service) refuseRetry(kind operation.Kind, p *providerRow, holders []operation.Holder) error {
	path := fault.Input("operationId")
	var refused fault.Refusals
	if !s.deployEnabled && needsDeploy(kind) {
		refused = append(refused, featureDisabled(path)...)
	}
	switch d := admit(kind, p.Status, holders, false); {
	case len(holders) > 0:
		refused = append(refused, decision{verdict: busy, holder: d.holder, kind: d.kind}.refusal(kind, p.Status, path)...)
	case d.verdict != accept:
		refused.Add(fault.NotRetryable, path, "the machine is %s now: %s", p.Status, statusHint(kind, p.Status))
	}
	return refused.Err()
}
