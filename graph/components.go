package graph

import (
	"context"

	"biztraak.dev/vm/graph/model"
	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/page"
	"biztraak.dev/vm/internal/project"
	"biztraak.dev/vm/internal/vm"
)

// componentKindVM is the ProjectComponentKind of VMs, the only one so far.
const componentKindVM = "VIRTUAL_MACHINE"

// components lists the parts of projects: their ids are read from the projects,
// the parts themselves from the domains that own them.
func (l *loads) components(kind *string, args page.Args) list[model.ProjectComponent] {
	filter := ""
	if kind != nil {
		filter = *kind
	}
	return list[model.ProjectComponent]{
		name: "components", filter: filter, page: args, parents: keysOf(&l.seenProjects, projectID),
		pages: func(ctx context.Context, of []ident.ID) ([]page.Page[model.ProjectComponent], error) {
			found, err := l.deps.Projects.ComponentsOf(ctx, of, kind, args)
			if err != nil {
				return nil, err
			}
			return l.withParts(ctx, found)
		},
		count: func(ctx context.Context, of []ident.ID) ([]int, error) {
			return l.deps.Projects.CountComponentsOf(ctx, of, kind)
		},
		cursor: componentCursor, note: func(...model.ProjectComponent) {},
	}
}

// withParts puts the parts in the place of their ids, leaving out what was
// removed meanwhile. All of them are VMs so far.
func (l *loads) withParts(ctx context.Context, pages []page.Page[*project.Component]) ([]page.Page[model.ProjectComponent], error) {
	var ids []ident.ID
	for _, p := range pages {
		ids = append(ids, idsOf(p.Items, func(c *project.Component) ident.ID { return c.ID })...)
	}
	found, err := l.vms.all(ctx, ids)
	if err != nil {
		return nil, err
	}
	out := make([]page.Page[model.ProjectComponent], len(pages))
	for i, p := range pages {
		out[i] = page.Page[model.ProjectComponent]{HasNext: p.HasNext, HasPrevious: p.HasPrevious}
		for _, v := range present(found[:len(p.Items)]) {
			out[i].Items = append(out[i].Items, v)
		}
		found = found[len(p.Items):]
	}
	return out, nil
}

func componentCursor(c model.ProjectComponent) page.Cursor {
	if v, ok := c.(*vm.VM); ok {
		return idCursor(v.ID)
	}
	return "" // no other kind gets into a page
}
