package graph

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"biztraak.dev/vm/internal/fault"
	"biztraak.dev/vm/internal/page"
	"biztraak.dev/vm/internal/syslog"
	"biztraak.dev/vm/internal/transport/wire"
)

func TestPresent(t *testing.T) {
	away := &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 5432}, Err: errors.New("refused")}
	for _, c := range []struct {
		name, code, message string
		err                 error
		logged              int
	}{
		{"a fault", "UNAUTHENTICATED", "who are you", fault.New(fault.Unauthenticated, "who are you"), 0},
		{"a fault inside", "FORBIDDEN", "no", fmt.Errorf("read: %w", fault.New(fault.TopForbidden, "no")), 0},
		{"a coded error of the edge", "GRAPHQL_PARSE_FAILED", "odd", wire.NewError(wire.ParseFailed, "odd"), 0},
		{"canceled", "UNAVAILABLE", "the request was canceled before it was finished", fmt.Errorf("read: %w", context.Canceled), 0},
		{"out of time", "UNAVAILABLE", "the request took too long; try again", context.DeadlineExceeded, 0},
		{"database away", "UNAVAILABLE", "a part of the server cannot be reached now; try again", fmt.Errorf("read: %w", away), 1},
		{"anything else", "INTERNAL", "internal error", errors.New(`ERROR: relation "x" does not exist at /srv/main.go:1`), 1},
		{"a refusal that was not mapped", "INTERNAL", "internal error", fault.Refuse(fault.NotFound, nil, "lost"), 1},
		{"located", "INTERNAL", "internal error", gqlerror.WrapPath(ast.Path{ast.PathName("a")}, errors.New("secret")), 1},
		{"shared", "INTERNAL", "internal error", &failure{cause: errors.New("secret")}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			var log bytes.Buffer
			p := presenter{log: slog.New(slog.NewTextHandler(&log, nil))}
			ctx := wire.WithRequestID(t.Context(), "r-1")
			for range 2 {
				got := p.present(ctx, c.err)
				require.Equal(t, c.message, got.Message)
				require.Equal(t, c.code, got.Extensions["code"])
				if c.code == "INTERNAL" {
					require.Equal(t, "r-1", got.Extensions["requestId"])
				}
			}
			lines := bytes.Count(log.Bytes(), []byte("\n"))
			if c.name == "shared" {
				require.Equal(t, 1, lines, "it is logged once, however many fields meet it")
				return
			}
			require.Equal(t, 2*c.logged, lines)
		})
	}
}

func TestPresentKeepsThePath(t *testing.T) {
	p := presenter{log: slog.New(slog.DiscardHandler)}
	path := ast.Path{ast.PathName("a"), ast.PathIndex(3), ast.PathName("b")}
	require.Equal(t, path, p.present(t.Context(), gqlerror.WrapPath(path, errors.New("x"))).Path)
}

func TestPanicIsMasked(t *testing.T) {
	var log bytes.Buffer
	p := presenter{log: slog.New(slog.NewTextHandler(&log, nil))}
	got := p.present(t.Context(), p.recovered(t.Context(), "boom at /srv/main.go"))
	require.Equal(t, "internal error", got.Message)
	require.Equal(t, map[string]any{"code": "INTERNAL"}, got.Extensions)
	require.Contains(t, log.String(), "boom")
	require.Contains(t, log.String(), "presenter_test.go", "the stack is logged")
	require.Equal(t, 1, bytes.Count(log.Bytes(), []byte("level=ERROR")))
}

func TestExpiredCursorTellsWhereToGoOn(t *testing.T) {
	p := presenter{log: slog.New(slog.DiscardHandler)}
	first := page.NewCursor("log", "2026-11-30", "7")
	got := p.endOf(t.Context(), fmt.Errorf("read: %w", &syslog.CursorExpiredError{First: first}))
	require.Equal(t, map[string]any{
		"code": "BAD_REQUEST", "userErrorCode": "LOG_CURSOR_EXPIRED", "firstCursor": string(first),
	}, got.Extensions)
}

func TestIntrospectionThatIsOff(t *testing.T) {
	p := presenter{log: slog.New(slog.DiscardHandler)}
	ctx := graphql.WithFieldContext(t.Context(), &graphql.FieldContext{
		Field: graphql.CollectedField{Field: &ast.Field{Name: "__schema", Alias: "s"}},
	})
	got := p.present(ctx, errors.New("introspection disabled"))
	require.Equal(t, "FORBIDDEN", got.Extensions["code"])
	require.Equal(t, ast.Path{ast.PathName("s")}, got.Path)
}
