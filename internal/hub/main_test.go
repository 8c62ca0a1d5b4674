package hub

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// While Redis is away go-redis dials once a second in the background, and
		// notices up to a second late that its client was closed.
		goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
}

// patience is how long a test waits for what must happen.
const patience = 10 * time.Second

// table stands for the numbers in the database.
type table struct {
	mu    sync.Mutex
	heads map[string]int64
	asked int
	err   error
}

func newTable() *table { return &table{heads: make(map[string]int64)} }

func (b *table) Heads(_ context.Context, streams []string) (map[string]int64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked++
	found := make(map[string]int64)
	for _, s := range streams {
		if head, ok := b.heads[s]; ok {
			found[s] = head
		}
	}
	return found, b.err
}

func (b *table) set(stream string, head int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.heads[stream] = max(head, b.heads[stream])
}

func newHub(t *testing.T, c Config) *Hub {
	t.Helper()
	if c.Heads == nil {
		c.Heads = newTable()
	}
	if c.Log == nil {
		c.Log = discard()
	}
	h, err := New(c)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		require.NoError(t, h.Stop(ctx))
	})
	return h
}

func started(t *testing.T, c Config) *Hub {
	t.Helper()
	h := newHub(t, c)
	require.NoError(t, h.Start(t.Context()))
	return h
}

// next waits for a wake and answers its number.
func next(t *testing.T, s *Subscription) int64 {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	w, err := s.Wait(ctx)
	require.NoError(t, err)
	require.Equal(t, s.stream, w.Stream)
	return w.Seq
}

// quiet says that there is nothing to take.
func quiet(t *testing.T, s *Subscription) {
	t.Helper()
	w, ok := s.Take()
	require.False(t, ok, "unexpected wake %v", w)
}

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }
