package vm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"biztraak.dev/vm/internal/auth"
	"biztraak.dev/vm/internal/catalog/manifest"
	"biztraak.dev/vm/internal/fault"
	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/operation"
	"biztraak.dev/vm/internal/provider"
	"biztraak.dev/vm/internal/store"
)

// offeringsTimeout bounds the question to the cloud that a mutation waits for.
const offeringsTimeout = 10 * time.Second

// Provision makes a machine for a VM.
func (s *Service) Provision(ctx context.Context, in ProvisionInput) (*Work, error) {
	who, err := auth.From(ctx)
	if err != nil {
		return nil, err
	}
	refused := operation.CheckKey(in.IdempotencyKey)
	vm, account, refs, err := s.provisionReferences(ctx, who, in)
	if err != nil {
		return nil, err
	}
	if err := append(refused, refs...).Err(); err != nil {
		return nil, err
	}
	req := operation.Request{
		Scope: vm.TeamID, ActorID: who.UserID, Mutation: "provisionVirtualMachine", Key: in.IdempotencyKey, Input: in,
	}
	if !in.DryRun {
		// A repeat is answered even when the cloud cannot be asked now.
		if out, err := s.replayed(ctx, req); out != nil || err != nil {
			return out, err
		}
	}
	plan, rules, err := s.plan(ctx, vm, account, in)
	if err != nil {
		return nil, err
	}
	if err := rules.Err(); err != nil {
		return nil, err
	}
	if in.DryRun {
		return &Work{Plan: plan}, nil
	}
	return s.provision(ctx, who, vm, account, req, plan)
}

// accountRow is what a provision needs to know of a cloud account.
type accountRow struct {
	ID     ident.ID
	TeamID ident.ID
	Kind   provider.Kind
}

func (s *Service) provisionReferences(ctx context.Context, who auth.Actor, in ProvisionInput) (*VM, accountRow, fault.Refusals, error) {
	var refused fault.Refusals
	path := fault.Input("virtualMachineId")
	vm, err := s.VM(ctx, in.VirtualMachineID)
	if err != nil {
		return nil, accountRow{}, nil, err
	}
	if vm == nil {
		refused = append(refused, notFound(path, "VM")...)
	} else {
		refused = append(refused, auth.Require(vm.Role, auth.RunVM, path)...)
	}
	if !s.deployEnabled {
		refused = append(refused, featureDisabled(path)...)
	}
	var account accountRow
	q := s.db.Gorm(ctx).Table("cloud_account").Select("cloud_account.id, cloud_account.team_id, cloud_account.kind").
		Where("cloud_account.id = ?", in.CloudAccountID)
	if err := auth.Visible(q, who, "cloud_account.team_id").Scan(&account).Error; err != nil {
		return nil, accountRow{}, nil, fmt.Errorf("read cloud account: %w", err)
	}
	// An account of another team of the same person counts as absent: a machine
	// and its account belong to one tenant.
	if account.ID == "" || (vm != nil && account.TeamID != vm.TeamID) {
		refused = append(refused, notFound(fault.Input("cloudAccountId"), "cloud account of this team")...)
	}
	return vm, account, refused, nil
}

// plan chooses the region and the size, asking the cloud what it offers.
func (s *Service) plan(ctx context.Context, vm *VM, a accountRow, in ProvisionInput) (*Plan, fault.Refusals, error) {
	var refused fault.Refusals
	template, err := s.catalog.Template(ctx, vm.TemplateID)
	if err != nil {
		return nil, nil, err
	}
	if template == nil || template.Manifest.Template.BaseImages[manifest.ProviderKind(a.Kind)] == "" {
		refused.Add(fault.TemplateNotFitting, fault.Input("cloudAccountId"),
			"the template of this VM has no image for %s; choose an account of another kind, or a VM of another template", a.Kind)
	}
	regions, err := s.offerings(ctx, a)
	if err != nil {
		return nil, nil, err
	}
	region, size, more := choose(regions, vm.Resources, in)
	refused = append(refused, more...)
	return &Plan{Region: region, Size: size, Steps: s.handlers[operation.Provision].StepNames()}, refused, nil
}

func (s *Service) offerings(ctx context.Context, a accountRow) ([]provider.Region, error) {
	ctx, cancel := context.WithTimeout(ctx, offeringsTimeout)
	defer cancel()
	kind, account, err := s.accounts.DriverAccount(ctx, a.ID)
	if err != nil {
		return nil, err
	}
	driver, err := s.drivers.Driver(kind)
	if err != nil {
		return nil, err
	}
	regions, err := driver.Offerings(ctx, account)
	if err != nil {
		s.log.WarnContext(ctx, "ask for offerings", "account", a.ID, "error", err)
		return nil, fault.New(fault.Unavailable, "the cloud did not answer what it offers: %s. Try again in a moment.",
			provider.Classify(err).Message)
	}
	return regions, nil
}

// choose picks the region and the size: those named, else the first region and
// in it the smallest size that holds the resources.
func choose(regions []provider.Region, need Resources, in ProvisionInput) (string, string, fault.Refusals) {
	var refused fault.Refusals
	at := 0
	if in.Region != nil {
		at = slices.IndexFunc(regions, func(r provider.Region) bool { return r.ID == *in.Region })
	}
	if at < 0 || at >= len(regions) {
		refused.Add(fault.InputInvalid, fault.Input("region"), "the cloud has no such region; it has %s",
			idsOf(regions, func(r provider.Region) string { return r.ID }))
		return "", "", refused
	}
	sizes := regions[at].Sizes
	if in.Size != nil {
		i := slices.IndexFunc(sizes, func(z provider.Size) bool { return z.ID == *in.Size })
		switch {
		case i < 0:
			refused.Add(fault.InputInvalid, fault.Input("size"), "region %s has no such size; it has %s", regions[at].ID,
				idsOf(sizes, func(z provider.Size) string { return z.ID }))
		case !holds(sizes[i], need):
			refused.Add(fault.ResourcesTooSmall, fault.Input("size"),
				"size %s is smaller than the VM's resources; choose a larger one, or leave it out", sizes[i].ID)
		}
		return regions[at].ID, *in.Size, refused
	}
	best := -1
	for i, z := range sizes {
		if holds(z, need) && (best < 0 || z.CPUMilli < sizes[best].CPUMilli ||
			(z.CPUMilli == sizes[best].CPUMilli && z.MemoryBytes < sizes[best].MemoryBytes)) {
			best = i
		}
	}
	if best < 0 {
		refused.Add(fault.ResourcesTooSmall, fault.Input("size"),
			"region %s has no size that holds the VM's resources; choose another region, or a smaller VM", regions[at].ID)
		return regions[at].ID, "", refused
	}
	return regions[at].ID, sizes[best].ID, refused
}

func holds(z provider.Size, need Resources) bool {
	return z.CPUMilli >= need.CPUMilli && z.MemoryBytes >= need.MemoryBytes && z.DiskBytes >= need.DiskBytes
}

// idsOf lists the ids for a message; not all, if there are many.
func idsOf[T any](items []T, id func(T) string) string {
	const most = 20
	out := ""
	for i, item := range items {
		if i == most {
			return out + " and others"
		}
		if i > 0 {
			out += ", "
		}
		out += id(item)
	}
	return out
}

// errNoReplay rolls back the claim of a key that nobody has used yet.
var errNoReplay = errors.New("no replay")

// replayed answers the first call with the same key, nil when there was none.
func (s *Service) replayed(ctx context.Context, req operation.Request) (*Work, error) {
	if req.Key == nil {
		return nil, nil //nolint:nilnil // no key, no replay, no error
	}
	var replay *operation.Replay
	err := s.writer.Write(ctx, func(tx *operation.Tx) error {
		var err error
		if replay, err = tx.Once(req); err == nil && replay == nil {
			return errNoReplay
		}
		return err
	})
	if errors.Is(err, errNoReplay) {
		return nil, nil //nolint:nilnil // the first call
	}
	if err != nil {
		return nil, err
	}
	return s.answer(ctx, &Work{Replayed: true}, replay.ObjectIDs[0], replay.OperationID)
}

func (s *Service) provision(
	ctx context.Context, who auth.Actor, vm *VM, a accountRow, req operation.Request, plan *Plan,
) (*Work, error) {
	out := &Work{}
	var id, op ident.ID
	simulated := a.Kind == provider.KindSimulator
	err := s.writer.Write(ctx, func(tx *operation.Tx) error {
		out.Replayed = false
		id = ident.New(ident.Provider)
		replay, err := tx.Once(req)
		if err != nil {
			return err
		}
		if replay != nil {
			out.Replayed, id, op = true, replay.ObjectIDs[0], replay.OperationID
			return nil
		}
		if err := tx.Exec(`INSERT INTO vm_provider (id, team_id, project_id, vm_id, account_id, kind, region, size, status,
				status_since, simulated, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'PENDING', ?, ?, ?)`,
			id, vm.TeamID, vm.ProjectID, vm.ID, a.ID, a.Kind, plan.Region, plan.Size, tx.Now, simulated, tx.Now).Error; err != nil {
			return fmt.Errorf("store vm provider: %w", err)
		}
		p, err := lockProvider(tx.DB, id)
		if err != nil {
			return err
		}
		op, err = tx.Enqueue(operation.New{
			Kind: operation.Provision, TeamID: vm.TeamID, ProjectID: vm.ProjectID, TargetID: id, Ancestors: p.above(),
			ActorID: who.UserID, Steps: plan.Steps, Locks: exclusive(id), Simulated: simulated,
		})
		if err != nil {
			return err
		}
		tx.Emit(operation.Event{
			ProjectID: vm.ProjectID, Kind: operation.ProviderStatus, SubjectID: id, Above: p.above(),
			OperationID: op, ActorID: who.UserID, Status: string(Pending),
		})
		return tx.Remember(req, op, id)
	})
	if store.IsViolation(err, "vm_provider_vm_id_fkey") {
		return nil, notFound(fault.Input("virtualMachineId"), "VM")
	}
	if store.IsViolation(err, "vm_provider_account_id_fkey") {
		return nil, notFound(fault.Input("cloudAccountId"), "cloud account of this team")
	}
	if err != nil {
		return nil, fmt.Errorf("provision: %w", err)
	}
	return s.answer(ctx, out, id, op)
}
