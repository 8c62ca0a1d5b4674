package limits

import "github.com/vektah/gqlparser/v2/ast"

// Validation is not linear in the document: fields of one name are compared
// with each other, and every fragment is walked from every fragment that
// reaches it. Within the token limit that can take seconds and hundreds of
// megabytes, so a document is measured before it is validated.
const (
	// maxVisits is how many selections the walk of the validator may visit.
	maxVisits = 60_000
	// maxComparisons is how many pairs of fields may have to be compared. Ten
	// thousand different fields need as many, 400 times the same one 160,000.
	maxComparisons = 200_000
)

// spend takes n from the effort that is left and reports whether that was enough.
func (s *shape) spend(n int) bool {
	s.effort -= n
	return s.effort >= 0
}

// walk goes where the validator goes: from each operation and each fragment
// into everything that it reaches, once.
func (s *shape) walk() bool {
	for _, operation := range s.doc.Operations {
		if !s.visit(operation.SelectionSet, map[string]bool{}) {
			return false
		}
	}
	for _, fragment := range s.doc.Fragments {
		if !s.visit(fragment.SelectionSet, map[string]bool{}) {
			return false
		}
	}
	return true
}

func (s *shape) visit(set ast.SelectionSet, seen map[string]bool) bool {
	if !s.spend(len(set)) {
		return false
	}
	for _, selection := range set {
		inner := ast.SelectionSet(nil)
		switch selection := selection.(type) {
		case *ast.Field:
			inner = selection.SelectionSet
		case *ast.InlineFragment:
			inner = selection.SelectionSet
		case *ast.FragmentSpread:
			if fragment := s.fragments[selection.Name]; fragment != nil && !seen[selection.Name] {
				seen[selection.Name] = true
				inner = fragment.SelectionSet
			}
		}
		if len(inner) > 0 && !s.visit(inner, seen) {
			return false
		}
	}
	return true
}

// merge counts the comparisons of fields that end up in one object under one
// name, as the execution merges them: that is what the validator has to prove
// to be without conflict.
func (s *shape) merge(sets []ast.SelectionSet) bool {
	fields := map[string][]ast.SelectionSet{}
	seen := map[string]bool{}
	spreads := 0
	var collect func(ast.SelectionSet) bool
	collect = func(set ast.SelectionSet) bool {
		if !s.spend(len(set)) {
			return false
		}
		for _, selection := range set {
			within := true
			switch selection := selection.(type) {
			case *ast.Field:
				fields[selection.Alias] = append(fields[selection.Alias], selection.SelectionSet)
			case *ast.InlineFragment:
				within = collect(selection.SelectionSet)
			case *ast.FragmentSpread:
				spreads++
				if fragment := s.fragments[selection.Name]; fragment != nil && !seen[selection.Name] {
					seen[selection.Name] = true
					within = collect(fragment.SelectionSet)
				}
			}
			if !within {
				return false
			}
		}
		return true
	}
	for _, set := range sets {
		if !collect(set) {
			return false
		}
	}
	if !s.spend(spreads * spreads) { // spreads are compared in pairs as well
		return false
	}
	for _, same := range fields {
		if !s.spend(len(same)*len(same)) || !s.merge(same) {
			return false
		}
	}
	return true
}
