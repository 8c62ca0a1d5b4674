package composition

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"biztraak.dev/vm/internal/catalog/manifest"
)

// conflictProblems reports each pair of items that cannot be on one machine
// once, with all reasons.
func (s *selection) conflictProblems() []Problem {
	var problems []Problem
	items := s.items()
	for i, one := range items {
		for _, other := range items[i+1:] {
			if reasons := conflictReasons(one, other); len(reasons) > 0 {
				problems = append(problems, conflictProblem(one, other, reasons))
			}
		}
	}
	return problems
}

// conflictProblem blames the add-on, and of two add-ons the one that comes
// first by slug; that is arbitrary, and the message offers either.
func conflictProblem(one, other *manifest.Manifest, reasons []string) Problem {
	if one.AddOn == nil || (other.AddOn != nil && other.Metadata.Slug < one.Metadata.Slug) {
		one, other = other, one
	}
	remedy := fmt.Sprintf("remove %s or %s", one.Metadata.Slug, other.Metadata.Slug)
	if other.AddOn == nil {
		remedy = fmt.Sprintf("remove %s or choose another template", one.Metadata.Slug)
	}
	return Problem{
		Code: CodeAddOnConflicts,
		Path: addOnPath(refOf(one)),
		Message: fmt.Sprintf("%s and %s cannot be on one machine: %s; %s",
			one.Metadata.Slug, other.Metadata.Slug, strings.Join(reasons, ", "), remedy),
		Item:   refOf(one),
		Others: []Ref{refOf(other)},
	}
}

// conflictReasons says why two items cannot be on one machine, in a fixed
// order; it does not matter which is named first.
func conflictReasons(one, other *manifest.Manifest) []string {
	if cmp.Compare(other.Metadata.Slug, one.Metadata.Slug) < 0 {
		one, other = other, one
	}
	var reasons []string
	for _, pair := range [][2]*manifest.Manifest{{one, other}, {other, one}} {
		from, to := pair[0], pair[1]
		if from.AddOn != nil && slices.Contains(from.AddOn.ConflictsWith, to.Metadata.Slug) {
			reasons = append(reasons, from.Metadata.Slug+" conflicts with "+to.Metadata.Slug)
		}
	}
	a, b := one.Contribution(), other.Contribution()
	reasons = append(reasons, pathReasons(a.RuntimePaths, b.RuntimePaths)...)
	return append(reasons, stepReasons(a.ApplySteps, b.ApplySteps)...)
}

func pathReasons(one, other []manifest.RuntimePath) []string {
	var reasons []string
	for _, a := range one {
		for _, b := range other {
			if a.Name == b.Name {
				reasons = append(reasons, fmt.Sprintf("both have a runtime path named %q", a.Name))
			}
			if a.Port == b.Port {
				reasons = append(reasons, fmt.Sprintf("both listen on port %d", a.Port))
			}
		}
	}
	return reasons
}

// stepReasons finds files and units that the two want to be different: each
// apply of one would undo the other. Wanting the same is no conflict.
func stepReasons(one, other []manifest.Step) []string {
	var reasons []string
	for _, a := range one {
		for _, b := range other {
			for _, file := range a.Files {
				if slices.ContainsFunc(b.Files, func(f manifest.File) bool { return f.Path == file.Path && f != file }) {
					reasons = append(reasons, fmt.Sprintf("they want %s to be different", file.Path))
				}
			}
			for _, unit := range a.Units {
				if slices.ContainsFunc(b.Units, func(u manifest.Unit) bool { return u.Name == unit.Name && disagree(u, unit) }) {
					reasons = append(reasons, fmt.Sprintf("they want the unit %s in different states", unit.Name))
				}
			}
		}
	}
	return reasons
}

// disagree ignores which files restart the unit: both restarts may happen.
func disagree(one, other manifest.Unit) bool {
	return one.State != other.State || one.Enabled != other.Enabled
}

// versionProblems reports add-ons that are asked for in several versions, or
// in one version with several contents.
func (s *selection) versionProblems(addOns []manifest.Manifest) []Problem {
	different := map[string][]Ref{}
	for i := range addOns {
		item := &addOns[i]
		chosen := s.bySlug[item.Metadata.Slug]
		if item.AddOn == nil || reflect.DeepEqual(item, chosen) {
			continue
		}
		ref := refOf(item)
		if !slices.Contains(different[ref.Slug], ref) {
			different[ref.Slug] = append(different[ref.Slug], ref)
		}
	}
	var problems []Problem
	for slug, refs := range different {
		chosen := refOf(s.bySlug[slug])
		slices.SortFunc(refs, func(a, b Ref) int { return cmp.Compare(a.Version, b.Version) })
		problems = append(problems, Problem{
			Code:    CodeAddOnConflicts,
			Path:    addOnPath(chosen),
			Message: fmt.Sprintf("%s is asked for more than once, differently: %s; keep one of them", slug, listed(append(refs, chosen))),
			Item:    chosen,
			Others:  refs,
		})
	}
	return problems
}
