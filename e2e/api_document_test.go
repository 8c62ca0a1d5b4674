package e2e_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2/ast"

	"biztraak.dev/vm/schema"
)

// documents writes operations from the schema alone, so that a test of every
// field needs no list of fields.
type documents struct{ schema *ast.Schema }

func loadDocuments(t *testing.T) documents {
	t.Helper()
	s, err := schema.Load()
	require.NoError(t, err)
	return documents{schema: s}
}

// root is a field of Query, Mutation or Subscription.
type root struct {
	operation string // query, mutation or subscription
	*ast.FieldDefinition
}

// String is the name of the field with its type, as in "Query.node".
func (r root) String() string {
	return strings.ToUpper(r.operation[:1]) + r.operation[1:] + "." + r.Name
}

// roots are all fields of the three roots.
func (d documents) roots() []root {
	var out []root
	for _, of := range []struct {
		operation string
		def       *ast.Definition
	}{{"query", d.schema.Query}, {"mutation", d.schema.Mutation}, {"subscription", d.schema.Subscription}} {
		for _, f := range of.def.Fields {
			if !strings.HasPrefix(f.Name, "__") {
				out = append(out, root{of.operation, f})
			}
		}
	}
	return out
}

// operation writes an operation of one root field that takes every argument as
// a variable of its own name and asks for all there is, so many levels deep.
func (d documents) operation(r root, levels int) string {
	var declared, passed []string
	for _, a := range r.Arguments {
		declared = append(declared, fmt.Sprintf("$%s: %s", a.Name, nullableIfDefault(a)))
		passed = append(passed, fmt.Sprintf("%s: $%s", a.Name, a.Name))
	}
	return r.operation + parenthesised(declared) + " { " + r.Name + parenthesised(passed) + " " +
		d.selection(d.schema.Types[r.Type.Name()], levels) + " }"
}

// nullableIfDefault lets a variable be left out where the argument can be.
func nullableIfDefault(a *ast.ArgumentDefinition) string {
	if a.DefaultValue != nil {
		return a.Type.String() + " = " + a.DefaultValue.String()
	}
	return a.Type.String()
}

func parenthesised(parts []string) string {
	if len(parts) == 0 {
		return ""
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

// selection asks for all fields of a type, following objects so many levels
// deep. Lists are asked for with two elements.
func (d documents) selection(def *ast.Definition, levels int) string {
	parts := []string{"__typename"}
	if def.IsAbstractType() {
		types := d.schema.GetPossibleTypes(def)
		for _, t := range types {
			parts = append(parts, "... on "+t.Name+" { "+strings.Join(d.fields(t, levels, types), " ")+" }")
		}
	} else {
		parts = append(parts, d.fields(def, levels, nil)...)
	}
	return "{ " + strings.Join(parts, " ") + " }"
}

// fields are those of an object. One that has another type in a sibling gets a
// name of its own.
func (d documents) fields(def *ast.Definition, levels int, siblings []*ast.Definition) []string {
	parts := []string{"__typename"}
	for _, f := range def.Fields {
		if strings.HasPrefix(f.Name, "__") {
			continue
		}
		of := d.schema.Types[f.Type.Name()]
		if of.IsCompositeType() && levels <= 0 {
			continue
		}
		text := f.Name
		if slices.ContainsFunc(siblings, func(s *ast.Definition) bool {
			same := s.Fields.ForName(f.Name)
			return same != nil && same.Type.String() != f.Type.String()
		}) {
			text = def.Name + "_" + f.Name + ": " + text
		}
		if f.Arguments.ForName("first") != nil {
			text += "(first: 2)"
		}
		if of.IsCompositeType() {
			text += " " + d.selection(of, levels-1)
		}
		parts = append(parts, text)
	}
	return parts
}

// place is where a value of some type stands among the variables.
type place struct {
	path []any // names and indices
	typ  *ast.Type
}

// String is the path as userErrors give it.
func (p place) String() string {
	parts := make([]string, len(p.path))
	for i, at := range p.path {
		parts[i] = fmt.Sprint(at)
	}
	return strings.Join(parts, ".")
}

// places finds every place that is filled in the variables of a root field, with
// objects and lists before what is in them.
func (d documents) places(r root, variables object) []place {
	var out []place
	for _, a := range r.Arguments {
		out = append(out, d.placesIn(a.Type, variables[a.Name], []any{a.Name})...)
	}
	return out
}

func (d documents) placesIn(t *ast.Type, value any, path []any) []place {
	if value == nil {
		return nil
	}
	out := []place{{path: slices.Clone(path), typ: t}}
	if list, ok := value.([]any); ok && t.Elem != nil {
		for i, v := range list {
			out = append(out, d.placesIn(t.Elem, v, append(path, i))...)
		}
		return out
	}
	if o, ok := value.(object); ok {
		for _, f := range d.schema.Types[t.Name()].Fields {
			out = append(out, d.placesIn(f.Type, o[f.Name], append(path, f.Name))...)
		}
	}
	return out
}

// with is a copy of the variables with another value at a place.
func with(variables object, path []any, value any) object {
	out, _ := replaced(variables, path, value).(object)
	return out
}

func replaced(in any, path []any, value any) any {
	if len(path) == 0 {
		return value
	}
	switch at := path[0].(type) {
	case string:
		old, _ := in.(object)
		out := object{}
		for k, v := range old {
			out[k] = v
		}
		out[at] = replaced(old[at], path[1:], value)
		return out
	case int:
		old, _ := in.([]any)
		out := slices.Clone(old)
		out[at] = replaced(old[at], path[1:], value)
		return out
	}
	return in
}
