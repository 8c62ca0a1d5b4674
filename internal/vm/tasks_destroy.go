package vm

import (
	"context"
	"fmt"
	"strings"

	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/operation"
	"biztraak.dev/vm/internal/provider"
)

func (s *Service) destroyHandler() operation.Handler {
	return operation.Handler{
		Kind: operation.Destroy,
		Steps: []operation.StepDef{
			{Name: "destroy_instance", Limit: goneLimit, Do: s.step(s.remove)},
		},
		Lock:  lockTarget,
		Begin: s.enterOn(operation.Destroy),
		End:   s.endDestroy,
		Retry: s.retryFrom(operation.Destroy),
	}
}

// remove destroys every instance that carries the provider's tag, the recorded
// one or not, and is done when the cloud shows none any more.
func (s *Service) remove(ctx context.Context, m *machine) (operation.Result, error) {
	left, err := m.instances(ctx)
	if err != nil {
		return operation.Result{}, err
	}
	if len(left) == 0 {
		return operation.Result{Detail: "the cloud has confirmed that it is gone", Apply: func(tx *operation.Tx) error {
			p, err := readProvider(tx.DB, m.ID)
			if err != nil {
				return err
			}
			if err := p.setInstance(tx, ""); err != nil {
				return err
			}
			return p.setAddress(tx, nil, m.cause())
		}}, nil
	}
	for _, o := range left {
		if o.State == provider.StateDeleting {
			continue
		}
		if err := m.work.Guard(ctx); err != nil {
			return operation.Result{}, err
		}
		if err := m.driver.Destroy(ctx, m.account, o.Ref()); err != nil {
			return operation.Result{}, err
		}
	}
	return m.waitFor(fmt.Sprintf("waiting for the cloud to remove %d instance(s)", len(left))), nil
}

// instances are all that the cloud shows of the provider: those with its tag,
// and the recorded one, which a list may not show yet.
func (m *machine) instances(ctx context.Context) ([]provider.Observation, error) {
	all, err := m.driver.List(ctx, m.account)
	if err != nil {
		return nil, err
	}
	var ours []provider.Observation
	seen := false
	for _, o := range all {
		if o.Owner == string(m.ID) {
			ours = append(ours, o)
			seen = seen || o.InstanceID == m.instance()
		}
	}
	if m.instance() == "" || seen {
		return ours, nil
	}
	o, err := m.observe(ctx)
	gone, err := unlessGone(err)
	if err != nil || gone {
		return ours, err
	}
	return append(ours, o), nil
}

func (s *Service) endDestroy(tx *operation.Tx, w *operation.Work, status operation.Status, failure *operation.Error) error {
	p, err := readProvider(tx.DB, w.Target())
	if err != nil {
		return err
	}
	if err := p.setLastError(tx, failure); err != nil {
		return err
	}
	if status != operation.Succeeded {
		return nil // still DELETING: a retry, or the next destroy, goes on
	}
	conn, err := tx.SQL()
	if err != nil {
		return err
	}
	if err := s.journals.WantTx(tx.Statement.Context, conn, p.ID, false); err != nil {
		return err
	}
	return p.setStatus(tx, Deleted, cause{operationID: w.ID(), actorID: w.Actor()})
}

// auditDestroyed records instances that the platform has destroyed by itself.
func (s *Service) auditDestroyed(tx *operation.Tx, team, providerID ident.ID, instances []string, why string) error {
	if len(instances) == 0 {
		return nil
	}
	tx.Log(providerID, "destroyed %s: %s", strings.Join(instances, ", "), why)
	return tx.Exec(`INSERT INTO audit_event (id, team_id, action, object_id, detail, occurred_at)
		VALUES (?, ?, 'instance.destroyed', ?, jsonb_build_object('instances', ?::text, 'why', ?::text), ?)`,
		ident.New(ident.Audit), team, providerID, strings.Join(instances, ", "), why, tx.Now).Error
}

func refIDs(refs []provider.Ref) []string {
	out := make([]string, len(refs))
	for i, r := range refs {
		out[i] = r.InstanceID
	}
	return out
}
