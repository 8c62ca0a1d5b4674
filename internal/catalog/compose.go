package catalog

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"biztraak.dev/vm/internal/catalog/composition"
	"biztraak.dev/vm/internal/catalog/manifest"
	"biztraak.dev/vm/internal/ident"
)

// offersFor is how long the list of what can be offered is kept: as long may it
// take until something that another process published is offered here.
const offersFor = 10 * time.Second

// offers are everybody's newest add-ons, and what selections came to with them.
type offers struct {
	items     []Item
	manifests []manifest.Manifest
	until     time.Time
	composed  *memo[string, *Composed]
}

// Compose resolves what a template and add-ons come to, and every reason why they
// do not go together; everybody's add-ons count as possible suppliers. ErrNoItem
// for an id that names nothing of its kind.
//
// It checks no permission: the ids are those that the caller has found usable
// (Template, AddOnsByID), or that something is pinned to.
func (s *Service) Compose(
	ctx context.Context, template ident.ID, addOns []ident.ID,
) (composition.Composition, []Problem, error) {
	out, err := s.ComposeMany(ctx, []Selection{{TemplateID: template, AddOnIDs: addOns}})
	if err != nil {
		return composition.Composition{}, nil, err
	}
	return out[0].Composition, out[0].Problems, nil
}

// ComposeMany is Compose for several selections, in their order. It takes at most
// as many statements as one does.
func (s *Service) ComposeMany(ctx context.Context, selections []Selection) ([]*Composed, error) {
	offered, err := s.offers(ctx)
	if err != nil {
		return nil, err
	}
	var wanted []ident.ID
	for _, sel := range selections {
		wanted = append(append(wanted, sel.TemplateID), sel.AddOnIDs...)
	}
	items, err := s.stored(ctx, wanted)
	if err != nil {
		return nil, err
	}
	out := make([]*Composed, len(selections))
	for i, sel := range selections {
		n := 1 + len(sel.AddOnIDs)
		if out[i], err = offered.compose(sel, items[:n]); err != nil {
			return nil, err
		}
		items = items[n:]
	}
	return out, nil
}

// compose resolves a selection whose items, the template first, were read.
func (o *offers) compose(sel Selection, items []Item) (*Composed, error) {
	key := sel.key()
	if c, ok := o.composed.get(key); ok {
		return c, nil
	}
	c := &Composed{items: map[composition.Ref]Item{}}
	for _, item := range o.items {
		c.items[item.Ref()] = item
	}
	template, ok := items[0].(*Template)
	if !ok {
		return nil, fmt.Errorf("compose: template %s: %w", sel.TemplateID, ErrNoItem)
	}
	request := composition.Request{Template: template.Manifest, Catalog: o.manifests}
	for i, item := range items[1:] {
		addOn, ok := item.(*AddOn)
		if !ok {
			return nil, fmt.Errorf("compose: add-on %s: %w", sel.AddOnIDs[i], ErrNoItem)
		}
		request.AddOns = append(request.AddOns, addOn.Manifest)
	}
	// What was chosen goes before what is offered under the same name.
	for _, item := range items {
		c.items[item.Ref()] = item
	}
	var problems []composition.Problem
	c.Composition, problems = composition.Resolve(request)
	for _, p := range problems {
		c.Problems = append(c.Problems, c.problem(p))
	}
	o.composed.put(key, c)
	return c, nil
}

func (c *Composed) problem(p composition.Problem) Problem {
	out := Problem{Problem: p, SupplierIDs: c.idsOf(p.Suppliers)}
	if item := c.items[p.Item]; item != nil {
		out.ItemID = item.about().ID
	}
	return out
}

// key is the same for the same set, in whatever order.
func (sel Selection) key() string {
	parts := make([]string, 0, len(sel.AddOnIDs))
	for _, id := range sel.AddOnIDs {
		parts = append(parts, string(id))
	}
	slices.Sort(parts)
	return string(sel.TemplateID) + " " + strings.Join(parts, " ")
}

// offers reads what can be offered, or answers what was read not long ago.
func (s *Service) offers(ctx context.Context) (*offers, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.offered != nil && s.now().Before(s.offered.until) {
		return s.offered, nil
	}
	rows, err := public(s.db.Gorm(ctx), storedAddOn)
	if err != nil {
		return nil, err
	}
	items, err := s.stored(ctx, newest(rows))
	if err != nil {
		return nil, err
	}
	if s.offered.same(items) {
		// What selections came to is as true as before.
		s.offered.until = s.now().Add(offersFor)
		return s.offered, nil
	}
	o := &offers{items: items, until: s.now().Add(offersFor), composed: newMemo[string, *Composed](mostCompositions)}
	for _, item := range items {
		o.manifests = append(o.manifests, item.about().Manifest)
	}
	s.offered = o
	return o, nil
}

func (o *offers) same(items []Item) bool {
	return o != nil && slices.EqualFunc(o.items, items, func(a, b Item) bool { return a.about().ID == b.about().ID })
}

// forgetOffers has the next composition look at what is offered.
func (s *Service) forgetOffers() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.offered != nil {
		s.offered.until = time.Time{}
	}
}
