package graphqlws_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"biztraak.dev/vm/internal/transport"
	"biztraak.dev/vm/internal/transport/graphqlws"
	"biztraak.dev/vm/internal/transport/internal/edgetest"
	"biztraak.dev/vm/internal/transport/limits"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what has to come; it is reached only
// when a test fails.
const patience = 20 * time.Second

// tokens knows good tokens by their prefix.
type tokens struct{}

type userKey struct{}

func (tokens) Authenticate(_ context.Context, token string) (transport.Identity, error) {
	user, ok := strings.CutPrefix(token, "good-")
	identity := transport.Identity{
		User:    user,
		Context: func(ctx context.Context) context.Context { return context.WithValue(ctx, userKey{}, user) },
	}
	switch {
	case token == "unclear":
		return identity, errors.New("the database is away")
	case !ok:
		return identity, transport.ErrUnauthenticated
	case user == "short":
		identity.ExpiresAt = time.Now().Add(50 * time.Millisecond)
	case user == "past":
		identity.ExpiresAt = time.Now().Add(-time.Second)
	}
	return identity, nil
}

// server is a running server with its registry.
type server struct {
	url      string
	registry *graphqlws.Registry
}

func start(t *testing.T, resolvers edgetest.Resolvers, options graphqlws.Options, caps graphqlws.Caps) *server {
	t.Helper()
	if caps.ShutdownSpread == 0 {
		caps.ShutdownSpread = time.Millisecond
	}
	options.Registry = graphqlws.NewRegistry(caps)
	options.Authenticator = tokens{}
	options.Log = slog.New(slog.DiscardHandler)
	gql := edgetest.New(resolvers)
	gql.AddTransport(graphqlws.New(options))
	gql.SetRecoverFunc(func(context.Context, any) error { return errors.New("internal system error") })
	limits.Configure(gql, limits.Default())
	listener := httptest.NewServer(gql)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		require.NoError(t, options.Registry.Shutdown(ctx))
		listener.Close()
	})
	return &server{url: "ws" + strings.TrimPrefix(listener.URL, "http"), registry: options.Registry}
}

// client is one connection of a test; it reads only when asked to.
type client struct {
	t  *testing.T
	ws *websocket.Conn
}

func (s *server) dial(t *testing.T, subprotocols ...string) *client {
	t.Helper()
	dialer := websocket.Dialer{Subprotocols: subprotocols}
	ws, resp, err := dialer.Dial(s.url, nil)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	t.Cleanup(func() { _ = ws.Close() })
	return &client{t: t, ws: ws}
}

// connect dials and initializes.
func (s *server) connect(t *testing.T, user string) *client {
	t.Helper()
	c := s.dial(t, graphqlws.Subprotocol)
	c.send(`{"type":"connection_init","payload":{"authorization":"Bearer good-` + user + `"}}`)
	require.Equal(t, "connection_ack", c.read().Type)
	return c
}

func (c *client) send(text string) {
	c.t.Helper()
	require.NoError(c.t, c.ws.WriteMessage(websocket.TextMessage, []byte(text)))
}

func (c *client) subscribe(id, query string) {
	c.t.Helper()
	payload, err := json.Marshal(map[string]any{"id": id, "type": "subscribe", "payload": map[string]any{"query": query}})
	require.NoError(c.t, err)
	c.send(string(payload))
}

// received is a message of the server.
type received struct {
	ID, Type string
	Payload  json.RawMessage
}

func (c *client) next() (received, error) {
	var m received
	_ = c.ws.SetReadDeadline(time.Now().Add(patience))
	_, data, err := c.ws.ReadMessage()
	if err == nil {
		err = json.Unmarshal(data, &m)
	}
	return m, err
}

func (c *client) read() received {
	c.t.Helper()
	m, err := c.next()
	require.NoError(c.t, err)
	return m
}

// expect reads one message and compares all of it.
func (c *client) expect(kind, id, payload string) {
	c.t.Helper()
	m := c.read()
	require.Equal(c.t, kind, m.Type, "%s", m.Payload)
	require.Equal(c.t, id, m.ID)
	if payload != "" {
		require.JSONEq(c.t, payload, string(m.Payload))
	}
}

// expectError reads the error message of an operation and gives its first code.
func (c *client) expectError(id string) string {
	c.t.Helper()
	m := c.read()
	require.Equal(c.t, "error", m.Type)
	require.Equal(c.t, id, m.ID)
	var errs []struct {
		Message    string
		Extensions struct{ Code string }
	}
	require.NoError(c.t, json.Unmarshal(m.Payload, &errs))
	require.NotEmpty(c.t, errs)
	require.NotEmpty(c.t, errs[0].Message)
	return errs[0].Extensions.Code
}

// expectClose reads until the connection ends and compares the close code.
func (c *client) expectClose(code int) *websocket.CloseError {
	c.t.Helper()
	for {
		_, err := c.next()
		if err == nil {
			continue
		}
		var closed *websocket.CloseError
		require.ErrorAs(c.t, err, &closed)
		require.Equal(c.t, code, closed.Code, closed.Text)
		return closed
	}
}

// alive proves that the connection still works.
func (c *client) alive() {
	c.t.Helper()
	c.subscribe("alive", `{hello}`)
	c.expect("next", "alive", `{"data":{"hello":"hello"}}`)
	c.expect("complete", "alive", "")
}

// eventually waits for a condition, in the goroutine of the test, since some
// conditions count goroutines.
func eventually(t *testing.T, condition func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for limit := time.After(patience); !condition(); {
		select {
		case <-tick.C:
		case <-limit:
			require.FailNow(t, "the condition did not come true")
		}
	}
}

func (s *server) idle() bool { return s.registry.Stats() == graphqlws.Stats{} }

// simple resolves the fields that most tests need.
func simple() edgetest.Resolvers {
	return edgetest.Resolvers{
		Field: func(ctx context.Context, name string, _ map[string]any) (any, error) {
			switch name {
			case "wait":
				<-ctx.Done()
				return nil, ctx.Err()
			case "boom":
				panic("boom")
			case "set":
				return nil, errors.New("set failed")
			}
			return name, nil
		},
		Source: func(_ context.Context, name string, _ map[string]any) (<-chan any, error) {
			return make(chan any), nil
		},
	}
}
