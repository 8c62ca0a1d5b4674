package composition

import (
	"slices"

	"biztraak.dev/vm/internal/catalog/manifest"
)

// maxTries bounds the search for the smallest set. The catalogs that exist
// need some dozens; with a hostile one the best set found so far is answered.
const maxTries = 2_000

// SmallestSet names the least number of add-ons of the catalog that, together
// with all that they require, give every wanted capability that the request
// lacks, in the order of applying them; of equal sets the one that comes first
// by slug. They fit the template and conflict with nothing. It is false where
// the catalog has no such set; with nothing to add the set is empty and it is
// true.
func SmallestSet(request Request, want ...manifest.Capability) ([]Ref, bool) {
	s := newSelection(request)
	w := wish{capabilities: want}
	search := remedy{selection: s, wish: w, tries: maxTries}
	search.extend(nil)
	return refsOf(inOrder(s.template, search.best)), search.found
}

// wish is what a remedy is to supply.
type wish struct {
	capabilities []manifest.Capability
	addOns       []string
}

// smallestSet is empty where there is no set.
func (s *selection) smallestSet(w wish) []*manifest.Manifest {
	search := remedy{selection: s, wish: w, tries: maxTries}
	search.extend(nil)
	return inOrder(s.template, search.best)
}

// remedy is a depth-first search over sets of add-ons. It only ever adds what
// supplies something that is still open, and turns back where a set is no
// smaller than the best.
type remedy struct {
	selection *selection
	wish      wish
	best      []*manifest.Manifest
	found     bool
	tries     int
}

func (r *remedy) extend(chosen []*manifest.Manifest) {
	r.tries--
	if r.tries < 0 {
		return
	}
	choices, open := r.firstOpen(chosen)
	if !open {
		if !r.found || len(chosen) < len(r.best) {
			r.best, r.found = slices.Clone(chosen), true
		}
		return
	}
	// One more is needed at least.
	if r.found && len(chosen)+1 >= len(r.best) {
		return
	}
	for _, item := range choices {
		if r.agrees(item, chosen) {
			r.extend(append(slices.Clip(chosen), item))
		}
	}
}

// firstOpen finds something that is wished for, or required by what is chosen,
// and not there yet, with the add-ons that would supply it. What the selection
// itself lacks is not open: it has a problem of its own.
func (r *remedy) firstOpen(chosen []*manifest.Manifest) (choices []*manifest.Manifest, open bool) {
	wishes := []wish{r.wish}
	for _, item := range chosen {
		needs := required(item)
		wishes = append(wishes, wish{capabilities: needs.Capabilities, addOns: needs.AddOns})
	}
	for _, w := range wishes {
		for _, slug := range w.addOns {
			bySlug := func(m *manifest.Manifest) bool { return m.Metadata.Slug == slug }
			if r.selection.bySlug[slug] == nil && !slices.ContainsFunc(chosen, bySlug) {
				return filter(r.selection.offers, bySlug), true
			}
		}
		for _, capability := range w.capabilities {
			giver := func(m *manifest.Manifest) bool { return gives(m, capability) }
			if len(r.selection.givers(capability)) == 0 && !slices.ContainsFunc(chosen, giver) {
				return filter(r.selection.offers, giver), true
			}
		}
	}
	return nil, false
}

func (r *remedy) agrees(item *manifest.Manifest, chosen []*manifest.Manifest) bool {
	return !slices.ContainsFunc(chosen, func(other *manifest.Manifest) bool {
		return len(conflictReasons(item, other)) > 0
	})
}

func filter(items []*manifest.Manifest, keep func(*manifest.Manifest) bool) []*manifest.Manifest {
	var kept []*manifest.Manifest
	for _, item := range items {
		if keep(item) {
			kept = append(kept, item)
		}
	}
	return kept
}
