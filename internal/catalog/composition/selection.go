package composition

import (
	"cmp"
	"slices"

	"golang.org/x/mod/semver"

	"biztraak.dev/vm/internal/catalog/manifest"
)

// selection is a request made independent of the order in which it was given.
type selection struct {
	template *manifest.Manifest
	// bySlug holds the add-ons by slug.
	bySlug map[string]*manifest.Manifest
	// ordered holds the add-ons in the order of applying them.
	ordered []*manifest.Manifest
	// offers are the add-ons of the catalog that are not selected and that
	// the selection has room for, by slug.
	offers []*manifest.Manifest
	// strangers are items among the add-ons that are no add-on packs.
	strangers []*manifest.Manifest
}

func newSelection(request Request) *selection {
	s := &selection{template: &request.Template}
	chosen := newestBySlug(request.AddOns, func(m *manifest.Manifest) { s.strangers = append(s.strangers, m) })
	s.bySlug = make(map[string]*manifest.Manifest, len(chosen))
	for _, item := range chosen {
		s.bySlug[item.Metadata.Slug] = item
	}
	s.ordered = inOrder(s.template, chosen)
	for _, item := range newestBySlug(request.Catalog, func(*manifest.Manifest) {}) {
		if s.bySlug[item.Metadata.Slug] == nil && s.roomFor(item) {
			s.offers = append(s.offers, item)
		}
	}
	return s
}

// roomFor reports whether the item could be added to what is selected.
func (s *selection) roomFor(item *manifest.Manifest) bool {
	if !fits(item, s.template) {
		return false
	}
	return !slices.ContainsFunc(s.items(), func(other *manifest.Manifest) bool {
		return len(conflictReasons(item, other)) > 0
	})
}

// items are the template and then the add-ons in their order.
func (s *selection) items() []*manifest.Manifest {
	return append([]*manifest.Manifest{s.template}, s.ordered...)
}

func (s *selection) givers(capability manifest.Capability) []*manifest.Manifest {
	var givers []*manifest.Manifest
	for _, item := range s.items() {
		if gives(item, capability) {
			givers = append(givers, item)
		}
	}
	return givers
}

func (s *selection) suppliers(capability manifest.Capability) []*manifest.Manifest {
	var suppliers []*manifest.Manifest
	for _, item := range s.offers {
		if gives(item, capability) {
			suppliers = append(suppliers, item)
		}
	}
	return suppliers
}

func gives(item *manifest.Manifest, capability manifest.Capability) bool {
	return slices.Contains(item.Contribution().Capabilities, capability)
}

func fits(addOn, template *manifest.Manifest) bool {
	return len(addOn.AddOn.Fits) == 0 || slices.Contains(addOn.AddOn.Fits, template.Metadata.Slug)
}

// required is what an add-on requires; nothing where it says nothing.
func required(addOn *manifest.Manifest) manifest.Requires {
	if addOn.AddOn.Requires == nil {
		return manifest.Requires{}
	}
	return *addOn.AddOn.Requires
}

// newestBySlug keeps the newest version of each add-on, by slug, and hands
// over what is no add-on.
func newestBySlug(items []manifest.Manifest, other func(*manifest.Manifest)) []*manifest.Manifest {
	sorted := make([]*manifest.Manifest, 0, len(items))
	for i := range items {
		if items[i].AddOn == nil {
			other(&items[i])
			continue
		}
		sorted = append(sorted, &items[i])
	}
	slices.SortStableFunc(sorted, func(a, b *manifest.Manifest) int {
		return cmp.Or(
			cmp.Compare(a.Metadata.Slug, b.Metadata.Slug),
			semver.Compare("v"+b.Metadata.Version, "v"+a.Metadata.Version),
			cmp.Compare(b.Metadata.Version, a.Metadata.Version),
		)
	})
	return slices.CompactFunc(sorted, func(a, b *manifest.Manifest) bool {
		return a.Metadata.Slug == b.Metadata.Slug
	})
}
