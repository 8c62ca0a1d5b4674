package graph

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"biztraak.dev/vm/graph/model"
	"biztraak.dev/vm/internal/catalog"
	"biztraak.dev/vm/internal/catalog/composition"
	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/vm"
)

// parts name a template and add-ons: what a composition is made of. addOns are
// ids joined by commas, so that parts can be compared.
type parts struct {
	template ident.ID
	addOns   string
}

func partsOf(template ident.ID, addOns []ident.ID) parts {
	texts := make([]string, len(addOns))
	for i, id := range addOns {
		texts[i] = string(id)
	}
	return parts{template: template, addOns: strings.Join(texts, ",")}
}

func (p parts) selection() catalog.Selection {
	s := catalog.Selection{TemplateID: p.template}
	for id := range strings.SplitSeq(p.addOns, ",") {
		if id != "" {
			s.AddOnIDs = append(s.AddOnIDs, ident.ID(id))
		}
	}
	return s
}

// expectedParts are those of all VMs, and of what was applied to providers.
func (l *loads) expectedParts() []parts {
	var out []parts
	for _, v := range l.seenVMs.all() {
		out = append(out, partsOf(v.TemplateID, v.AddOnIDs))
	}
	for _, p := range l.seenProviders.all() {
		if p.AppliedTemplateID != "" {
			out = append(out, partsOf(p.AppliedTemplateID, p.AppliedAddOnIDs))
		}
	}
	return out
}

// compose resolves compositions.
func (l *loads) compose(ctx context.Context, wanted []parts) ([]*model.Composition, error) {
	selections := make([]catalog.Selection, len(wanted))
	for i, p := range wanted {
		selections[i] = p.selection()
	}
	composed, err := l.deps.Catalog.ComposeMany(ctx, selections)
	if err != nil {
		return nil, err
	}
	out := make([]*model.Composition, len(wanted))
	for i, c := range composed {
		if out[i], err = describe(c); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// desired are the compositions that VMs are to have.
func (l *loads) desired(ctx context.Context, vms []*vm.VM) ([]*model.Composition, error) {
	wanted := make([]parts, len(vms))
	for i, v := range vms {
		wanted[i] = partsOf(v.TemplateID, v.AddOnIDs)
	}
	return l.compositions.all(ctx, wanted)
}

// applied are the compositions that were applied to providers; nil where none
// was yet.
func (l *loads) applied(ctx context.Context, providers []*vm.Provider) ([]*model.Composition, error) {
	out := make([]*model.Composition, len(providers))
	var wanted []parts
	var at []int
	for i, p := range providers {
		if p.AppliedTemplateID != "" {
			wanted, at = append(wanted, partsOf(p.AppliedTemplateID, p.AppliedAddOnIDs)), append(at, i)
		}
	}
	found, err := l.compositions.all(ctx, wanted)
	if err != nil {
		return nil, err
	}
	for i, c := range found {
		out[at[i]] = c
	}
	return out, nil
}

// describe gives a composition the form of the schema, with the store items in
// place of their references.
func describe(c *catalog.Composed) (*model.Composition, error) {
	in := &itemsOf{composed: c}
	out := &model.Composition{
		Capabilities: []*model.GivenCapability{}, Missing: []*model.MissingCapability{},
		ReservedRoutes: []*model.ReservedRoute{}, RuntimePaths: []*model.RuntimePath{},
		LeastResources: resources(c.Least),
	}
	for _, given := range c.Capabilities {
		out.Capabilities = append(out.Capabilities, &model.GivenCapability{
			Capability: given.Capability, ProvidedBy: in.all(given.ProvidedBy),
		})
	}
	for _, missing := range c.Missing {
		out.Missing = append(out.Missing, &model.MissingCapability{
			Capability: missing.Capability, Suppliers: in.addOns(missing.SmallestSet),
		})
	}
	for _, route := range c.ReservedRoutes {
		out.ReservedRoutes = append(out.ReservedRoutes, &model.ReservedRoute{
			Path: route.Route, ReservedBy: in.all(route.ReservedBy),
		})
	}
	for _, path := range c.RuntimePaths {
		out.RuntimePaths = append(out.RuntimePaths, &model.RuntimePath{
			Name: path.Name, Kind: path.Kind, Port: path.Port, ProvidedBy: in.one(path.Owner),
		})
	}
	return out, in.err
}

// itemsOf finds the store items that a composition names; err is the first one
// that is not there.
type itemsOf struct {
	composed *catalog.Composed
	err      error
}

func (x *itemsOf) one(ref composition.Ref) model.StoreItem {
	item := x.composed.Item(ref)
	if item == nil && x.err == nil {
		x.err = fmt.Errorf("a composition names %s, which it does not hold", ref)
	}
	return item
}

func (x *itemsOf) all(refs []composition.Ref) []model.StoreItem {
	out := make([]model.StoreItem, len(refs))
	for i, ref := range refs {
		out[i] = x.one(ref)
	}
	return out
}

func (x *itemsOf) addOns(refs []composition.Ref) []*catalog.AddOn {
	out := make([]*catalog.AddOn, 0, len(refs))
	for _, ref := range refs {
		if addOn, ok := x.one(ref).(*catalog.AddOn); ok {
			out = append(out, addOn)
		}
	}
	return out
}

// resources gives an amount of machine the form that VMs have it in.
func resources(r composition.Resources) *vm.Resources {
	return &vm.Resources{CPUMilli: r.MilliCPU, MemoryBytes: r.MemoryBytes, DiskBytes: r.DiskBytes}
}

// addOnsOf reads the add-ons of VMs. One that is not there any more is left out:
// a VM goes on without it.
func (l *loads) addOnsOf(ctx context.Context, vms []*vm.VM) ([][]*catalog.AddOn, error) {
	var wanted []ident.ID
	for _, v := range vms {
		wanted = append(wanted, v.AddOnIDs...)
	}
	found, err := l.addOns.all(ctx, wanted)
	if err != nil {
		return nil, err
	}
	out := make([][]*catalog.AddOn, len(vms))
	for i, v := range vms {
		out[i] = present(found[:len(v.AddOnIDs)])
		slices.SortFunc(out[i], func(a, b *catalog.AddOn) int { return cmp.Compare(a.Slug, b.Slug) })
		found = found[len(v.AddOnIDs):]
	}
	return out, nil
}
