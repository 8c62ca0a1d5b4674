package graphqlws_test

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/transport/graphqlws"
	"biztraak.dev/vm/internal/transport/internal/edgetest"
)

// flood opens subscriptions that send as fast as their peer takes.
func flood() edgetest.Resolvers {
	line := strings.Repeat("x", 256<<10)
	return sourced(func(ctx context.Context) (<-chan any, error) {
		source := make(chan any)
		go func() {
			for {
				select {
				case source <- line:
				case <-ctx.Done():
					return
				}
			}
		}()
		return source, nil
	})
}

func TestASlowReaderIsClosedAndFreed(t *testing.T) {
	s := start(t, flood(), graphqlws.Options{WriteTimeout: 50 * time.Millisecond, CloseTimeout: patience}, graphqlws.Caps{})
	c := s.connect(t, "ann")
	for i := range 5 {
		c.subscribe(fmt.Sprint(i), `subscription{feed}`)
	}
	eventually(t, func() bool { return s.registry.Stats().Operations == 5 })
	// The client reads nothing: all but the operation in the stuck write end,
	// long before the connection is given up.
	eventually(t, func() bool { return s.registry.Stats().Operations <= 1 })
	// It wakes up in time to learn why.
	c.expectClose(4499)
	eventually(t, s.idle)
}

func TestAPeerThatNeverReadsAgainIsFreed(t *testing.T) {
	s := start(t, flood(), graphqlws.Options{WriteTimeout: 50 * time.Millisecond, CloseTimeout: 50 * time.Millisecond}, graphqlws.Caps{})
	before := runtime.NumGoroutine()
	memory := heap()
	var clients []*client
	for i := range 8 {
		c := s.connect(t, fmt.Sprint(i))
		for id := range 5 {
			c.subscribe(fmt.Sprint(id), `subscription{feed}`)
		}
		clients = append(clients, c)
	}
	eventually(t, s.idle)
	eventually(t, func() bool { return runtime.NumGoroutine() <= before })
	require.Less(t, int64(heap())-int64(memory), int64(4<<20))
	runtime.KeepAlive(clients)
}

func heap() uint64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.GC() // the second empties the pools
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

func TestAVanishedPeerIsFreed(t *testing.T) {
	s := start(t, simple(), graphqlws.Options{}, graphqlws.Caps{})
	c := s.connect(t, "ann")
	c.subscribe("1", `subscription{feed}`)
	eventually(t, func() bool { return s.registry.Stats().Operations == 1 })
	require.NoError(t, c.ws.NetConn().Close())
	eventually(t, s.idle)
}

func TestACloseOfTheClientIsAnswered(t *testing.T) {
	s := start(t, simple(), graphqlws.Options{}, graphqlws.Caps{})
	c := s.connect(t, "ann")
	c.subscribe("1", `subscription{feed}`)
	require.NoError(t, c.ws.WriteMessage(websocket.CloseMessage, websocket.FormatCloseMessage(1000, "bye")))
	c.expectClose(1000)
	eventually(t, s.idle)
}

func TestGoroutinesAndShutdown(t *testing.T) {
	const connections, operations = 100, 5
	s := start(t, simple(), graphqlws.Options{}, graphqlws.Caps{PerUser: connections, ShutdownSpread: 50 * time.Millisecond})
	before := runtime.NumGoroutine()
	clients := make([]*client, connections)
	for i := range clients {
		clients[i] = s.connect(t, "ann")
	}
	eventually(t, func() bool { return runtime.NumGoroutine() <= before+connections })
	for _, c := range clients {
		for id := range operations {
			c.subscribe(fmt.Sprint(id), `subscription{feed}`)
		}
	}
	eventually(t, func() bool {
		return s.registry.Stats() == graphqlws.Stats{Connections: connections, Operations: connections * operations}
	})
	require.LessOrEqual(t, runtime.NumGoroutine(), before+connections*(1+operations)+1)

	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- s.registry.Shutdown(ctx) }()
	for _, c := range clients {
		c.expectClose(1012)
	}
	require.NoError(t, <-done)
	eventually(t, func() bool { return runtime.NumGoroutine() <= before })

	_, resp, err := (&websocket.Dialer{Subprotocols: []string{graphqlws.Subprotocol}}).Dial(s.url, nil)
	require.Error(t, err)
	require.Equal(t, http.StatusServiceUnavailable, resp.StatusCode)
	require.NotEmpty(t, resp.Header.Get("Retry-After"))
}

func TestShutdownDropsWhatDoesNotGo(t *testing.T) {
	release := make(chan struct{})
	resolvers := simple()
	resolvers.Field = func(context.Context, string, map[string]any) (any, error) { <-release; return nil, nil }
	s := start(t, resolvers, graphqlws.Options{CloseTimeout: time.Millisecond}, graphqlws.Caps{})
	c := s.connect(t, "ann")
	c.subscribe("1", `{wait}`)
	eventually(t, func() bool { return s.registry.Stats().Operations == 1 })
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, s.registry.Shutdown(ctx), context.DeadlineExceeded)
	close(release)
	eventually(t, s.idle)
}

func TestCaps(t *testing.T) {
	t.Run("of one user", func(t *testing.T) {
		s := start(t, simple(), graphqlws.Options{}, graphqlws.Caps{PerUser: 2})
		first := s.connect(t, "ann")
		s.connect(t, "ann")
		s.connect(t, "bob").alive()
		third := s.dial(t, graphqlws.Subprotocol)
		third.send(initGood)
		third.expectClose(1013)
		first.alive()
		require.NoError(t, first.ws.Close())
		eventually(t, func() bool { return s.registry.Stats().Connections == 2 })
		s.connect(t, "ann").alive()
	})
	t.Run("of the process", func(t *testing.T) {
		s := start(t, simple(), graphqlws.Options{}, graphqlws.Caps{Connections: 1})
		first := s.connect(t, "ann")
		s.dial(t, graphqlws.Subprotocol).expectClose(1013)
		first.alive()
	})
}
