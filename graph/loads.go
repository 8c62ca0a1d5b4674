package graph

import (
	"context"
	"sync"

	"biztraak.dev/vm/graph/model"
	"biztraak.dev/vm/internal/catalog"
	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/operation"
	"biztraak.dev/vm/internal/project"
	"biztraak.dev/vm/internal/team"
	"biztraak.dev/vm/internal/vm"
)

// loads are the loaders of one response. They must not outlive it: what they
// hold is as it was when it was read.
type loads struct {
	deps Deps

	teams      *loader[ident.ID, *team.Team]
	users      *loader[ident.ID, *team.User]
	accounts   *loader[ident.ID, *team.Account]
	projects   *loader[ident.ID, *project.Project]
	vms        *loader[ident.ID, *vm.VM]
	providers  *loader[ident.ID, *vm.Provider]
	operations *loader[ident.ID, *operation.Operation]
	templates  *loader[ident.ID, *catalog.Template]
	addOns     *loader[ident.ID, *catalog.AddOn]

	providersOf  *loader[ident.ID, []*vm.Provider]
	availability *loader[*vm.Provider, []vm.Availability]
	steps        *loader[ident.ID, []operation.Step]
	compositions *loader[parts, *model.Composition]

	seenTeams      seen[*team.Team]
	seenProjects   seen[*project.Project]
	seenVMs        seen[*vm.VM]
	seenProviders  seen[*vm.Provider]
	seenOperations seen[*operation.Operation]
	seenEvents     seen[operation.Event]

	mu    sync.Mutex
	lists map[listKey]any // loaders of lists that have arguments
}

type loadsKey struct{}

func withLoads(ctx context.Context, l *loads) context.Context {
	return context.WithValue(ctx, loadsKey{}, l)
}

// loadsFrom are the loaders of the response that is being made.
func loadsFrom(ctx context.Context) *loads {
	l, ok := ctx.Value(loadsKey{}).(*loads)
	if !ok {
		panic("graph: a field is resolved outside a response; is the server made by Configure?")
	}
	return l
}

func newLoads(d Deps) *loads {
	l := &loads{deps: d, lists: map[listKey]any{}}
	l.teams = newLoader(noting(d.Teams.Many, l.sawTeams), keysOf(&l.seenProjects, func(p *project.Project) (ident.ID, bool) {
		return p.TeamID, true
	}))
	l.users = newLoader(d.Teams.Users, l.expectedUsers)
	l.accounts = newLoader(d.Teams.Accounts, keysOf(&l.seenProviders, func(p *vm.Provider) (ident.ID, bool) {
		return p.AccountID, p.AccountID != ""
	}))
	l.projects = newLoader(noting(d.Projects.Many, l.sawProjects), keysOf(&l.seenVMs, func(v *vm.VM) (ident.ID, bool) {
		return v.ProjectID, true
	}))
	l.vms = newLoader(noting(d.VMs.VMs, l.sawVMs), l.expectedVMs)
	l.providers = newLoader(noting(d.VMs.Providers, l.sawProviders), l.expectedProviders)
	l.operations = newLoader(noting(d.Operations.Many, l.sawOperations), keysOf(&l.seenEvents, func(e operation.Event) (ident.ID, bool) {
		return e.OperationID, e.OperationID != ""
	}))
	l.templates = newLoader(d.Catalog.TemplatesByID, l.expectedTemplates)
	l.addOns = newLoader(d.Catalog.AddOnsByID, l.expectedAddOns)
	l.providersOf = newLoader(l.readProvidersOf, keysOf(&l.seenVMs, vmID))
	l.availability = newLoader(d.VMs.Availability, keysOf(&l.seenProviders, func(p *vm.Provider) (*vm.Provider, bool) { return p, true }))
	l.steps = newLoader(d.Operations.StepsOf, keysOf(&l.seenOperations, func(o *operation.Operation) (ident.ID, bool) { return o.ID, true }))
	l.compositions = newLoader(l.compose, l.expectedParts)
	return l
}

// noting makes a fetch note what it has found.
func noting[K comparable, V any](
	fetch func(context.Context, []K) ([]*V, error), saw func(...*V),
) func(context.Context, []K) ([]*V, error) {
	return func(ctx context.Context, keys []K) ([]*V, error) {
		found, err := fetch(ctx, keys)
		saw(found...)
		return found, err
	}
}

func (l *loads) sawTeams(t ...*team.Team)                { l.seenTeams.add(present(t)...) }
func (l *loads) sawProjects(p ...*project.Project)       { l.seenProjects.add(present(p)...) }
func (l *loads) sawVMs(v ...*vm.VM)                      { l.seenVMs.add(present(v)...) }
func (l *loads) sawProviders(p ...*vm.Provider)          { l.seenProviders.add(present(p)...) }
func (l *loads) sawOperations(o ...*operation.Operation) { l.seenOperations.add(present(o)...) }

func (l *loads) readProvidersOf(ctx context.Context, vms []ident.ID) ([][]*vm.Provider, error) {
	found, err := l.deps.VMs.ProvidersOf(ctx, vms)
	for _, providers := range found {
		l.sawProviders(providers...)
	}
	return found, err
}

// present leaves out what was not found.
func present[T any](found []*T) []*T {
	out := make([]*T, 0, len(found))
	for _, x := range found {
		if x != nil {
			out = append(out, x)
		}
	}
	return out
}

func vmID(v *vm.VM) (ident.ID, bool) { return v.ID, true }
