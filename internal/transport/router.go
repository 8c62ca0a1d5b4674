package transport

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/go-chi/chi/v5"
	"github.com/rs/cors"

	"biztraak.dev/vm/internal/fault"
	"biztraak.dev/vm/internal/transport/wire"
)

const (
	pathGraphQL = "/graphql"
	pathHealth  = "/healthz"
	pathReady   = "/readyz"
	// preflightAge is how many seconds a browser may keep the answer to a
	// preflight; Chromium takes no more than two hours.
	preflightAge = 7200
)

// Readiness is the answer of /readyz.
type Readiness struct {
	// OK means that requests can be served: 200, else 503.
	OK bool
	// Body is encoded as JSON; nil for {"status":"ok"} or {"status":"unavailable"}.
	Body any
}

// Options are what the router is made of.
type Options struct {
	// GraphQL serves /graphql: a gqlgen server with the transports of this
	// package and of graphqlws.
	GraphQL http.Handler
	// Authenticator checks the tokens of /graphql.
	Authenticator Authenticator
	// Origins tells which browser origins may call /graphql. The same predicate
	// has to be given to graphqlws. Nil: none but our own pages.
	Origins func(origin string) bool
	// Hosts tells which Host names are answered, without port; nil: all.
	Hosts func(host string) bool
	// Ready is asked by /readyz at each call. Nil: always ready.
	Ready func(ctx context.Context) Readiness
	// Playground serves "/" and "/playground/"; nil: no page.
	Playground http.Handler
	// Log receives the access log and panics.
	Log *slog.Logger
}

// NewRouter puts the edge together: every request gets an id, one log line,
// recovery, the Host check and security headers; /graphql also CORS and
// authentication.
func NewRouter(o Options) http.Handler {
	r := chi.NewRouter()
	r.Use(requestID, accessLog(o.Log), recoverPanics(o.Log), checkHost(o.Hosts), secureHeaders)
	r.NotFound(func(w http.ResponseWriter, _ *http.Request) {
		writeError(w, http.StatusNotFound, wire.NewError(fault.BadRequest, "there is nothing here; the API is at %s", pathGraphQL))
	})
	r.MethodNotAllowed(methodNotAllowed("GET"))
	r.Get(pathHealth, func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, map[string]string{"status": "ok"})
	})
	r.Get(pathReady, ready(o.Ready))
	r.With(crossOrigin(o.Origins), refuseURLTokens).Handle(pathGraphQL, graphQL(o))
	if o.Playground != nil {
		r.Get("/", o.Playground.ServeHTTP)
		r.Get("/playground/*", o.Playground.ServeHTTP)
	}
	return r
}

// graphQL answers the methods of the endpoint.
func graphQL(o Options) http.Handler {
	run := authenticate(o.Authenticator)(o.GraphQL)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Method {
		case http.MethodGet, http.MethodPost:
			run.ServeHTTP(w, r)
		case http.MethodOptions:
			w.Header().Set("Allow", "GET, POST, OPTIONS")
			w.WriteHeader(http.StatusNoContent)
		default:
			methodNotAllowed("GET, POST, OPTIONS")(w, r)
		}
	})
}

func methodNotAllowed(allow string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Allow", allow)
		writeError(w, http.StatusMethodNotAllowed, wire.NewError(fault.BadRequest, "the method is not allowed; use %s", allow))
	}
}

func ready(check func(context.Context) Readiness) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		state := Readiness{OK: true}
		if check != nil {
			state = check(r.Context())
		}
		status, body := http.StatusOK, state.Body
		if !state.OK {
			status = http.StatusServiceUnavailable
		}
		if body == nil {
			body = map[string]string{"status": map[bool]string{true: "ok", false: "unavailable"}[state.OK]}
		}
		writeJSON(w, status, body)
	}
}

// crossOrigin answers preflights and marks answers for the allowed origins.
// Credentials are never allowed: tokens come in a header, and there is no cookie.
func crossOrigin(allowed func(string) bool) func(http.Handler) http.Handler {
	if allowed == nil {
		allowed = func(string) bool { return false }
	}
	return cors.New(cors.Options{
		AllowOriginFunc: allowed,
		AllowedMethods:  []string{http.MethodGet, http.MethodPost},
		AllowedHeaders:  []string{"Accept", "Authorization", "Content-Type", headerRequestID},
		ExposedHeaders:  []string{headerRequestID, "Retry-After", "WWW-Authenticate"},
		MaxAge:          preflightAge,
	}).Handler
}
