package transport_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/transport"
	"biztraak.dev/vm/internal/transport/internal/edgetest"
)

const (
	asJSON     = "application/json; charset=utf-8"
	asResponse = "application/graphql-response+json; charset=utf-8"
)

func TestPOST(t *testing.T) {
	large := `{"query":"{hello}","x":"` + strings.Repeat("x", 1<<20) + `"}`
	tests := map[string]struct {
		body    string
		header  http.Header // beside Content-Type: application/json; "" removes
		json    int         // status with application/json
		newer   int         // status with application/graphql-response+json, when it differs
		code    string
		payload string
	}{
		"a query":                   {body: `{"query":"{hello}"}`, json: 200, payload: `{"data":{"hello":"ann"}}`},
		"a mutation":                {body: `{"query":"mutation{set(n:1)}"}`, json: 200, payload: `{"data":{"set":1}}`},
		"an operation by its name":  {body: `{"query":"query A{hello} query B{number(n:2)}","operationName":"B"}`, json: 200, payload: `{"data":{"number":2}}`},
		"null for what is optional": {body: `{"query":"{hello}","operationName":null,"variables":null,"extensions":null}`, json: 200, payload: `{"data":{"hello":"ann"}}`},
		"variables":                 {body: `{"query":"query($n:Int){number(n:$n)}","variables":{"n":3}}`, json: 200, payload: `{"data":{"number":3}}`},
		"unknown keys":              {body: `{"query":"{hello}","id":7,"extra":[]}`, json: 200, payload: `{"data":{"hello":"ann"}}`},
		"duplicate keys":            {body: `{"query":"{nope}","query":"{hello}"}`, json: 200, payload: `{"data":{"hello":"ann"}}`},
		"space around":              {body: " \r\n{\"query\":\"{hello}\"}\n", json: 200, payload: `{"data":{"hello":"ann"}}`},
		"a failing resolver":        {body: `{"query":"{wait}"}`, json: 200, payload: `{"errors":[{"message":"wait failed"}],"data":{"wait":null}}`},
		"a panicking resolver":      {body: `{"query":"{boom}"}`, json: 500, payload: `{"errors":[{"message":"internal system error"}]}`},

		"a syntax error":       {body: `{"query":"{"}`, json: 200, newer: 400, code: "GRAPHQL_PARSE_FAILED"},
		"a validation error":   {body: `{"query":"{nope}"}`, json: 200, newer: 400, code: "GRAPHQL_VALIDATION_FAILED"},
		"a wrong variable":     {body: `{"query":"query($n:Int!){number(n:$n)}","variables":{"n":"x"}}`, json: 200, newer: 400, code: "GRAPHQL_VALIDATION_FAILED"},
		"an absent variable":   {body: `{"query":"query($n:Int!){number(n:$n)}"}`, json: 200, newer: 400, code: "GRAPHQL_VALIDATION_FAILED"},
		"no such operation":    {body: `{"query":"query A{hello}","operationName":"B"}`, json: 200, newer: 400, code: "GRAPHQL_VALIDATION_FAILED"},
		"which operation":      {body: `{"query":"query A{hello} query B{hello}"}`, json: 200, newer: 400, code: "GRAPHQL_VALIDATION_FAILED"},
		"only a fragment":      {body: `{"query":"fragment F on Query{hello}"}`, json: 200, newer: 400, code: "GRAPHQL_VALIDATION_FAILED"},
		"too deep":             {body: `{"query":"{project` + strings.Repeat("{parent", 12) + `{name}` + strings.Repeat("}", 13) + `"}`, json: 200, newer: 400, code: "COMPLEXITY_LIMIT_EXCEEDED"},
		"a subscription":       {body: `{"query":"subscription{feed}"}`, json: 400, code: "BAD_REQUEST"},
		"nothing":              {body: ``, json: 400, code: "BAD_REQUEST"},
		"a batch":              {body: `[{"query":"{hello}"}]`, json: 400, code: "BAD_REQUEST"},
		"a string":             {body: `"{hello}"`, json: 400, code: "BAD_REQUEST"},
		"null":                 {body: `null`, json: 400, code: "BAD_REQUEST"},
		"half an object":       {body: `{"query":"{hello}"`, json: 400, code: "BAD_REQUEST"},
		"garbage after":        {body: `{"query":"{hello}"}x`, json: 400, code: "BAD_REQUEST"},
		"two objects":          {body: `{"query":"{hello}"}{"query":"{hello}"}`, json: 400, code: "BAD_REQUEST"},
		"invalid UTF-8":        {body: "{\"query\":\"{hello}\xff\"}", json: 400, code: "BAD_REQUEST"},
		"no query":             {body: `{"variables":{}}`, json: 400, code: "BAD_REQUEST"},
		"an empty query":       {body: `{"query":" "}`, json: 400, code: "BAD_REQUEST"},
		"query is an object":   {body: `{"query":{}}`, json: 400, code: "BAD_REQUEST"},
		"name is a number":     {body: `{"query":"{hello}","operationName":1}`, json: 400, code: "BAD_REQUEST"},
		"variables are a list": {body: `{"query":"{hello}","variables":[]}`, json: 400, code: "BAD_REQUEST"},
		"variables are a text": {body: `{"query":"{hello}","variables":"{}"}`, json: 400, code: "BAD_REQUEST"},
		"extensions are true":  {body: `{"query":"{hello}","extensions":true}`, json: 400, code: "BAD_REQUEST"},
		"too large":            {body: large, json: 413, code: "BAD_REQUEST"},
		"a form":               {body: `query={hello}`, header: http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}, json: 415, code: "BAD_REQUEST"},
		"text":                 {body: `{"query":"{hello}"}`, header: http.Header{"Content-Type": {"text/plain"}}, json: 415, code: "BAD_REQUEST"},
		"no content type":      {body: `{"query":"{hello}"}`, header: http.Header{"Content-Type": {""}}, json: 415, code: "BAD_REQUEST"},
		"another charset":      {body: `{"query":"{hello}"}`, header: http.Header{"Content-Type": {"application/json; charset=utf-16"}}, json: 415, code: "BAD_REQUEST"},
		"charset UTF-8":        {body: `{"query":"{hello}"}`, header: http.Header{"Content-Type": {"application/json; charset=UTF-8"}}, json: 200, payload: `{"data":{"hello":"ann"}}`},
		"compressed":           {body: `{"query":"{hello}"}`, header: http.Header{"Content-Encoding": {"gzip"}}, json: 415, code: "BAD_REQUEST"},
		"a junk body":          {body: strings.Repeat("junk", 200_000), json: 400, code: "BAD_REQUEST"},
	}
	router := transport.NewRouter(options())
	for name, test := range tests {
		for _, accept := range []string{asJSON, asResponse} {
			t.Run(name+" as "+strings.TrimSuffix(accept, "; charset=utf-8"), func(t *testing.T) {
				header := http.Header{"Content-Type": {"application/json"}, "Accept": {accept}}
				for key, values := range test.header {
					header[key] = values
				}
				resp := call(t, router, http.MethodPost, "/graphql", test.body, header)
				body := read(t, resp)
				status := test.json
				if accept == asResponse && test.newer != 0 {
					status = test.newer
				}
				require.Equal(t, status, resp.StatusCode, body)
				require.Equal(t, accept, resp.Header.Get("Content-Type"))
				require.Equal(t, test.code, codeOf(t, body))
				if test.payload != "" {
					require.JSONEq(t, test.payload, body)
				} else {
					require.NotContains(t, body, `"data"`)
					require.Less(t, len(body), 4<<10)
				}
			})
		}
	}
}

func TestNegotiation(t *testing.T) {
	tests := map[string]struct {
		accept []string
		want   string // "" is a 406
	}{
		"nothing said":                  {nil, asJSON},
		"empty":                         {[]string{" "}, asJSON},
		"anything":                      {[]string{"*/*"}, asJSON},
		"any application":               {[]string{"application/*"}, asJSON},
		"json":                          {[]string{"application/json"}, asJSON},
		"graphql":                       {[]string{"application/graphql-response+json"}, asResponse},
		"graphql before json":           {[]string{"application/graphql-response+json, application/json;q=0.9"}, asResponse},
		"json preferred":                {[]string{"application/graphql-response+json;q=0.5, application/json"}, asJSON},
		"both alike":                    {[]string{"application/json, application/graphql-response+json"}, asResponse},
		"graphql among wildcards":       {[]string{"application/graphql-response+json, */*"}, asResponse},
		"json among wildcards":          {[]string{"application/json, */*"}, asJSON},
		"json refused":                  {[]string{"*/*, application/json;q=0"}, asResponse},
		"a wildcard preferred to json":  {[]string{"application/json;q=0.1, */*;q=0.8"}, asResponse},
		"two headers":                   {[]string{"text/html", "application/graphql-response+json;q=0.3"}, asResponse},
		"a browser":                     {[]string{"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}, asJSON},
		"upper case and spaces":         {[]string{" Application/JSON ; Q=1.0 "}, asJSON},
		"charset utf-8":                 {[]string{"application/graphql-response+json; charset=UTF-8"}, asResponse},
		"another charset":               {[]string{"application/json; charset=iso-8859-1"}, ""},
		"html only":                     {[]string{"text/html"}, ""},
		"everything refused":            {[]string{"*/*;q=0"}, ""},
		"a quality that is no number":   {[]string{"application/json;q=x"}, ""},
		"a quality over 1":              {[]string{"application/json;q=7"}, ""},
		"a quality that is not a value": {[]string{"application/json;q=NaN"}, ""},
		"nonsense":                      {[]string{";;;,,,"}, ""},
	}
	router := transport.NewRouter(options())
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			resp := call(t, router, http.MethodPost, "/graphql", `{"query":"{hello}"}`,
				http.Header{"Content-Type": {"application/json"}, "Accept": test.accept})
			if test.want == "" {
				require.Equal(t, http.StatusNotAcceptable, resp.StatusCode)
				require.Equal(t, "BAD_REQUEST", codeOf(t, read(t, resp)))
				return
			}
			require.Equal(t, http.StatusOK, resp.StatusCode)
			require.Equal(t, test.want, resp.Header.Get("Content-Type"))
		})
	}
}

func TestASlowBodyIsGivenUp(t *testing.T) {
	gql := edgetest.New(edgetest.Resolvers{Field: resolve})
	gql.AddTransport(transport.POST{BodyTimeout: 30 * time.Millisecond})
	server := httptest.NewServer(gql)
	defer server.Close()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close()) }()
	_, err = conn.Write([]byte("POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"))
	require.NoError(t, err)
	answer := make([]byte, 64)
	_, err = conn.Read(answer)
	require.NoError(t, err)
	require.Contains(t, string(answer), "408")
}

func TestDeadlinesEndWithTheirRequest(t *testing.T) {
	// A read deadline that outlives the body would cancel a slow operation.
	release := make(chan struct{})
	gql := edgetest.New(edgetest.Resolvers{Field: func(ctx context.Context, _ string, _ map[string]any) (any, error) {
		select {
		case <-release:
			return "done", nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}})
	const timeout = 300 * time.Millisecond
	gql.AddTransport(transport.POST{BodyTimeout: timeout})
	server := httptest.NewServer(gql)
	defer server.Close()
	time.AfterFunc(2*timeout, func() { close(release) })
	client := server.Client()
	resp, err := client.Post(server.URL, "application/json", strings.NewReader(`{"query":"{wait}"}`))
	require.NoError(t, err)
	require.JSONEq(t, `{"data":{"wait":"done"}}`, read(t, resp))
	require.NoError(t, resp.Body.Close())
	client.CloseIdleConnections()
}
