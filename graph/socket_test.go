package graph_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/transport/graphqlws"
)

// socket is a WebSocket of the owner.
type socket struct {
	t  *testing.T
	ws *websocket.Conn
}

type frame struct {
	ID, Type string
	Payload  json.RawMessage
}

func (w *world) dial(token string) *socket {
	w.t.Helper()
	dialer := websocket.Dialer{Subprotocols: []string{graphqlws.Subprotocol}}
	ws, resp, err := dialer.Dial("ws"+strings.TrimPrefix(w.url, "http"), nil)
	require.NoError(w.t, err)
	require.NoError(w.t, resp.Body.Close())
	w.t.Cleanup(func() { _ = ws.Close() })
	s := &socket{t: w.t, ws: ws}
	s.send(map[string]any{"type": "connection_init", "payload": map[string]any{"authorization": "Bearer " + token}})
	require.Equal(w.t, "connection_ack", s.read().Type)
	return s
}

func (s *socket) send(v any) {
	s.t.Helper()
	require.NoError(s.t, s.ws.WriteJSON(v))
}

func (s *socket) read() frame {
	s.t.Helper()
	require.NoError(s.t, s.ws.SetReadDeadline(time.Now().Add(patience)))
	var f frame
	require.NoError(s.t, s.ws.ReadJSON(&f))
	if f.Type == "ping" {
		return s.read()
	}
	return f
}

func (s *socket) subscribe(id, query string) {
	s.t.Helper()
	s.send(map[string]any{"id": id, "type": "subscribe", "payload": map[string]any{"query": query}})
}

// next reads an event without errors.
func (s *socket) next() map[string]any {
	s.t.Helper()
	f := s.read()
	require.Equal(s.t, "next", f.Type, string(f.Payload))
	var a answer
	require.NoError(s.t, json.Unmarshal(f.Payload, &a))
	require.Empty(s.t, a.Errors)
	return a.Data
}

// failed reads the error that ends an operation and answers its extensions.
func (s *socket) failed() map[string]any {
	s.t.Helper()
	f := s.read()
	require.Equal(s.t, "error", f.Type, string(f.Payload))
	var errs []struct{ Extensions map[string]any }
	require.NoError(s.t, json.Unmarshal(f.Payload, &errs))
	return errs[0].Extensions
}
