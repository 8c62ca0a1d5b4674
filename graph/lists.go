package graph

import (
	"context"
	"fmt"

	"biztraak.dev/vm/graph/model"
	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/operation"
	"biztraak.dev/vm/internal/page"
	"biztraak.dev/vm/internal/project"
	"biztraak.dev/vm/internal/team"
	"biztraak.dev/vm/internal/vm"
)

// listKey tells lists apart: which one, and with which arguments.
type listKey struct{ list, arguments string }

// list is a paged field of many parents, whose pages are read together.
type list[T any] struct {
	// name and filter tell it from other lists of the same parents.
	name, filter string
	page         page.Args
	pages        func(ctx context.Context, of []ident.ID) ([]page.Page[T], error)
	count        func(ctx context.Context, of []ident.ID) ([]int, error)
	cursor       func(T) page.Cursor
	// parents are those that have been seen, note takes what was read.
	parents func() []ident.ID
	note    func(...T)
}

// connect answers the connection of each parent.
func connect[T any](ctx context.Context, l *loads, q list[T], of []ident.ID) ([]*model.Connection[T], error) {
	pages := listLoader(l, listKey{q.name, q.filter + pageText(q.page)}, func() *loader[ident.ID, page.Page[T]] {
		return newLoader(func(ctx context.Context, of []ident.ID) ([]page.Page[T], error) {
			found, err := q.pages(ctx, of)
			for _, p := range found {
				q.note(p.Items...)
			}
			return found, err
		}, q.parents)
	})
	counts := listLoader(l, listKey{q.name + "/count", q.filter}, func() *loader[ident.ID, int] {
		return newLoader(q.count, q.parents)
	})
	found, err := pages.all(ctx, of)
	if err != nil {
		return nil, err
	}
	out := make([]*model.Connection[T], len(of))
	for i, p := range found {
		out[i] = model.NewConnection(p, q.cursor, func(ctx context.Context) (int, error) { return counts.one(ctx, of[i]) })
	}
	return out, nil
}

// connectOne answers the connection of one parent, read together with those of
// its siblings.
func connectOne[T any](ctx context.Context, l *loads, q list[T], of ident.ID) (*model.Connection[T], error) {
	found, err := connect(ctx, l, q, []ident.ID{of})
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

func listLoader[V any](l *loads, key listKey, create func() *loader[ident.ID, V]) *loader[ident.ID, V] {
	l.mu.Lock()
	defer l.mu.Unlock()
	if found, ok := l.lists[key].(*loader[ident.ID, V]); ok {
		return found
	}
	made := create()
	l.lists[key] = made
	return made
}

// pageText is equal for equal arguments.
func pageText(a page.Args) string {
	text := ""
	for _, n := range []*int{a.First, a.Last} {
		if n != nil {
			text += fmt.Sprint(*n)
		}
		text += ","
	}
	for _, c := range []*page.Cursor{a.After, a.Before} {
		if c != nil {
			text += string(*c)
		}
		text += ","
	}
	return text
}

func idCursor(id ident.ID) page.Cursor { return page.NewCursor(string(id)) }

func (l *loads) members(args page.Args) list[*team.Member] {
	return list[*team.Member]{
		name: "members", page: args, parents: keysOf(&l.seenTeams, teamID), note: func(...*team.Member) {},
		pages: func(ctx context.Context, of []ident.ID) ([]page.Page[*team.Member], error) {
			return l.deps.Teams.MembersOf(ctx, of, args)
		},
		count: l.deps.Teams.CountMembersOf, cursor: (*team.Member).Cursor,
	}
}

func (l *loads) cloudAccounts(args page.Args) list[*team.Account] {
	return list[*team.Account]{
		name: "cloudAccounts", page: args, parents: keysOf(&l.seenTeams, teamID), note: func(...*team.Account) {},
		pages: func(ctx context.Context, of []ident.ID) ([]page.Page[*team.Account], error) {
			return l.deps.Teams.AccountsOf(ctx, of, args)
		},
		count: l.deps.Teams.CountAccountsOf, cursor: func(a *team.Account) page.Cursor { return idCursor(a.ID) },
	}
}

func (l *loads) projectsOf(args page.Args) list[*project.Project] {
	return list[*project.Project]{
		name: "projects", page: args, parents: keysOf(&l.seenTeams, teamID), note: l.sawProjects,
		pages: func(ctx context.Context, of []ident.ID) ([]page.Page[*project.Project], error) {
			return l.deps.Projects.PagesOf(ctx, of, args)
		},
		count: l.deps.Projects.CountOf, cursor: func(p *project.Project) page.Cursor { return idCursor(p.ID) },
	}
}

func (l *loads) virtualMachines(args page.Args) list[*vm.VM] {
	return list[*vm.VM]{
		name: "virtualMachines", page: args, parents: keysOf(&l.seenProjects, projectID), note: l.sawVMs,
		pages: func(ctx context.Context, of []ident.ID) ([]page.Page[*vm.VM], error) {
			return l.deps.VMs.PagesOf(ctx, of, args)
		},
		count: l.deps.VMs.CountOf, cursor: func(v *vm.VM) page.Cursor { return idCursor(v.ID) },
	}
}

func (l *loads) projectOperations(statuses []operation.Status, args page.Args) list[*operation.Operation] {
	q := l.operationList(statuses, args)
	q.name, q.parents = "project operations", keysOf(&l.seenProjects, projectID)
	return q
}

func (l *loads) vmOperations(statuses []operation.Status, args page.Args) list[*operation.Operation] {
	q := l.operationList(statuses, args)
	q.name, q.parents = "vm operations", keysOf(&l.seenVMs, vmID)
	return q
}

func (l *loads) operationList(statuses []operation.Status, args page.Args) list[*operation.Operation] {
	wanted := func(of []ident.ID) operation.List {
		return operation.List{Of: of, Statuses: statuses, Page: args}
	}
	return list[*operation.Operation]{
		filter: fmt.Sprint(statuses), page: args, note: l.sawOperations,
		pages: func(ctx context.Context, of []ident.ID) ([]page.Page[*operation.Operation], error) {
			return l.deps.Operations.PagesOf(ctx, wanted(of))
		},
		count: func(ctx context.Context, of []ident.ID) ([]int, error) {
			return l.deps.Operations.CountOf(ctx, wanted(of))
		},
		cursor: func(o *operation.Operation) page.Cursor { return idCursor(o.ID) },
	}
}

// projectEvents has no count: a project's events are a feed, and only grow.
func (l *loads) projectEvents(args page.Args) list[model.ProjectEvent] {
	return list[model.ProjectEvent]{
		name: "events", page: args, parents: keysOf(&l.seenProjects, projectID),
		note: func(events ...model.ProjectEvent) {
			for _, e := range events {
				l.seenEvents.add(e.Recorded())
			}
		},
		pages: func(ctx context.Context, of []ident.ID) ([]page.Page[model.ProjectEvent], error) {
			found, err := l.deps.Operations.EventPagesOf(ctx, of, args)
			if err != nil {
				return nil, err
			}
			out := make([]page.Page[model.ProjectEvent], len(found))
			for i, p := range found {
				out[i] = pageOf(p, model.NewProjectEvent)
			}
			return out, nil
		},
		cursor: model.ProjectEvent.Cursor,
	}
}
