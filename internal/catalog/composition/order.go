package composition

import (
	"slices"

	"biztraak.dev/vm/internal/catalog/manifest"
)

// inOrder puts what is required first, ties by slug. The add-ons come by slug.
func inOrder(template *manifest.Manifest, addOns []*manifest.Manifest) []*manifest.Manifest {
	o := ordering{template: template, addOns: addOns, placed: make([]bool, len(addOns)), after: make([][]int, len(addOns))}
	for i, addOn := range addOns {
		for j, other := range addOns {
			if i != j && comesAfter(addOn, other) {
				o.after[i] = append(o.after[i], j)
			}
		}
	}
	ordered := make([]*manifest.Manifest, 0, len(addOns))
	for range addOns {
		next := o.next()
		o.placed[next] = true
		ordered = append(ordered, addOns[next])
	}
	return ordered
}

// comesAfter reports whether addOn requires other, by name or for one of its
// capabilities.
func comesAfter(addOn, other *manifest.Manifest) bool {
	r := required(addOn)
	if slices.Contains(r.AddOns, other.Metadata.Slug) {
		return true
	}
	return slices.ContainsFunc(r.Capabilities, func(c manifest.Capability) bool { return gives(other, c) })
}

// ordering is a topological sort under way; add-ons are known by index.
type ordering struct {
	template *manifest.Manifest
	addOns   []*manifest.Manifest
	after    [][]int
	placed   []bool
}

// next finds the first add-on with everything that it requires in place. In a
// circle it is content with one giver of each capability, and where add-ons
// require each other outright it opens the circle at its first slug: all of
// them are there in the end, which is what they ask for.
func (o *ordering) next() int {
	for _, ready := range []func(int) bool{o.allBefore, o.enoughBefore, o.inCircle} {
		for i := range o.addOns {
			if !o.placed[i] && ready(i) {
				return i
			}
		}
	}
	// Not reached: without an add-on that is ready, following what is not in
	// place leads around a circle.
	return slices.Index(o.placed, false)
}

func (o *ordering) allBefore(i int) bool {
	return !slices.ContainsFunc(o.after[i], func(j int) bool { return !o.placed[j] })
}

func (o *ordering) enoughBefore(i int) bool {
	r := required(o.addOns[i])
	for _, j := range o.after[i] {
		if !o.placed[j] && slices.Contains(r.AddOns, o.addOns[j].Metadata.Slug) {
			return false
		}
	}
	return !slices.ContainsFunc(r.Capabilities, func(c manifest.Capability) bool {
		if gives(o.template, c) {
			return false
		}
		return !slices.ContainsFunc(o.after[i], func(j int) bool { return o.placed[j] && gives(o.addOns[j], c) })
	})
}

// inCircle reports whether an add-on is required, in the end, by itself.
func (o *ordering) inCircle(start int) bool {
	seen := make([]bool, len(o.addOns))
	pending := []int{start}
	for len(pending) > 0 {
		i := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		for _, j := range o.after[i] {
			if j == start {
				return true
			}
			if !seen[j] && !o.placed[j] {
				seen[j] = true
				pending = append(pending, j)
			}
		}
	}
	return false
}
