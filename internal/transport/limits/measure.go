package limits

import (
	"encoding/json"
	"errors"
	"math"
	"strconv"

	"github.com/vektah/gqlparser/v2/ast"
)

// introspectionCost is what __schema costs beside its fields.
const introspectionCost = 1000

// size is what a selection set costs. All sums stop at math.MaxInt64.
type size struct {
	// once is the cost of the fields that are not lists, listed that of the
	// lists, which the page of the field around them multiplies.
	once, listed int64
}

func (s size) total() int64 { return plus(s.once, s.listed) }

// beside joins the sizes of two parts of one selection set.
func (s size) beside(t size) size { return size{plus(s.once, t.once), plus(s.listed, t.listed)} }

// instead joins the sizes of two parts of which an object has only one.
func (s size) instead(t size) size { return size{max(s.once, t.once), max(s.listed, t.listed)} }

// measure walks one operation. Each fragment is walked once, however often and
// however nested it is spread, so the time is linear in the document; cyclic
// fragments have been refused by then.
type measure struct {
	schema      *ast.Schema
	variables   map[string]any
	defaultPage int
	fragments   map[string]size
}

func (m *measure) selectionSet(set ast.SelectionSet) size {
	var sum size
	var byType map[string]size
	narrowed := func(condition string, s size) {
		if definition := m.schema.Types[condition]; definition == nil || definition.Kind != ast.Object {
			sum = sum.beside(s)
			return
		}
		if byType == nil {
			byType = map[string]size{}
		}
		byType[condition] = byType[condition].beside(s)
	}
	for _, selection := range set {
		switch selection := selection.(type) {
		case *ast.Field:
			sum = sum.beside(m.field(selection))
		case *ast.InlineFragment:
			narrowed(selection.TypeCondition, m.selectionSet(selection.SelectionSet))
		case *ast.FragmentSpread:
			narrowed(selection.Definition.TypeCondition, m.fragment(selection.Definition))
		}
	}
	var dearest size
	for _, s := range byType {
		dearest = dearest.instead(s)
	}
	return sum.beside(dearest)
}

func (m *measure) fragment(definition *ast.FragmentDefinition) size {
	if s, known := m.fragments[definition.Name]; known {
		return s
	}
	s := m.selectionSet(definition.SelectionSet)
	if m.fragments == nil {
		m.fragments = map[string]size{}
	}
	m.fragments[definition.Name] = s
	return s
}

func (m *measure) field(field *ast.Field) size {
	if len(field.SelectionSet) == 0 {
		return size{}
	}
	inner := m.selectionSet(field.SelectionSet)
	count := m.count(field)
	if field.Definition.Type.Elem != nil {
		return size{listed: times(count, plus(1, inner.total()))}
	}
	once := plus(1, plus(inner.once, times(count, inner.listed)))
	if field.Name == "__schema" {
		once = plus(once, introspectionCost)
	}
	return size{once: once}
}

// count is by how much a field multiplies its lists: its page, the number of
// its ids, or 1.
func (m *measure) count(field *ast.Field) int64 {
	arguments := field.Definition.Arguments
	if arguments.ForName("first") == nil && arguments.ForName("last") == nil {
		if definition := arguments.ForName("ids"); definition != nil && definition.Type.Elem != nil {
			return m.length(field.Arguments.ForName("ids"))
		}
		return 1
	}
	count := int64(0)
	for _, name := range []string{"first", "last"} {
		if n, given := m.page(field, name); given {
			count = max(count, n)
		}
	}
	if count == 0 {
		return int64(m.defaultPage)
	}
	return count
}

// page is the value of a page argument: what is written or passed, else the
// default of the schema. No page is smaller than 1 here: a page of 0 would make
// everything inside of it free, and a negative one is refused by the resolver
// but must not pay for others.
func (m *measure) page(field *ast.Field, name string) (n int64, given bool) {
	definition := field.Definition.Arguments.ForName(name)
	if definition == nil {
		return 0, false
	}
	value := definition.DefaultValue
	if argument := field.Arguments.ForName(name); argument != nil {
		if _, passed := m.variables[argument.Value.Raw]; argument.Value.Kind != ast.Variable || passed {
			value = argument.Value
		}
	}
	if value == nil {
		return 0, false
	}
	raw, err := value.Value(m.variables)
	if err != nil {
		return math.MaxInt64, true // a literal over 64 bits
	}
	n, given = integer(raw)
	return max(n, 1), given
}

// integer reads what JSON, Go clients and literals make of an Int. Only null is
// no number; what is none of these is taken for the largest.
func integer(raw any) (n int64, given bool) {
	text := ""
	switch raw := raw.(type) {
	case nil:
		return 0, false
	case int64:
		return raw, true
	case int:
		return int64(raw), true
	case float64:
		if raw < math.MaxInt32 {
			return int64(max(raw, math.MinInt32)), true
		}
	case json.Number:
		text = raw.String()
	case string:
		text = raw
	}
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err == nil, errors.Is(err, strconv.ErrRange) && n < 0:
		return n, true
	default:
		return math.MaxInt64, true
	}
}

// length is the number of elements of a list argument, at least 1: GraphQL
// takes a single value for a list of one.
func (m *measure) length(argument *ast.Argument) int64 {
	if argument == nil {
		return 1
	}
	raw, err := argument.Value.Value(m.variables)
	if err != nil {
		return math.MaxInt64
	}
	list, _ := raw.([]any)
	return max(int64(len(list)), 1)
}

// plus and times stop at the largest number. Their arguments are not negative.
func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

func times(a, b int64) int64 {
	if a != 0 && b > math.MaxInt64/a {
		return math.MaxInt64
	}
	return a * b
}
