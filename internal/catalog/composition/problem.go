package composition

import (
	"cmp"
	"slices"

	"biztraak.dev/vm/internal/catalog/manifest"
)

// Code tells problems of a composition apart. The texts are those of the API.
type Code string

// The codes of problems.
const (
	// CodeTemplateNotFitting: the template cannot run on the provider.
	CodeTemplateNotFitting Code = "TEMPLATE_NOT_FITTING"
	// CodeAddOnNotFitting: an add-on does not fit the template.
	CodeAddOnNotFitting Code = "ADD_ON_NOT_FITTING"
	// CodeAddOnConflicts: two items cannot be on one machine.
	CodeAddOnConflicts Code = "ADD_ON_CONFLICTS"
	// CodeAddOnRequires: an add-on requires what is not there.
	CodeAddOnRequires Code = "ADD_ON_REQUIRES"
	// CodeResourcesTooSmall: the machine is smaller than the composition
	// needs.
	CodeResourcesTooSmall Code = "RESOURCES_TOO_SMALL"
)

// Problem is one reason why items do not go together. The message explains
// itself and names what to do; the other fields say the same to a program.
type Problem struct {
	Code Code
	// Path is ["template"], ["addOns", slug] or ["resources", "cpu" | "memory"
	// | "disk"].
	Path    []string
	Message string
	// Item is the item at fault; zero for resources.
	Item Ref
	// Others are, for a conflict, the items that Item cannot be with.
	Others []Ref
	// Capability is what is required, where it is a capability.
	Capability manifest.Capability
	// Suppliers are the add-ons of the catalog that give what is required.
	Suppliers []Ref
	// Add is the smallest set of add-ons that gives what is required; empty
	// where the catalog has none.
	Add []Ref
}

// sortProblems gives problems one order: the template, the add-ons by slug,
// the resources.
func sortProblems(problems []Problem) {
	rank := map[string]int{"template": 0, "addOns": 1, "resources": 2}
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return cmp.Or(
			cmp.Compare(rank[a.Path[0]], rank[b.Path[0]]),
			slices.Compare(a.Path, b.Path),
			cmp.Compare(a.Code, b.Code),
			cmp.Compare(a.Message, b.Message),
		)
	})
}

func addOnPath(ref Ref) []string {
	return []string{"addOns", ref.Slug}
}
