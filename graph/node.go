package graph

import (
	"context"

	"biztraak.dev/vm/graph/model"
	"biztraak.dev/vm/internal/fault"
	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/team"
)

// mostNodes is how many ids `nodes` takes: a page.
const mostNodes = 100

// nodeLoader reads nodes of one kind, in order, with nil for each that is absent
// or not visible.
type nodeLoader func(ctx context.Context, ids []ident.ID) ([]model.Node, error)

// nodeTable says how the nodes of each kind are read. Kinds that are missing here
// have no nodes yet: their ids lead nowhere.
func (l *loads) nodeTable() map[ident.Kind]nodeLoader {
	return map[ident.Kind]nodeLoader{
		ident.User:      nodesOf(l.users.all),
		ident.Team:      nodesOf(l.teams.all),
		ident.Token:     nodesOf(l.tokens),
		ident.Account:   nodesOf(l.accounts.all),
		ident.Project:   nodesOf(l.projects.all),
		ident.VM:        nodesOf(l.vms.all),
		ident.Provider:  nodesOf(l.providers.all),
		ident.Operation: nodesOf(l.operations.all),
		ident.Template:  nodesOf(l.templates.all),
		ident.AddOn:     nodesOf(l.addOns.all),
	}
}

// nodesOf makes a nodeLoader of a typed one. A typed nil would be no nil any
// more as a node.
func nodesOf[T any](load func(context.Context, []ident.ID) ([]*T, error)) nodeLoader {
	return func(ctx context.Context, ids []ident.ID) ([]model.Node, error) {
		found, err := load(ctx, ids)
		if err != nil {
			return nil, err
		}
		out := make([]model.Node, len(found))
		for i, x := range found {
			if x != nil {
				out[i] = x
			}
		}
		return out, nil
	}
}

// nodes reads things of any kinds, one read a kind, in the order asked; nil for
// each that is absent or not visible.
func (l *loads) nodes(ctx context.Context, ids []ident.ID) ([]model.Node, error) {
	byKind := map[ident.Kind][]int{}
	for i, id := range ids {
		byKind[id.Kind()] = append(byKind[id.Kind()], i)
	}
	table := l.nodeTable()
	out := make([]model.Node, len(ids))
	for kind, places := range byKind {
		load, known := table[kind]
		if !known {
			continue
		}
		wanted := make([]ident.ID, len(places))
		for i, at := range places {
			wanted[i] = ids[at]
		}
		found, err := load(ctx, wanted)
		if err != nil {
			return nil, err
		}
		for i, at := range places {
			out[at] = found[i]
		}
	}
	return out, nil
}

// tokens reads access tokens one by one: a page that shows several of them by id
// does not exist.
func (l *loads) tokens(ctx context.Context, ids []ident.ID) ([]*team.AccessToken, error) {
	out := make([]*team.AccessToken, len(ids))
	for i, id := range ids {
		var err error
		if out[i], err = l.deps.Teams.Token(ctx, id); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// node reads one thing of any kind.
func (l *loads) node(ctx context.Context, id ident.ID) (model.Node, error) {
	found, err := l.nodes(ctx, []ident.ID{id})
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

// checkNodes refuses more ids than a page has.
func checkNodes(ids []ident.ID) error {
	if len(ids) > mostNodes {
		return fault.New(fault.BadRequest, "nodes takes at most %d ids, not %d: ask in several requests", mostNodes, len(ids))
	}
	return nil
}
