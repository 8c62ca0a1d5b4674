package graph

import (
	"context"

	"github.com/99designs/gqlgen/graphql"

	"biztraak.dev/vm/graph/model"
	"biztraak.dev/vm/internal/fault"
	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/operation"
	"biztraak.dev/vm/internal/page"
	"biztraak.dev/vm/internal/syslog"
)

// errVanished is for what was removed between two reads of one response.
var errVanished = fault.New(fault.Unavailable, "the object was removed while it was read; read again")

// pageArgs gathers the paging arguments of a field.
func pageArgs(first *int, after *page.Cursor, last *int, before *page.Cursor) page.Args {
	return page.Args{First: first, After: after, Last: last, Before: before}
}

// idsOf are the ids of objects.
func idsOf[T any](objects []T, idOf func(T) ident.ID) []ident.ID {
	ids := make([]ident.ID, len(objects))
	for i, x := range objects {
		ids[i] = idOf(x)
	}
	return ids
}

// orNil is a pointer to an id, nil for none.
func orNil(id ident.ID) *ident.ID {
	if id == "" {
		return nil
	}
	return &id
}

// pointers points at the elements of lists.
func pointers[T any](lists [][]T, err error) ([][]*T, error) {
	out := make([][]*T, len(lists))
	for i, list := range lists {
		out[i] = make([]*T, len(list))
		for j := range list {
			out[i][j] = &list[j]
		}
	}
	return out, err
}

// pageOf is a page with its items in another form.
func pageOf[T, U any](p page.Page[T], convert func(T) U) page.Page[U] {
	out := page.Page[U]{Items: make([]U, len(p.Items)), HasNext: p.HasNext, HasPrevious: p.HasPrevious}
	for i, item := range p.Items {
		out.Items[i] = convert(item)
	}
	return out
}

// optional reads what ids name; nil for an id that is empty.
func optional[V any](ctx context.Context, l *loader[ident.ID, *V], ids []ident.ID) ([]*V, error) {
	wanted := make([]ident.ID, 0, len(ids))
	for _, id := range ids {
		if id != "" {
			wanted = append(wanted, id)
		}
	}
	found, err := l.all(ctx, wanted)
	if err != nil {
		return nil, err
	}
	out := make([]*V, len(ids))
	for i, id := range ids {
		if id != "" {
			out[i], found = found[0], found[1:]
		}
	}
	return out, nil
}

// required is for fields that are never null. What they name was there when the
// parent was read; an element that is not there any more fails alone.
func required[V any](found []*V, err error) ([]*V, error) {
	if err != nil {
		return nil, err
	}
	var errs graphql.BatchErrorList
	for i, x := range found {
		if x != nil {
			continue
		}
		if errs == nil {
			errs = make(graphql.BatchErrorList, len(found))
		}
		errs[i] = errVanished
	}
	if errs != nil {
		return found, errs
	}
	return found, nil
}

// requiredOne is required for a single object.
func requiredOne[V any](found *V, err error) (*V, error) {
	if err == nil && found == nil {
		return nil, errVanished
	}
	return found, err
}

// recorded are events as they are stored.
func recorded[E model.ProjectEvent](events []E) []operation.Event {
	out := make([]operation.Event, len(events))
	for i, e := range events {
		out[i] = e.Recorded()
	}
	return out
}

// subjects reads what events happened to.
func subjects[E model.ProjectEvent](ctx context.Context, events []E) ([]model.Node, error) {
	return loadsFrom(ctx).nodes(ctx, idsOf(recorded(events), func(e operation.Event) ident.ID { return e.SubjectID }))
}

func operationOfEvent(e operation.Event) ident.ID { return e.OperationID }

func actorOfEvent(e operation.Event) ident.ID { return e.ActorID }

// orAll is a filter of log lines; without one, all lines meet it.
func orAll(f *syslog.Filter) syslog.Filter {
	if f == nil {
		return syslog.Filter{}
	}
	return *f
}

// newestByDefault asks for the end of a log unless told where to begin.
func newestByDefault(a page.Args) page.Args {
	if a.First == nil && a.Last == nil && a.After == nil {
		size := page.DefaultSize
		a.Last = &size
	}
	return a
}
