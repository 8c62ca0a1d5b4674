package limits_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql/handler"
	"github.com/99designs/gqlgen/graphql/handler/extension"
	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/transport"
	"biztraak.dev/vm/internal/transport/internal/edgetest"
	"biztraak.dev/vm/internal/transport/limits"
)

func server() *handler.Server {
	srv := edgetest.New(edgetest.Resolvers{
		Field: func(context.Context, string, map[string]any) (any, error) { return nil, nil },
	})
	srv.AddTransport(transport.POST{})
	limits.Configure(srv, limits.Default())
	srv.Use(extension.Introspection{})
	return srv
}

type answer struct {
	Data   json.RawMessage
	Errors []struct {
		Message    string
		Extensions struct{ Code string }
	}
}

// post sends one document and gives the answer and its size.
func post(t *testing.T, srv http.Handler, query string, variables map[string]any) (answer, int) {
	t.Helper()
	body, err := json.Marshal(map[string]any{"query": query, "variables": variables})
	require.NoError(t, err)
	r := httptest.NewRequest(http.MethodPost, "/graphql", strings.NewReader(string(body)))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	srv.ServeHTTP(w, r)
	var a answer
	size := w.Body.Len()
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &a))
	return a, size
}

func numbered(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

func TestHostileDocuments(t *testing.T) {
	const (
		parse      = "GRAPHQL_PARSE_FAILED"
		validation = "GRAPHQL_VALIDATION_FAILED"
		complexity = "COMPLEXITY_LIMIT_EXCEEDED"
	)
	tests := map[string]struct {
		query     string
		variables map[string]any
		code      string
	}{
		"tokens":                         {query: "{" + strings.Repeat("hello ", 15_001) + "}", code: parse},
		"braces":                         {query: strings.Repeat("{", 100_000), code: parse},
		"junk":                           {query: strings.Repeat("?!", 200_000), code: parse},
		"a name of 900 KB":               {query: "{" + strings.Repeat("x", 900_000) + "}", code: validation},
		"a nested list":                  {query: "{hello(name:" + strings.Repeat("[", 900) + strings.Repeat("]", 900) + ")}", code: validation},
		"aliases":                        {query: "{" + numbered(3700, "a%d:hello ") + "}", code: complexity},
		"aliases of the same name":       {query: "{" + strings.Repeat("a:hello ", 4900) + "}", code: complexity},
		"braces in a list":               {query: "{hello(name:" + strings.Repeat("[", 7000) + ")}", code: parse},
		"one field again and again":      {query: "{" + strings.Repeat("hello ", 14_000) + "}", code: complexity},
		"repeated in three levels":       {query: "{" + strings.Repeat("project{"+strings.Repeat("parent{"+strings.Repeat("name ", 22)+"}", 22)+"}", 22) + "}", code: complexity},
		"repeated in fragments":          {query: "{" + spread(200) + "}" + numbered(200, " fragment F%d on Query{"+strings.Repeat("hello ", 50)+"}"), code: complexity},
		"many fragments in one set":      {query: "{" + spread(1500) + "}" + numbered(1500, " fragment F%[1]d on Query{x%[1]d}"), code: complexity},
		"one spread again and again":     {query: "{hello " + strings.Repeat("...F ", 7000) + "nope} fragment F on Query{hello}", code: complexity},
		"fragments on fragments":         {query: "{...F0}" + triangle(115), code: complexity},
		"aliases in fragments":           {query: "{" + numbered(30, "p%d:project{...F}") + "} fragment F on Project{a:name b:name}", code: complexity},
		"depth":                          {query: "{project" + strings.Repeat("{parent", 900) + "{name}" + strings.Repeat("}", 901), code: complexity},
		"depth by fragments":             {query: "{project{...F0}}" + chain(20, "name"), code: complexity},
		"cost":                           {query: "{project{vms(first:100){nodes{project{vms(first:100){nodes{project{vms(first:100){nodes{id}}}}}}}}}}", code: complexity},
		"cost by variables":              {query: "query($n:Int){project{vms(first:$n){nodes{project{vms(first:$n){nodes{id tags{name}}}}}}}}", variables: map[string]any{"n": 100}, code: complexity},
		"an absurd page":                 {query: "{project{vms(first:2147483647){nodes{id}}}}", code: complexity},
		"ids":                            {query: "query($i:[ID!]!){nodes(ids:$i){id}}", variables: map[string]any{"i": manyIDs()}, code: complexity},
		"introspection many times":       {query: "{" + numbered(16, "s%d:__schema{types{name}}") + "}", code: complexity},
		"introspection in a circle":      {query: "{__schema{types{fields{type{fields{type{fields{name}}}}}}}}", code: validation},
		"a cyclic fragment":              {query: "{project{...F}} fragment F on Project{parent{...F}}", code: validation},
		"a ring of fragments":            {query: "{project{...F0}}" + chain(1000, "...F0"), code: validation},
		"errors without end":             {query: "{" + numbered(7000, "nope%d ") + "}", code: validation},
		"unused fragments":               {query: "{hello}" + numbered(2000, " fragment F%d on Query{hello}"), code: validation},
		"unused variables":               {query: "query(" + numbered(3000, "$v%d:Int ") + "){hello}", code: validation},
		"directives":                     {query: "{hello" + strings.Repeat("@skip(if:true)", 2000) + "}", code: validation},
		"operations":                     {query: numbered(3000, "query Q%d{hello}"), code: validation},
		"exponential fragments":          {query: "{project{...F0}}" + doubled(200), code: complexity},
		"no suggestions for a field":     {query: "{helo}", code: validation},
		"no suggestions for an argument": {query: "{hello(nam:1)}", code: validation},
		"no suggestions for a type":      {query: "{...on Quer{hello}}", code: validation},
		"no suggestions for leaves":      {query: "{project}", code: validation},
	}
	srv := server()
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			begin := time.Now()
			a, size := post(t, srv, test.query, test.variables)
			took := time.Since(begin)
			runtime.ReadMemStats(&after)
			allocated := after.TotalAlloc - before.TotalAlloc
			t.Logf("%v, %d KB allocated", took, allocated>>10)
			require.NotEmpty(t, a.Errors)
			require.Equal(t, test.code, a.Errors[0].Extensions.Code, a.Errors[0].Message)
			require.Nil(t, a.Data)
			require.Less(t, size, 4<<10)
			require.LessOrEqual(t, len(a.Errors), 10)
			require.Less(t, allocated, uint64(32<<20))
			for _, err := range a.Errors {
				require.NotContains(t, err.Message, "Did you mean")
			}
		})
	}
}

// chain is fragments F0 … Fn that each go one level deeper; Fn spreads end.
func chain(n int, end string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, " fragment F%d on Project{parent{...F%d}}", i, i+1)
	}
	fmt.Fprintf(&b, " fragment F%d on Project{%s}", n, end)
	return b.String()
}

// spread spreads F0 … Fn-1.
func spread(n int) string { return numbered(n, "...F%d ") }

// triangle is fragments F0 … Fn-1 that each spread all later ones.
func triangle(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, " fragment F%d on Query{hello", i)
		for j := i + 1; j < n; j++ {
			fmt.Fprintf(&b, " ...F%d", j)
		}
		b.WriteString("}")
	}
	return b.String()
}

// doubled is fragments F0 … Fn that each spread the next twice.
func doubled(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, " fragment F%d on Project{parent{...F%d} ...{parent{...F%d}}}", i, i+1, i+1)
	}
	fmt.Fprintf(&b, " fragment F%d on Project{name}", n)
	return b.String()
}

func manyIDs() []any {
	ids := make([]any, 20_000)
	for i := range ids {
		ids[i] = "x"
	}
	return ids
}
