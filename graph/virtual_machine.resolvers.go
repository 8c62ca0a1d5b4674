package graph

import (
	"context"

	"biztraak.dev/vm/graph/gen"
	"biztraak.dev/vm/graph/model"
	"biztraak.dev/vm/internal/catalog"
	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/operation"
	"biztraak.dev/vm/internal/page"
	"biztraak.dev/vm/internal/project"
	"biztraak.dev/vm/internal/syslog"
	"biztraak.dev/vm/internal/team"
	"biztraak.dev/vm/internal/vm"
)

func (r *mutationResolver) CreateVirtualMachine(ctx context.Context, input vm.CreateInput) (*model.CreateVirtualMachinePayload, error) {
	done, err := r.VMs.Create(ctx, input)
	refusals, err := refused(ctx, err)
	out := &model.CreateVirtualMachinePayload{UserErrors: refusals}
	if done != nil {
		out.VirtualMachine, out.Replayed = done.VM, done.Replayed
	}
	return out, err
}

func (r *mutationResolver) UpdateVirtualMachine(ctx context.Context, input vm.UpdateInput) (*model.UpdateVirtualMachinePayload, error) {
	done, err := r.VMs.Update(ctx, input)
	refusals, err := refused(ctx, err)
	return &model.UpdateVirtualMachinePayload{VirtualMachine: done, UserErrors: refusals}, err
}

func (r *mutationResolver) DeleteVirtualMachine(ctx context.Context, input vm.DeleteInput) (*model.DeleteVirtualMachinePayload, error) {
	done, err := r.VMs.Delete(ctx, input)
	refusals, err := refused(ctx, err)
	return &model.DeleteVirtualMachinePayload{DeletedVirtualMachineID: orNil(done), UserErrors: refusals}, err
}

func (r *mutationResolver) ProvisionVirtualMachine(ctx context.Context, input vm.ProvisionInput) (*model.ProvisionVirtualMachinePayload, error) {
	done, err := r.VMs.Provision(ctx, input)
	refusals, err := refused(ctx, err)
	out := &model.ProvisionVirtualMachinePayload{UserErrors: refusals}
	if done != nil {
		out.VirtualMachineProvider, out.Operation = done.Provider, done.Operation
		out.Plan, out.Replayed = done.Plan, done.Replayed
	}
	return out, err
}

func (r *mutationResolver) StartVirtualMachine(ctx context.Context, input vm.StartInput) (*model.StartVirtualMachinePayload, error) {
	done, err := r.VMs.Start(ctx, input)
	refusals, err := refused(ctx, err)
	out := &model.StartVirtualMachinePayload{UserErrors: refusals}
	if done != nil {
		out.VirtualMachineProvider, out.Operation, out.Replayed = done.Provider, done.Operation, done.Replayed
	}
	return out, err
}

func (r *mutationResolver) StopVirtualMachine(ctx context.Context, input vm.StopInput) (*model.StopVirtualMachinePayload, error) {
	done, err := r.VMs.Stop(ctx, input)
	refusals, err := refused(ctx, err)
	out := &model.StopVirtualMachinePayload{UserErrors: refusals}
	if done != nil {
		out.VirtualMachineProvider, out.Operation, out.Replayed = done.Provider, done.Operation, done.Replayed
	}
	return out, err
}

func (r *mutationResolver) RestartVirtualMachine(ctx context.Context, input vm.RestartInput) (*model.RestartVirtualMachinePayload, error) {
	done, err := r.VMs.Restart(ctx, input)
	refusals, err := refused(ctx, err)
	out := &model.RestartVirtualMachinePayload{UserErrors: refusals}
	if done != nil {
		out.VirtualMachineProvider, out.Operation, out.Replayed = done.Provider, done.Operation, done.Replayed
	}
	return out, err
}

func (r *mutationResolver) DestroyVirtualMachineProvider(ctx context.Context, input vm.DestroyInput) (*model.DestroyVirtualMachineProviderPayload, error) {
	done, err := r.VMs.Destroy(ctx, input)
	refusals, err := refused(ctx, err)
	out := &model.DestroyVirtualMachineProviderPayload{UserErrors: refusals}
	if done != nil {
		out.VirtualMachineProvider, out.Operation, out.Replayed = done.Provider, done.Operation, done.Replayed
	}
	return out, err
}

func (r *queryResolver) VirtualMachine(ctx context.Context, id ident.ID) (*vm.VM, error) {
	return loadsFrom(ctx).vms.one(ctx, id)
}

func (r *queryResolver) VirtualMachineProvider(ctx context.Context, id ident.ID) (*vm.Provider, error) {
	return loadsFrom(ctx).providers.one(ctx, id)
}

func (r *subscriptionResolver) VirtualMachine(ctx context.Context, id ident.ID) (<-chan *vm.VM, error) {
	return watch(ctx, r.Resolver, id, r.VMs.VM, func(v *vm.VM) home { return home{v.TeamID, v.ProjectID} })
}

func (r *subscriptionResolver) VirtualMachineProvider(ctx context.Context, id ident.ID) (<-chan *vm.Provider, error) {
	return watch(ctx, r.Resolver, id, r.VMs.Provider, func(p *vm.Provider) home { return home{p.TeamID, p.ProjectID} })
}

func (r *virtualMachineResolver) Project(ctx context.Context, objs []*vm.VM) ([]*project.Project, error) {
	return required(loadsFrom(ctx).projects.all(ctx, idsOf(objs, func(v *vm.VM) ident.ID { return v.ProjectID })))
}

func (r *virtualMachineResolver) Kind(ctx context.Context, obj *vm.VM) (string, error) {
	return componentKindVM, nil
}

func (r *virtualMachineResolver) Template(ctx context.Context, objs []*vm.VM) ([]*catalog.Template, error) {
	return required(loadsFrom(ctx).templates.all(ctx, idsOf(objs, func(v *vm.VM) ident.ID { return v.TemplateID })))
}

func (r *virtualMachineResolver) AddOns(ctx context.Context, objs []*vm.VM) ([][]*catalog.AddOn, error) {
	return loadsFrom(ctx).addOnsOf(ctx, objs)
}

func (r *virtualMachineResolver) Composition(ctx context.Context, objs []*vm.VM) ([]*model.Composition, error) {
	return loadsFrom(ctx).desired(ctx, objs)
}

func (r *virtualMachineResolver) Providers(ctx context.Context, objs []*vm.VM) ([][]*vm.Provider, error) {
	return loadsFrom(ctx).providersOf.all(ctx, idsOf(objs, func(v *vm.VM) ident.ID { return v.ID }))
}

func (r *virtualMachineResolver) Operations(ctx context.Context, objs []*vm.VM, statuses []operation.Status, first *int, after *page.Cursor, last *int, before *page.Cursor) ([]*model.Connection[*operation.Operation], error) {
	l := loadsFrom(ctx)
	list := l.vmOperations(statuses, pageArgs(first, after, last, before))
	return connect(ctx, l, list, idsOf(objs, func(v *vm.VM) ident.ID { return v.ID }))
}

func (r *virtualMachineProviderResolver) VirtualMachine(ctx context.Context, objs []*vm.Provider) ([]*vm.VM, error) {
	return required(loadsFrom(ctx).vms.all(ctx, idsOf(objs, func(p *vm.Provider) ident.ID { return p.VMID })))
}

func (r *virtualMachineProviderResolver) CloudAccount(ctx context.Context, objs []*vm.Provider) ([]*team.Account, error) {
	return optional(ctx, loadsFrom(ctx).accounts, idsOf(objs, func(p *vm.Provider) ident.ID { return p.AccountID }))
}

func (r *virtualMachineProviderResolver) Composition(ctx context.Context, objs []*vm.Provider) ([]*model.Composition, error) {
	return loadsFrom(ctx).applied(ctx, objs)
}

func (r *virtualMachineProviderResolver) Availability(ctx context.Context, objs []*vm.Provider) ([][]*vm.Availability, error) {
	return pointers(loadsFrom(ctx).availability.all(ctx, objs))
}

func (r *virtualMachineProviderResolver) SystemLogs(ctx context.Context, obj *vm.Provider, first *int, after *page.Cursor, last *int, before *page.Cursor, filter *syslog.Filter) (*model.Connection[syslog.Line], error) {
	found, err := r.Logs.Page(ctx, string(obj.ID), newestByDefault(pageArgs(first, after, last, before)), orAll(filter))
	if err != nil {
		return nil, err
	}
	return model.NewConnection(found, syslog.Line.Cursor, nil), nil
}

func (r *Resolver) VirtualMachine() gen.VirtualMachineResolver { return &virtualMachineResolver{r} }

func (r *Resolver) VirtualMachineProvider() gen.VirtualMachineProviderResolver {
	return &virtualMachineProviderResolver{r}
}

type (
	virtualMachineResolver         struct{ *Resolver }
	virtualMachineProviderResolver struct{ *Resolver }
)
