package transport_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"biztraak.dev/vm/internal/transport"
	"biztraak.dev/vm/internal/transport/internal/edgetest"
	"biztraak.dev/vm/internal/transport/limits"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type tokens struct{}

type userKey struct{}

func (tokens) Authenticate(_ context.Context, token string) (transport.Identity, error) {
	switch token {
	case "good":
		return transport.Identity{User: "ann", Context: func(ctx context.Context) context.Context {
			return context.WithValue(ctx, userKey{}, "ann")
		}}, nil
	case "unclear":
		return transport.Identity{}, errors.New("the database is away")
	default:
		return transport.Identity{}, transport.ErrUnauthenticated
	}
}

func resolve(ctx context.Context, name string, args map[string]any) (any, error) {
	switch name {
	case "boom":
		panic("boom")
	case "set":
		return args["n"], nil
	case "number":
		return args["n"], nil
	case "hello":
		return ctx.Value(userKey{}), nil
	}
	return nil, errors.New(name + " failed")
}

// options are those of a router over the test schema.
func options() transport.Options {
	gql := edgetest.New(edgetest.Resolvers{Field: resolve})
	gql.SetRecoverFunc(func(context.Context, any) error { return errors.New("internal system error") })
	gql.AddTransport(transport.POST{})
	gql.AddTransport(transport.GET{})
	limits.Configure(gql, limits.Default())
	return transport.Options{
		GraphQL:       gql,
		Authenticator: tokens{},
		Origins:       func(origin string) bool { return origin == "https://ours.test" },
		Log:           slog.New(slog.DiscardHandler),
	}
}

// call sends one request with a good token and gives the answer.
func call(t *testing.T, h http.Handler, method, target, body string, header http.Header) *http.Response {
	t.Helper()
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer good")
	for name, values := range header {
		r.Header.Del(name)
		for _, value := range values {
			if value != "" {
				r.Header.Add(name, value)
			}
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

// read gives the whole body, which has to be small when it is a refusal.
func read(t *testing.T, resp *http.Response) string {
	t.Helper()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return string(body)
}

// codeOf is the code of the first error of a body.
func codeOf(t *testing.T, body string) string {
	t.Helper()
	var parsed struct {
		Errors []struct {
			Message    string
			Extensions struct{ Code string }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(body), &parsed), body)
	if len(parsed.Errors) == 0 {
		return ""
	}
	require.NotEmpty(t, parsed.Errors[0].Message)
	return parsed.Errors[0].Extensions.Code
}
