package limits

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"
)

func shapeOf(t *testing.T, query string) *shape {
	t.Helper()
	doc, err := parser.ParseQuery(&ast.Source{Input: query})
	require.NoError(t, err)
	return newShape(doc)
}

func TestDepthAndAliases(t *testing.T) {
	tests := map[string]struct {
		query          string
		depth, aliases int64
	}{
		"root":                    {`{hello}`, 1, 0},
		"nested":                  {`{project{parent{name}}}`, 3, 0},
		"fragments add no level":  {`{...Q} fragment Q on Query{project{...{parent{name}}}}`, 3, 0},
		"aliases":                 {`{a:hello b:hello project{c:name}}`, 2, 3},
		"an alias that is none":   {`{hello:hello}`, 1, 0},
		"aliases of fragments":    {`{a:project{...F} b:project{...F}} fragment F on Project{x:name y:name}`, 2, 6},
		"introspection is one":    {`{__schema{types{fields{type{ofType{ofType{ofType{name}}}}}}}}`, 1, 0},
		"beside an introspection": {`{__type(name:"X"){ofType{ofType{name}}} project{name}}`, 2, 0},
		"an unknown fragment":     {`{...Nowhere}`, 0, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := shapeOf(t, test.query)
			require.Equal(t, extent{test.depth, test.aliases}, s.extent(s.doc.Operations[0].SelectionSet))
		})
	}
}

func TestFragmentsAreMeasuredOnce(t *testing.T) {
	// Written out this is 2^60 fields.
	query := `{project{...F0}}`
	for i := range 60 {
		query += fmt.Sprintf(` fragment F%d on Project{a:parent{...F%d} parent{...F%d}}`, i, i+1, i+1)
	}
	query += ` fragment F60 on Project{name}`
	s := shapeOf(t, query)
	require.Equal(t, extent{depth: 62, aliases: 1<<60 - 1}, s.extent(s.doc.Operations[0].SelectionSet))
	require.Equal(t, int64(1<<61-1), sizeOf(t, query, nil).total()) // 1 + 2 + 4 + … + 2^60
}

func TestCycles(t *testing.T) {
	tests := map[string]struct {
		query  string
		cyclic bool
	}{
		"none":               {`{...A ...B} fragment A on Q{...B} fragment B on Q{x}`, false},
		"itself":             {`{...A} fragment A on Q{x{...A}}`, true},
		"through another":    {`{...A} fragment A on Q{...B} fragment B on Q{...{...A}}`, true},
		"not reached by any": {`{x} fragment A on Q{...B} fragment B on Q{...A}`, true},
		"twice is no cycle":  {`{...A} fragment A on Q{...C ...B} fragment B on Q{...C} fragment C on Q{x}`, false},
		"unknown":            {`{...A} fragment A on Q{...Nowhere}`, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { require.Equal(t, test.cyclic, shapeOf(t, test.query).cyclic()) })
	}
}

func TestOrdinaryDocumentsPass(t *testing.T) {
	wide := strings.Builder{}
	for i := range 40 {
		fmt.Fprintf(&wide, "project%d{id name status vms{edges{cursor node{id name providers{id status}}} pageInfo{hasNextPage}}}", i)
	}
	colocated := strings.Builder{} // the way Relay writes: many fragments on one type
	spreads := strings.Builder{}
	for i := range 150 {
		fmt.Fprintf(&spreads, "...F%d ", i)
		fmt.Fprintf(&colocated, " fragment F%d on Project{id name field%d owner{id name}}", i, i)
	}
	tests := map[string]string{
		"wide":      "{" + wide.String() + "}",
		"fragments": "{project{" + spreads.String() + "}}" + colocated.String(),
	}
	for name, query := range tests {
		t.Run(name, func(t *testing.T) {
			err := shapeOf(t, query).check(Default())
			require.Nil(t, err)
		})
	}
}
