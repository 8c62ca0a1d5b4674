package e2e_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/transport/wsclient"
)

// dial opens a WebSocket that is closed with the test.
func (s *api) dial(bearer string) *wsclient.Conn {
	s.t.Helper()
	c, err := wsclient.Dial(s.ctx, s.url, bearer)
	require.NoError(s.t, err)
	s.t.Cleanup(func() { _ = c.Close() })
	return c
}

// apiStream is a subscription under way.
type apiStream struct {
	t      *testing.T
	ctx    context.Context //nolint:containedctx // the test's own
	stream *wsclient.Stream
}

func (s *api) subscribe(c *wsclient.Conn, query string, variables object) *apiStream {
	s.t.Helper()
	stream, err := c.Subscribe(query, variables)
	require.NoError(s.t, err)
	return &apiStream{t: s.t, ctx: s.ctx, stream: stream}
}

// raw waits for the next message.
func (f *apiStream) raw() (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(f.ctx, patience)
	defer cancel()
	return f.stream.Next(ctx)
}

// next waits for the next data, which no error may come with.
func (f *apiStream) next() object {
	f.t.Helper()
	raw, err := f.raw()
	require.NoError(f.t, err)
	var out apiReply
	require.NoError(f.t, json.Unmarshal(raw, &out))
	require.Empty(f.t, out.Errors, string(raw))
	return out.Data
}

// until reads data until it fits, and answers that.
func (f *apiStream) until(fits func(object) bool) object {
	f.t.Helper()
	for {
		if d := f.next(); fits(d) {
			return d
		}
	}
}
