package transport_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/transport"
)

func TestGET(t *testing.T) {
	tests := map[string]struct {
		values  url.Values
		json    int
		newer   int
		code    string
		payload string
	}{
		"a query":               {values: url.Values{"query": {"{hello}"}}, json: 200, payload: `{"data":{"hello":"ann"}}`},
		"variables":             {values: url.Values{"query": {"query($n:Int){number(n:$n)}"}, "variables": {`{"n":5}`}}, json: 200, payload: `{"data":{"number":5}}`},
		"an operation":          {values: url.Values{"query": {"query A{hello} mutation B{set(n:1)}"}, "operationName": {"A"}}, json: 200, payload: `{"data":{"hello":"ann"}}`},
		"a mutation":            {values: url.Values{"query": {"mutation{set(n:1)}"}}, json: 405, code: "BAD_REQUEST"},
		"a mutation by name":    {values: url.Values{"query": {"query A{hello} mutation B{set(n:1)}"}, "operationName": {"B"}}, json: 405, code: "BAD_REQUEST"},
		"a subscription":        {values: url.Values{"query": {"subscription{feed}"}}, json: 400, code: "BAD_REQUEST"},
		"no query":              {values: url.Values{}, json: 400, code: "BAD_REQUEST"},
		"an empty query":        {values: url.Values{"query": {""}}, json: 400, code: "BAD_REQUEST"},
		"variables are a list":  {values: url.Values{"query": {"{hello}"}, "variables": {`[]`}}, json: 400, code: "BAD_REQUEST"},
		"variables are no JSON": {values: url.Values{"query": {"{hello}"}, "variables": {`{`}}, json: 400, code: "BAD_REQUEST"},
		"extensions are a text": {values: url.Values{"query": {"{hello}"}, "extensions": {`"x"`}}, json: 400, code: "BAD_REQUEST"},
		"a syntax error":        {values: url.Values{"query": {"{"}}, json: 200, newer: 400, code: "GRAPHQL_PARSE_FAILED"},
	}
	router := transport.NewRouter(options())
	for name, test := range tests {
		for _, accept := range []string{asJSON, asResponse} {
			t.Run(name+" as "+accept, func(t *testing.T) {
				resp := call(t, router, http.MethodGet, "/graphql?"+test.values.Encode(), "", http.Header{"Accept": {accept}})
				body := read(t, resp)
				status := test.json
				if accept == asResponse && test.newer != 0 {
					status = test.newer
				}
				require.Equal(t, status, resp.StatusCode, body)
				require.Equal(t, test.code, codeOf(t, body))
				require.Equal(t, status == http.StatusMethodNotAllowed, resp.Header.Get("Allow") != "")
				if test.payload != "" {
					require.JSONEq(t, test.payload, body)
				}
			})
		}
	}
	t.Run("a malformed query string", func(t *testing.T) {
		resp := call(t, router, http.MethodGet, "/graphql?query=%zz", "", nil)
		require.Equal(t, http.StatusBadRequest, resp.StatusCode)
	})
}
