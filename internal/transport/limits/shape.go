package limits

import (
	"context"
	"errors"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/parser"

	"biztraak.dev/vm/internal/transport/wire"
)

// MutateOperationParameters looks at the shape of a document that is not in the
// cache yet. What is in the cache has been looked at. The document is parsed
// once more by the executor, which is cheap next to its validation.
func (e *extension) MutateOperationParameters(ctx context.Context, params *graphql.RawParams) *gqlerror.Error {
	if _, known := e.cache.Get(ctx, params.Query); known {
		return nil
	}
	doc, err := parser.ParseQueryWithTokenLimit(&ast.Source{Input: params.Query}, e.limits.Tokens)
	if err != nil {
		refusal := wire.NewError(wire.ParseFailed, "the document cannot be parsed")
		var parseError *gqlerror.Error
		if errors.As(err, &parseError) {
			refusal.Message, refusal.Locations = parseError.Message, parseError.Locations
		}
		return refusal
	}
	return newShape(doc).check(e.limits)
}

// shape is what can be told about a document without the schema.
type shape struct {
	doc       *ast.QueryDocument
	fragments map[string]*ast.FragmentDefinition
	extents   map[string]extent
	effort    int
}

// extent is how far a selection set reaches.
type extent struct{ depth, aliases int64 }

func newShape(doc *ast.QueryDocument) *shape {
	s := &shape{doc: doc, fragments: map[string]*ast.FragmentDefinition{}, extents: map[string]extent{}}
	for _, fragment := range doc.Fragments {
		s.fragments[fragment.Name] = fragment
	}
	return s
}

// check refuses what is too deep, too wide, or too much work for the validator.
func (s *shape) check(limits Limits) *gqlerror.Error {
	if s.cyclic() {
		// The validator says the same, after it has walked all cycles.
		return wire.NewError(wire.ValidationFailed, "a fragment must not spread itself, directly or through others")
	}
	if s.effort = maxVisits; !s.walk() {
		return tooTangled()
	}
	for _, operation := range s.doc.Operations {
		e := s.extent(operation.SelectionSet)
		if e.depth > int64(limits.Depth) {
			return over("the operation is %d levels deep, at most %d are allowed", e.depth, limits.Depth)
		}
		if e.aliases > int64(limits.Aliases) {
			return over("the operation has %d aliases, at most %d are allowed", e.aliases, limits.Aliases)
		}
	}
	s.effort = maxComparisons
	for _, operation := range s.doc.Operations {
		if !s.merge([]ast.SelectionSet{operation.SelectionSet}) {
			return tooTangled()
		}
	}
	for _, fragment := range s.doc.Fragments {
		if !s.merge([]ast.SelectionSet{fragment.SelectionSet}) {
			return tooTangled()
		}
	}
	return nil
}

func tooTangled() *gqlerror.Error {
	return wire.NewError(wire.ComplexityLimitExceeded, "the document repeats its fields or fragments too often")
}

// cyclic tells whether a fragment reaches itself.
func (s *shape) cyclic() bool {
	entered := map[string]bool{} // true while a fragment is open, false once it is done
	var reaches func(ast.SelectionSet) bool
	reaches = func(set ast.SelectionSet) bool {
		for _, selection := range set {
			found := false
			switch selection := selection.(type) {
			case *ast.Field:
				found = reaches(selection.SelectionSet)
			case *ast.InlineFragment:
				found = reaches(selection.SelectionSet)
			case *ast.FragmentSpread:
				open, known := entered[selection.Name]
				fragment := s.fragments[selection.Name]
				if found = open; !known && fragment != nil {
					entered[selection.Name] = true
					found = reaches(fragment.SelectionSet)
					entered[selection.Name] = false
				}
			}
			if found {
				return true
			}
		}
		return false
	}
	for _, fragment := range s.doc.Fragments {
		if reaches(ast.SelectionSet{&ast.FragmentSpread{Name: fragment.Name}}) {
			return true
		}
	}
	return false
}

// extent measures each fragment once, however often it is spread.
func (s *shape) extent(set ast.SelectionSet) extent {
	var all extent
	for _, selection := range set {
		var e extent
		switch selection := selection.(type) {
		case *ast.Field:
			e = s.extent(selection.SelectionSet)
			if e.depth++; selection.Name == "__schema" || selection.Name == "__type" {
				e.depth = 1
			}
			if selection.Alias != selection.Name {
				e.aliases = plus(e.aliases, 1)
			}
		case *ast.InlineFragment:
			e = s.extent(selection.SelectionSet)
		case *ast.FragmentSpread:
			e = s.extentOfFragment(selection.Name)
		}
		all = extent{depth: max(all.depth, e.depth), aliases: plus(all.aliases, e.aliases)}
	}
	return all
}

func (s *shape) extentOfFragment(name string) extent {
	e, known := s.extents[name]
	if fragment := s.fragments[name]; !known && fragment != nil {
		e = s.extent(fragment.SelectionSet)
		s.extents[name] = e
	}
	return e
}
