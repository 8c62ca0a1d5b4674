package wire_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"biztraak.dev/vm/internal/fault"
	"biztraak.dev/vm/internal/transport/wire"
)

func repeat(n int, err *gqlerror.Error) gqlerror.List {
	list := make(gqlerror.List, n)
	for i := range list {
		list[i] = err
	}
	return list
}

func TestBound(t *testing.T) {
	small := wire.NewError(fault.BadRequest, "no")
	longPath := ast.Path{}
	for range 1000 {
		longPath = append(longPath, ast.PathName("field"), ast.PathIndex(1))
	}
	tests := map[string]struct {
		list gqlerror.List
		left int
	}{
		"none":                    {nil, 0},
		"nil among them":          {gqlerror.List{nil, small}, 1},
		"one":                     {repeat(1, small), 1},
		"a hundred small ones":    {repeat(100, small), wire.MaxErrors},
		"long messages":           {repeat(100, &gqlerror.Error{Message: strings.Repeat("x", 10<<10)}), 9},
		"messages that escape":    {repeat(100, &gqlerror.Error{Message: strings.Repeat("\x00<", 10<<10)}), 2},
		"one that escapes":        {repeat(1, &gqlerror.Error{Message: strings.Repeat("<", 10<<10)}), 1},
		"not UTF-8":               {repeat(1, &gqlerror.Error{Message: strings.Repeat("ü\xff", 1<<10)}), 1},
		"long paths":              {repeat(100, &gqlerror.Error{Message: "x", Path: longPath}), wire.MaxErrors},
		"many locations":          {repeat(100, &gqlerror.Error{Message: "x", Locations: make([]gqlerror.Location, 5000)}), wire.MaxErrors},
		"large extensions":        {repeat(100, &gqlerror.Error{Message: "x", Extensions: map[string]any{"code": "C", "x": strings.Repeat("x", 10<<10)}}), wire.MaxErrors},
		"extensions without JSON": {repeat(1, &gqlerror.Error{Message: "x", Extensions: map[string]any{"code": "C", "x": func() {}}}), 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			bounded := wire.Bound(test.list)
			require.Len(t, bounded, test.left)
			encoded, err := json.Marshal(bounded)
			require.NoError(t, err)
			require.Less(t, len(encoded), 3900)
			for _, err := range bounded {
				require.NotEmpty(t, err.Message)
				if err.Extensions != nil {
					require.Contains(t, []fault.Top{"C", fault.BadRequest}, wire.CodeOf(err))
				}
			}
		})
	}
}

func TestBoundCutsBetweenCharacters(t *testing.T) {
	for _, letter := range []string{"x", "ü", "€", "🙂"} {
		given := &gqlerror.Error{Message: strings.Repeat(letter, 1000)}
		message := wire.Bound(gqlerror.List{given})[0].Message
		require.Equal(t, strings.Repeat(letter, 300/len(letter))+"…", message)
		require.Len(t, given.Message, 1000*len(letter), "the given error is not changed")
	}
}

func TestAppendResponse(t *testing.T) {
	failed := gqlerror.List{{Message: "no"}}
	tests := map[string]struct {
		resp graphql.Response
		want string
	}{
		"data":            {graphql.Response{Data: []byte(`{"a":1}`)}, `{"data":{"a":1}}`},
		"data and errors": {graphql.Response{Data: []byte(`{"a":null}`), Errors: failed}, `{"errors":[{"message":"no"}],"data":{"a":null}}`},
		"null and errors": {graphql.Response{Data: []byte(`null`), Errors: failed}, `{"errors":[{"message":"no"}],"data":null}`},
		"a refusal":       {graphql.Response{Errors: failed}, `{"errors":[{"message":"no"}]}`},
		"nothing":         {graphql.Response{}, `{"data":null}`},
		"extensions":      {graphql.Response{Data: []byte(`{}`), Extensions: map[string]any{"x": 1}}, `{"data":{},"extensions":{"x":1}}`},
		"a refusal with extensions": {graphql.Response{Errors: failed, Extensions: map[string]any{"x": 1}},
			`{"errors":[{"message":"no"}],"extensions":{"x":1}}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := wire.AppendResponse([]byte("before "), &test.resp)
			require.NoError(t, err)
			require.Equal(t, "before "+test.want, string(got))
		})
	}
	t.Run("an execution keeps all its errors", func(t *testing.T) {
		got, err := wire.AppendResponse(nil, &graphql.Response{Data: []byte(`{}`), Errors: repeat(100, failed[0])})
		require.NoError(t, err)
		require.Equal(t, 100, strings.Count(string(got), "message"))
	})
	t.Run("extensions that are no JSON", func(t *testing.T) {
		_, err := wire.AppendResponse(nil, &graphql.Response{Extensions: map[string]any{"x": func() {}}})
		require.Error(t, err)
	})
}

func TestNumbersSurvive(t *testing.T) {
	params, refused := wire.DecodeParams([]byte(`{"query":"{x}","variables":{"n":9007199254740993}}`))
	require.Nil(t, refused)
	require.Equal(t, json.Number("9007199254740993"), params.Variables["n"])
}

func TestRefusalsOfParametersQuoteNothing(t *testing.T) {
	for _, raw := range []string{`{"query":"secret`, `"secret"`, `{"secret"}`, `{"query":"{x}","variables":"secret"}`, `{"query":"{x}"} secret`} {
		_, refused := wire.DecodeParams([]byte(raw))
		require.NotNil(t, refused, raw)
		require.Equal(t, fault.BadRequest, wire.CodeOf(refused))
		require.NotContains(t, refused.Message, "secret")
	}
}

func TestRequestID(t *testing.T) {
	require.Empty(t, wire.RequestID(context.Background()))
	require.Equal(t, "a", wire.RequestID(wire.WithRequestID(context.Background(), "a")))
}
