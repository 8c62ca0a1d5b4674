package vm

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"biztraak.dev/vm/internal/auth"
	"biztraak.dev/vm/internal/catalog"
	"biztraak.dev/vm/internal/fault"
	"biztraak.dev/vm/internal/guest"
	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/names"
	"biztraak.dev/vm/internal/operation"
	"biztraak.dev/vm/internal/provider"
	"biztraak.dev/vm/internal/store"
)

// Accounts unseals cloud accounts, for work that the platform does.
type Accounts interface {
	DriverAccount(ctx context.Context, accountID ident.ID) (provider.Kind, provider.Account, error)
}

// JournalWish says which guests' journals are to be followed.
type JournalWish interface {
	WantTx(ctx context.Context, tx operation.SQLTx, providerID ident.ID, wanted bool) error
}

// Deps are what the room needs of others.
type Deps struct {
	DB       *store.DB
	Writer   *operation.Writer
	Catalog  *catalog.Service
	Accounts Accounts
	Drivers  *provider.Registry
	Guests   map[provider.Kind]guest.Guest
	Journals JournalWish
	Log      *slog.Logger
	// DeployEnabled is the feature switch deployVmEnabled.
	DeployEnabled bool
}

// Service is what can be done with VMs and their providers.
type Service struct {
	db            *store.DB
	writer        *operation.Writer
	operations    *operation.Service
	handlers      operation.Registry
	catalog       *catalog.Service
	accounts      Accounts
	drivers       *provider.Registry
	guests        map[provider.Kind]guest.Guest
	journals      JournalWish
	log           *slog.Logger
	deployEnabled bool
}

// NewService makes a Service. Its handlers are in Handlers; the service of
// operations, which must know them, is given to Use before the first call.
func NewService(d Deps) *Service {
	return &Service{
		db: d.DB, writer: d.Writer, catalog: d.Catalog, accounts: d.Accounts, drivers: d.Drivers, guests: d.Guests,
		journals: d.Journals, log: d.Log, deployEnabled: d.DeployEnabled,
	}
}

// Use completes the service with what is made from its own handlers.
func (s *Service) Use(ops *operation.Service, handlers operation.Registry) {
	s.operations, s.handlers = ops, handlers
}

// Create makes a VM component.
func (s *Service) Create(ctx context.Context, in CreateInput) (*Created, error) {
	who, err := auth.From(ctx)
	if err != nil {
		return nil, err
	}
	form := append(names.Component(in.Name, fault.Input("name")), operation.CheckKey(in.IdempotencyKey)...)
	form = append(form, in.Resources.form()...)
	team, refs, err := s.createReferences(ctx, who, in)
	if err != nil {
		return nil, err
	}
	if err := append(form, refs...).Err(); err != nil {
		return nil, err
	}
	least, problems, err := s.compose(ctx, in)
	if err != nil {
		return nil, err
	}
	res := in.Resources.over(least)
	problems = append(problems, res.below(least)...)
	if err := problems.Err(); err != nil {
		return nil, err
	}
	row := vmRow{
		ID: ident.New(ident.VM), TeamID: team, ProjectID: in.ProjectID, Name: in.Name, Slug: names.Slug(in.Name),
		TemplateID: in.TemplateID, AddOnIDs: sorted(in.AddOnIDs), Resources: res,
	}
	return s.insert(ctx, who, in, row)
}

func (s *Service) insert(ctx context.Context, who auth.Actor, in CreateInput, row vmRow) (*Created, error) {
	req := operation.Request{
		Scope: row.TeamID, ActorID: who.UserID, Mutation: "createVirtualMachine", Key: in.IdempotencyKey, Input: in,
	}
	out, id := &Created{}, row.ID
	err := s.writer.Write(ctx, func(tx *operation.Tx) error {
		out.Replayed, id = false, row.ID
		replay, err := tx.Once(req)
		if err != nil {
			return err
		}
		if replay != nil {
			out.Replayed, id = true, replay.ObjectIDs[0]
			return nil
		}
		if err := tx.Exec(`INSERT INTO component (id, team_id, project_id, kind, name, slug, created_at)
			VALUES (?, ?, ?, 'VIRTUAL_MACHINE', ?, ?, ?)`,
			row.ID, row.TeamID, row.ProjectID, row.Name, row.Slug, tx.Now).Error; err != nil {
			return err
		}
		if err := tx.Exec(`INSERT INTO virtual_machine (id, template_id, add_on_ids, cpu_milli, memory_bytes, disk_bytes)
			VALUES (?, ?, ?, ?, ?, ?)`, row.ID, row.TemplateID, row.AddOnIDs,
			row.Resources.CPUMilli, row.Resources.MemoryBytes, row.Resources.DiskBytes).Error; err != nil {
			return err
		}
		tx.Emit(operation.Event{
			ProjectID: row.ProjectID, Kind: operation.ComponentCreated, SubjectID: row.ID,
			Above: []ident.ID{row.ProjectID}, ActorID: who.UserID,
		})
		return tx.Remember(req, "", row.ID)
	})
	if store.IsViolation(err, "component_name") {
		return nil, nameTaken(in.Name)
	}
	if store.IsViolation(err, "component_project_id_fkey") {
		return nil, notFound(fault.Input("projectId"), "project")
	}
	if err != nil {
		return nil, fmt.Errorf("create virtual machine: %w", err)
	}
	out.VM, err = s.VM(ctx, id)
	return out, err
}

// Update renames a VM.
func (s *Service) Update(ctx context.Context, in UpdateInput) (*VM, error) {
	form := names.Component(in.Name, fault.Input("name"))
	who, vm, err := s.editable(ctx, in.VirtualMachineID, form)
	if err != nil {
		return nil, err
	}
	err = s.writer.Write(ctx, func(tx *operation.Tx) error {
		if err := checkVersion(tx, vm.ID, in.ExpectedVersion); err != nil {
			return err
		}
		if err := store.One(tx.Exec(`UPDATE component SET name = ?, slug = ?, version = version + 1 WHERE id = ?`,
			in.Name, names.Slug(in.Name), vm.ID)); err != nil {
			return err
		}
		tx.Emit(operation.Event{
			ProjectID: vm.ProjectID, Kind: operation.ComponentUpdated, SubjectID: vm.ID,
			Above: []ident.ID{vm.ProjectID}, ActorID: who.UserID,
		})
		return nil
	})
	if store.IsViolation(err, "component_name") {
		return nil, nameTaken(in.Name)
	}
	if err != nil {
		return nil, err
	}
	return s.VM(ctx, vm.ID)
}

// Delete deletes a VM whose providers are all deleted.
func (s *Service) Delete(ctx context.Context, in DeleteInput) (ident.ID, error) {
	who, vm, err := s.editable(ctx, in.VirtualMachineID, nil)
	if err != nil {
		return "", err
	}
	err = s.writer.Write(ctx, func(tx *operation.Tx) error {
		if err := checkVersion(tx, vm.ID, in.ExpectedVersion); err != nil {
			return err
		}
		// A provision that is being accepted refers to this row: it comes before, and
		// is seen here, or after, and finds the VM gone.
		if err := tx.Exec(`SELECT 1 FROM virtual_machine WHERE id = ? FOR UPDATE`, vm.ID).Error; err != nil {
			return err
		}
		var alive []ident.ID
		if err := tx.Raw(`SELECT id FROM vm_provider WHERE vm_id = ? AND status <> 'DELETED' ORDER BY id LIMIT 25`,
			vm.ID).Scan(&alive).Error; err != nil {
			return err
		}
		if len(alive) > 0 {
			return inUse(alive)
		}
		var gone []ident.ID
		if err := tx.Raw(`DELETE FROM vm_provider WHERE vm_id = ? RETURNING id`, vm.ID).Scan(&gone).Error; err != nil {
			return err
		}
		if err := store.One(tx.Exec(`DELETE FROM component WHERE id = ?`, vm.ID)); err != nil {
			return err
		}
		// The machines go with it: whoever follows one is to see that.
		tx.Emit(operation.Event{
			ProjectID: vm.ProjectID, Kind: operation.ComponentDeleted, SubjectID: vm.ID,
			Above: append(gone, vm.ProjectID), ActorID: who.UserID,
		})
		return nil
	})
	if err != nil {
		return "", err
	}
	return vm.ID, nil
}

// editable finds a VM that the actor may change; the refusals of the form are
// answered together with it being absent.
func (s *Service) editable(ctx context.Context, id ident.ID, form fault.Refusals) (auth.Actor, *VM, error) {
	who, err := auth.From(ctx)
	if err != nil {
		return who, nil, err
	}
	path := fault.Input("virtualMachineId")
	vm, err := s.VM(ctx, id)
	switch {
	case err != nil:
		return who, nil, err
	case vm == nil:
		return who, nil, append(form, notFound(path, "VM")...)
	}
	return who, vm, append(form, auth.Require(vm.Role, auth.EditVM, path)...).Err()
}

// checkVersion locks the component and compares its version with the one the
// caller saw.
func checkVersion(tx *operation.Tx, id ident.ID, expected *int) error {
	var now int
	if err := tx.Raw(`SELECT version FROM component WHERE id = ? FOR UPDATE`, id).Row().Scan(&now); err != nil {
		if errors.Is(err, errNoRows) {
			return notFound(fault.Input("virtualMachineId"), "VM")
		}
		return err
	}
	if expected != nil && *expected != now {
		return stale(now)
	}
	return nil
}
