package limits

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/validator"

	"biztraak.dev/vm/internal/transport/internal/edgetest"
)

// sizeOf measures the only operation of a valid document.
func sizeOf(t *testing.T, query string, variables map[string]any) size {
	t.Helper()
	schema := gqlparser.MustLoadSchema(&ast.Source{Input: edgetest.SDL})
	doc, errs := gqlparser.LoadQueryWithRules(schema, query, nil)
	require.Empty(t, errs)
	coerced, err := validator.VariableValues(schema, doc.Operations[0], variables)
	require.NoError(t, err)
	m := measure{schema: schema, variables: coerced, defaultPage: 25}
	return m.selectionSet(doc.Operations[0].SelectionSet)
}

func TestCost(t *testing.T) {
	type variables = map[string]any
	tests := map[string]struct {
		query     string
		variables variables
		cost      int64
	}{
		"scalars are free":            {`{hello a:hello}`, nil, 0},
		"an object is one":            {`{project{name}}`, nil, 1},
		"an object in an object":      {`{project{parent{name}}}`, nil, 2},
		"a plain list is one":         {`{project{tags{name}}}`, nil, 2},
		"nodes by the page":           {`{project{vms(first:10){nodes{id}}}}`, nil, 2 + 10},
		"last counts as first":        {`{project{vms(last:10){nodes{id}}}}`, nil, 2 + 10},
		"the larger of both":          {`{project{vms(first:3,last:10){nodes{id}}}}`, nil, 2 + 10},
		"edges hold nodes":            {`{project{vms(first:10){edges{node{id}}}}}`, nil, 2 + 20},
		"pageInfo counts once":        {`{project{vms(first:10){pageInfo{hasNextPage}totalCount}}}`, nil, 3},
		"no page is the default":      {`{project{vms{nodes{id}}}}`, nil, 2 + 25},
		"null is the default":         {`{project{vms(first:null){nodes{id}}}}`, nil, 2 + 25},
		"default of the schema":       {`{project{logs{line}}}`, nil, 1 + 10},
		"a list with a page":          {`{project{logs(first:7){line}}}`, nil, 1 + 7},
		"pages multiply":              {`{project{vms(first:10){nodes{project{vms(first:20){nodes{id}}}}}}}`, nil, 2 + 10*(1+1+1+20)},
		"variable":                    {`query($n:Int){project{vms(first:$n){nodes{id}}}}`, variables{"n": json.Number("10")}, 12},
		"variable of a Go client":     {`query($n:Int){project{vms(first:$n){nodes{id}}}}`, variables{"n": 10}, 12},
		"default of the variable":     {`query($n:Int=9){project{vms(first:$n){nodes{id}}}}`, nil, 11},
		"absent variable":             {`query($n:Int){project{vms(first:$n){nodes{id}}}}`, nil, 27},
		"absent variable, schema":     {`query($n:Int){project{logs(first:$n){line}}}`, nil, 11},
		"variable null":               {`query($n:Int){project{vms(first:$n){nodes{id}}}}`, variables{"n": nil}, 27},
		"fragment":                    {`{project{...F}} fragment F on Project{vms(first:10){nodes{id}}}`, nil, 12},
		"fragment inside of the page": {`{project{vms(first:10){...F}}} fragment F on VMConnection{nodes{id} pageInfo{hasNextPage}}`, nil, 13},
		"inline fragment":             {`{project{...{vms(first:10){... on VMConnection{nodes{id}}}}}}`, nil, 12},
		"fragment twice":              {`{a:project{...F} b:project{...F}} fragment F on Project{tags{name}}`, nil, 4},
		"the dearest of the types":    {`{node(id:1){...on Project{vms(first:10){nodes{id}}} ...on VM{tags{name}}}}`, nil, 1 + 11 + 1},
		"the dearest of the types, named": {`{node(id:1){...P ...V}} fragment P on Project{tags{name}} fragment V on VM{project{parent{id}} tags{name}}`,
			nil, 1 + 3},
		"an interface narrows nothing": {`{node(id:1){...on Node{...on VM{project{id}}} ...on VM{tags{name}}}}`, nil, 1 + 2},
		"ids":                          {`{nodes(ids:[1,2,3]){id}}`, nil, 3},
		"ids of a variable":            {`query($i:[ID!]!){nodes(ids:$i){id}}`, variables{"i": []any{"a", "b"}}, 2},
		"a single id":                  {`query($i:[ID!]!){nodes(ids:$i){id}}`, variables{"i": "a"}, 1},
		"no ids":                       {`{nodes(ids:[]){id}}`, nil, 1},
		"a page of none":               {`{project{vms(first:0){nodes{id}}}}`, nil, 2 + 1},
		"a negative page":              {`{project{vms(first:-5){nodes{id}}}}`, nil, 2 + 1},
		"the whole schema":             {`{__schema{types{name}}}`, nil, 1000 + 2},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := sizeOf(t, test.query, test.variables)
			require.Equal(t, test.cost, s.total())
		})
	}
}

func TestCostDoesNotOverflow(t *testing.T) {
	nested := strings.Repeat(`project{vms(first:$n){nodes{`, 5) + "id" + strings.Repeat("}}}", 5)
	for _, page := range []json.Number{"2147483647", "9223372036854775807"} {
		s := sizeOf(t, "query($n:Int){"+nested+"}", map[string]any{"n": page})
		require.Equal(t, int64(math.MaxInt64), s.total(), page)
	}
}

func TestDocumentCacheIsBoundedByText(t *testing.T) {
	cache := newDocumentCache(160)
	key := func(i int) string { return fmt.Sprintf("%010d", i) }
	for i := range 20 {
		cache.Add(t.Context(), key(i), &ast.QueryDocument{})
		cache.Add(t.Context(), key(i), &ast.QueryDocument{})
	}
	require.Equal(t, 160, cache.bytes)
	for i, kept := range map[int]bool{0: false, 3: false, 4: true, 19: true} {
		_, found := cache.Get(t.Context(), key(i))
		require.Equal(t, kept, found, i)
	}
	cache.Add(t.Context(), strings.Repeat("x", 11), &ast.QueryDocument{})
	_, found := cache.Get(t.Context(), strings.Repeat("x", 11))
	require.False(t, found, "a document of more than a sixteenth is not kept")
}
