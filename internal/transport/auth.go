package transport

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"biztraak.dev/vm/internal/fault"
	"biztraak.dev/vm/internal/transport/wire"
)

// Identity is what a bearer token stands for.
type Identity struct {
	// Context adds the actor to the context that resolvers get.
	Context func(context.Context) context.Context
	// User groups what belongs to one person for the caps per user; opaque here.
	User string
	// ExpiresAt is when the token stops being valid; zero for never. A WebSocket
	// is closed at that time.
	ExpiresAt time.Time
}

// Authenticator turns a bearer token into an identity. For a token that is
// unknown, expired or revoked the error wraps ErrUnauthenticated; any other
// error means that it cannot tell now. It is called concurrently.
type Authenticator interface {
	Authenticate(ctx context.Context, bearer string) (Identity, error)
}

// ErrUnauthenticated is wrapped by an Authenticator's refusal of a token.
var ErrUnauthenticated = errors.New("the access token is not valid")

// Bearer takes the token out of an Authorization value, "Bearer <token>" (RFC
// 6750 2.1); the scheme is case-insensitive. It reports false for anything else.
func Bearer(authorization string) (string, bool) {
	scheme, token, ok := strings.Cut(strings.TrimSpace(authorization), " ")
	token = strings.TrimSpace(token)
	if !ok || !strings.EqualFold(scheme, "Bearer") || token == "" || strings.ContainsAny(token, " \t") {
		return "", false
	}
	return token, true
}

// authenticate lets only requests with a valid token through and gives them
// their actor. WebSocket handshakes pass: a browser cannot set a header on
// them, so the token comes in the first message.
func authenticate(a Authenticator) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if isUpgrade(r) {
				next.ServeHTTP(w, r)
				return
			}
			token, ok := Bearer(r.Header.Get("Authorization"))
			if !ok {
				challenge(w, "", "send an access token: Authorization: Bearer <token>")
				return
			}
			identity, err := a.Authenticate(r.Context(), token)
			if errors.Is(err, ErrUnauthenticated) {
				challenge(w, `, error="invalid_token"`, ErrUnauthenticated.Error()+": it is unknown, expired or revoked")
				return
			}
			if err != nil {
				w.Header().Set("Retry-After", "2")
				writeError(w, http.StatusServiceUnavailable,
					wire.NewError(fault.Unavailable, "the access token cannot be checked now; try again"))
				return
			}
			next.ServeHTTP(w, r.WithContext(identity.Apply(r.Context())))
		})
	}
}

// Apply gives ctx the actor.
func (i Identity) Apply(ctx context.Context) context.Context {
	if i.Context == nil {
		return ctx
	}
	return i.Context(ctx)
}

func challenge(w http.ResponseWriter, params, message string) {
	w.Header().Set("WWW-Authenticate", `Bearer realm="graphql"`+params)
	writeError(w, http.StatusUnauthorized, wire.NewError(fault.Unauthenticated, "%s", message))
}

// refuseURLTokens turns away requests with a token in the URL: URLs end up in
// the logs of proxies and in browser histories, so the token has to be
// considered known to others.
func refuseURLTokens(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name := range r.URL.Query() {
			switch strings.ToLower(name) {
			case "token", "access_token", "authorization":
				writeError(w, http.StatusBadRequest, wire.NewError(fault.BadRequest,
					"a URL must not hold a token; send it in the Authorization header, or in the connection_init "+
						"payload of a WebSocket, and revoke the one that was in the URL"))
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

func isUpgrade(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.EqualFold(r.Header.Get("Upgrade"), "websocket")
}
