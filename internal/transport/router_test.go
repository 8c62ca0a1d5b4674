package transport_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/transport"
)

func TestAuthentication(t *testing.T) {
	tests := map[string]struct {
		authorization string
		status        int
		code          string
		challenge     string
	}{
		"a good token":        {"Bearer good", 200, "", ""},
		"scheme in any case":  {"bearer  good", 200, "", ""},
		"no header":           {"", 401, "UNAUTHENTICATED", `Bearer realm="graphql"`},
		"another scheme":      {"Basic good", 401, "UNAUTHENTICATED", `Bearer realm="graphql"`},
		"no token":            {"Bearer ", 401, "UNAUTHENTICATED", `Bearer realm="graphql"`},
		"two tokens":          {"Bearer good good", 401, "UNAUTHENTICATED", `Bearer realm="graphql"`},
		"a bad token":         {"Bearer bad", 401, "UNAUTHENTICATED", `Bearer realm="graphql", error="invalid_token"`},
		"nobody can tell now": {"Bearer unclear", 503, "UNAVAILABLE", ""},
	}
	router := transport.NewRouter(options())
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for _, target := range []string{http.MethodPost, http.MethodGet} {
				resp := call(t, router, target, "/graphql?query={hello}", `{"query":"{hello}"}`,
					http.Header{"Content-Type": {"application/json"}, "Authorization": {test.authorization}})
				body := read(t, resp)
				require.Equal(t, test.status, resp.StatusCode, body)
				require.Equal(t, test.code, codeOf(t, body))
				require.Equal(t, test.challenge, resp.Header.Get("WWW-Authenticate"))
			}
		})
	}
}

func TestTokensInURLsAreRefused(t *testing.T) {
	router := transport.NewRouter(options())
	for _, name := range []string{"token", "access_token", "Access_Token", "authorization"} {
		for _, upgrade := range []string{"", "websocket"} {
			resp := call(t, router, http.MethodGet, "/graphql?query={hello}&"+name+"=secret", "", http.Header{"Upgrade": {upgrade}})
			body := read(t, resp)
			require.Equal(t, http.StatusBadRequest, resp.StatusCode, name)
			require.Equal(t, "BAD_REQUEST", codeOf(t, body))
			require.NotContains(t, body, "secret")
		}
	}
}

func TestAnUpgradeHeaderDoesNotGetRoundAuthentication(t *testing.T) {
	router := transport.NewRouter(options())
	for method, upgrade := range map[string]string{http.MethodPost: "websocket", http.MethodGet: "h2c"} {
		resp := call(t, router, method, "/graphql?query={hello}", `{"query":"{hello}"}`,
			http.Header{"Content-Type": {"application/json"}, "Authorization": {""}, "Upgrade": {upgrade}, "Connection": {"upgrade"}})
		require.Equal(t, http.StatusUnauthorized, resp.StatusCode, method)
	}
	// A handshake passes without a token, and must not be run as a query.
	resp := call(t, router, http.MethodGet, "/graphql?query={hello}", "", http.Header{"Authorization": {""}, "Upgrade": {"websocket"}})
	require.NotContains(t, read(t, resp), `"hello"`)
}

func TestMethodsAndPaths(t *testing.T) {
	o := options()
	o.Playground = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	router := transport.NewRouter(o)
	tests := []struct {
		method, path string
		status       int
	}{
		{http.MethodGet, "/healthz", 200}, {http.MethodGet, "/readyz", 200},
		{http.MethodPost, "/healthz", 405}, {http.MethodGet, "/nowhere", 404},
		{http.MethodGet, "/", 418}, {http.MethodGet, "/playground/app.js", 418},
		{http.MethodPut, "/graphql", 405}, {http.MethodDelete, "/graphql", 405}, {http.MethodHead, "/graphql", 405},
		{http.MethodOptions, "/graphql", 204},
	}
	for _, test := range tests {
		resp := call(t, router, test.method, test.path, "", nil)
		require.Equal(t, test.status, resp.StatusCode, test)
		if test.status == http.StatusMethodNotAllowed {
			require.NotEmpty(t, resp.Header.Get("Allow"))
		}
		require.Equal(t, "nosniff", resp.Header.Get("X-Content-Type-Options"))
		require.Contains(t, resp.Header.Get("Content-Security-Policy"), "default-src 'none'")
	}
}

func TestReadiness(t *testing.T) {
	tests := map[string]struct {
		state  transport.Readiness
		status int
		body   string
	}{
		"ok":       {transport.Readiness{OK: true}, 200, `{"status":"ok"}`},
		"degraded": {transport.Readiness{OK: true, Body: map[string]string{"status": "degraded", "redis": "down"}}, 200, `{"status":"degraded","redis":"down"}`},
		"not":      {transport.Readiness{}, 503, `{"status":"unavailable"}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			o := options()
			o.Ready = func(context.Context) transport.Readiness { return test.state }
			resp := call(t, transport.NewRouter(o), http.MethodGet, "/readyz", "", nil)
			require.Equal(t, test.status, resp.StatusCode)
			require.JSONEq(t, test.body, read(t, resp))
		})
	}
}

func TestCORS(t *testing.T) {
	router := transport.NewRouter(options())
	preflight := http.Header{"Access-Control-Request-Method": {"POST"}, "Access-Control-Request-Headers": {"authorization,content-type"}}
	for origin, allowed := range map[string]bool{"https://ours.test": true, "https://evil.test": false} {
		t.Run(origin, func(t *testing.T) {
			want := ""
			if allowed {
				want = origin
			}
			preflight.Set("Origin", origin)
			resp := call(t, router, http.MethodOptions, "/graphql", "", preflight)
			require.Equal(t, want, resp.Header.Get("Access-Control-Allow-Origin"))
			require.Empty(t, resp.Header.Get("Access-Control-Allow-Credentials"))
			// An answer that the page has to understand is a 401 most of all.
			resp = call(t, router, http.MethodPost, "/graphql", "", http.Header{"Origin": {origin}, "Authorization": {""}})
			require.Equal(t, http.StatusUnauthorized, resp.StatusCode)
			require.Equal(t, want, resp.Header.Get("Access-Control-Allow-Origin"))
		})
	}
	resp := call(t, router, http.MethodGet, "/healthz", "", http.Header{"Origin": {"https://ours.test"}})
	require.Empty(t, resp.Header.Get("Access-Control-Allow-Origin"))
}

func TestHosts(t *testing.T) {
	o := options()
	o.Hosts = transport.LocalHosts
	router := transport.NewRouter(o)
	for host, status := range map[string]int{
		"localhost": 200, "localhost:8080": 200, "LOCALHOST:1": 200, "127.0.0.1:8080": 200, "[::1]:8080": 200, "[::1]": 200,
		"a.localhost": 200, "a.b.localhost:80": 200, "localhost.": 200,
		"evil.test": 421, "evil.test:8080": 421, "localhost.evil.test": 421, "notlocalhost": 421, "127.0.0.1.evil.test": 421, "10.0.0.1": 421, "": 421,
	} {
		r := httptest.NewRequest(http.MethodGet, "/healthz", nil)
		r.Host = host
		w := httptest.NewRecorder()
		router.ServeHTTP(w, r)
		require.Equal(t, status, w.Code, host)
	}
}

func TestRequestIDsAndTheLog(t *testing.T) {
	var log bytes.Buffer
	o := options()
	o.Log = slog.New(slog.NewTextHandler(&log, nil))
	router := transport.NewRouter(o)
	for given, kept := range map[string]bool{
		"abc-123_X.y": true, strings.Repeat("a", 64): true, strings.Repeat("a", 65): false,
		"a b": false, "a\"b": false, "": false, "ü": false,
	} {
		resp := call(t, router, http.MethodPost, "/graphql?x=in-the-url", `{"query":"{hello}"}`,
			http.Header{"Content-Type": {"application/json"}, "X-Request-Id": {given}})
		id := resp.Header.Get("X-Request-Id")
		require.NotEmpty(t, id)
		require.Equal(t, kept, id == given, given)
		require.Contains(t, log.String(), "requestId="+id)
	}
	require.Contains(t, log.String(), "path=/graphql status=200 bytes=24")
	for _, secret := range []string{"good", "hello", "in-the-url"} {
		require.NotContains(t, log.String(), secret)
	}
}

func TestPanicsAreMasked(t *testing.T) {
	var log bytes.Buffer
	o := options()
	o.Log = slog.New(slog.NewTextHandler(&log, nil))
	o.GraphQL = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(errors.New("the secret of the stack")) })
	resp := call(t, transport.NewRouter(o), http.MethodPost, "/graphql", "", nil)
	body := read(t, resp)
	require.Equal(t, http.StatusInternalServerError, resp.StatusCode)
	require.Equal(t, "INTERNAL", codeOf(t, body))
	require.Contains(t, body, resp.Header.Get("X-Request-Id"))
	require.NotContains(t, body, "secret")
	require.Contains(t, log.String(), "the secret of the stack")
}

func TestAPanicAfterHalfAnAnswerDropsTheConnection(t *testing.T) {
	o := options()
	o.GraphQL = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"data":`))
		panic("boom")
	})
	require.PanicsWithError(t, http.ErrAbortHandler.Error(), func() {
		call(t, transport.NewRouter(o), http.MethodPost, "/graphql", "", nil)
	})
}

func TestServerLimitsAreSet(t *testing.T) {
	server := transport.NewServer(http.NotFoundHandler(), slog.New(slog.DiscardHandler))
	require.Positive(t, server.ReadHeaderTimeout)
	require.Positive(t, server.ReadTimeout)
	require.Positive(t, server.IdleTimeout)
	require.Less(t, server.MaxHeaderBytes, 1<<20)
	require.Zero(t, server.WriteTimeout, "it would end slow operations and every stream")
}
