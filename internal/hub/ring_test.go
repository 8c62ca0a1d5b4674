package hub

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// feed stands for a table of numbered items.
type feed struct {
	head  atomic.Int64
	loads atomic.Int64
	gate  chan struct{} // when set, a load waits for it
	err   error
}

func (f *feed) load(ctx context.Context, _ string, after int64, limit int) ([]int64, error) {
	f.loads.Add(1)
	head := f.head.Load()
	if f.gate != nil {
		select {
		case <-f.gate:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	var items []int64
	for seq := after + 1; seq <= head && len(items) < limit; seq++ {
		items = append(items, seq)
	}
	return items, f.err
}

func (f *feed) ring(keep int) *Ring[int64] {
	return NewRing(f.load, func(seq int64) int64 { return seq }, keep)
}

func upTo(from, to int64) (seqs []int64) {
	for seq := from; seq <= to; seq++ {
		seqs = append(seqs, seq)
	}
	return seqs
}

func TestRingReads(t *testing.T) {
	type read struct {
		head, after int64
		limit       int
		want        []int64
		live        bool
		loads       int64 // that this read costs
	}
	tests := []struct {
		name  string
		reads []read
	}{
		{"the first read loads, the second shares", []read{
			{head: 3, after: 0, limit: 10, want: upTo(1, 3), live: false, loads: 1},
			{head: 3, after: 0, limit: 10, want: upTo(1, 3), live: true, loads: 0},
			{head: 3, after: 1, limit: 1, want: upTo(2, 2), live: true, loads: 0},
		}},
		{"at the end it loads what is new", []read{
			{head: 3, after: 2, limit: 10, want: upTo(3, 3), live: false, loads: 1},
			{head: 3, after: 3, limit: 10, want: nil, live: true, loads: 1},
			{head: 5, after: 3, limit: 10, want: upTo(4, 5), live: true, loads: 1},
			{head: 5, after: 4, limit: 10, want: upTo(5, 5), live: true, loads: 0},
		}},
		{"who is behind reads for himself", []read{
			{head: 100, after: 90, limit: 10, want: upTo(91, 100), live: false, loads: 1},
			{head: 100, after: 20, limit: 5, want: upTo(21, 25), live: false, loads: 1},
			{head: 100, after: 95, limit: 5, want: upTo(96, 100), live: true, loads: 0},
		}},
		{"old items leave", []read{
			{head: 30, after: 0, limit: 200, want: upTo(1, 30), live: false, loads: 1},
			{head: 30, after: 19, limit: 2, want: upTo(20, 21), live: false, loads: 1},
			{head: 30, after: 20, limit: 2, want: upTo(21, 22), live: true, loads: 0},
		}},
		{"a little beyond lets the buffer catch up", []read{
			{head: 10, after: 5, limit: 10, want: upTo(6, 10), live: false, loads: 1},
			{head: 16, after: 14, limit: 10, want: upTo(15, 16), live: true, loads: 1},
			{head: 16, after: 10, limit: 10, want: upTo(11, 16), live: true, loads: 0},
		}},
		{"far beyond starts the buffer again", []read{
			{head: 10, after: 5, limit: 10, want: upTo(6, 10), live: false, loads: 1},
			{head: 1000, after: 998, limit: 10, want: upTo(999, 1000), live: true, loads: 1},
			{head: 1000, after: 998, limit: 10, want: upTo(999, 1000), live: true, loads: 0},
		}},
		{"a made-up number does no harm", []read{
			{head: 10, after: 5, limit: 10, want: upTo(6, 10), live: false, loads: 1},
			{head: 10, after: 1 << 40, limit: 10, want: nil, live: true, loads: 1},
			{head: 10, after: 15, limit: 10, want: nil, live: true, loads: 1},
			{head: 11, after: 10, limit: 10, want: upTo(11, 11), live: true, loads: 1},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := &feed{}
			r := f.ring(10)
			for i, read := range tt.reads {
				f.head.Store(read.head)
				before := f.loads.Load()
				got, live, err := r.Next(t.Context(), "s", read.after, read.limit)
				require.NoError(t, err)
				require.Equal(t, read.want, slices.Concat(got), "read %d", i)
				require.Equal(t, read.live, live, "read %d", i)
				require.Equal(t, read.loads, f.loads.Load()-before, "read %d", i)
			}
		})
	}
}

func TestRingSharesOneLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &feed{gate: make(chan struct{})}
		f.head.Store(5)
		r := f.ring(10)
		var followers sync.WaitGroup
		for range 2000 {
			followers.Go(func() {
				got, _, err := r.Next(t.Context(), "s", 2, 10)
				if err != nil || !slices.Equal(got, upTo(3, 5)) {
					t.Errorf("got %v, %v", got, err)
				}
			})
		}
		synctest.Wait()
		close(f.gate)
		followers.Wait()
		require.EqualValues(t, 1, f.loads.Load())
	})
}

// A load that began before the item was there must not be taken for an answer
// by a caller who knows of the item.
func TestRingDoesNotTrustAnEarlierLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &feed{gate: make(chan struct{})}
		r := f.ring(10)
		early := make(chan []int64, 1)
		go func() {
			got, _, _ := r.Next(t.Context(), "s", 0, 10)
			early <- got
		}()
		synctest.Wait() // the early load has looked: there is nothing
		f.head.Store(1)
		late := make(chan []int64, 1)
		go func() {
			got, _, _ := r.Next(t.Context(), "s", 0, 10)
			late <- got
		}()
		synctest.Wait()
		close(f.gate)
		require.Empty(t, <-early)
		require.Equal(t, upTo(1, 1), <-late)
	})
}

func TestRingCallerLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &feed{gate: make(chan struct{})}
		f.head.Store(1)
		r := f.ring(10)
		ctx, cancel := context.WithCancel(t.Context())
		left := make(chan error, 1)
		go func() { _, _, err := r.Next(ctx, "s", 0, 10); left <- err }()
		synctest.Wait()
		cancel()
		require.ErrorIs(t, <-left, context.Canceled)
		close(f.gate)
		got, _, err := r.Next(t.Context(), "s", 0, 10)
		require.NoError(t, err)
		require.Equal(t, upTo(1, 1), got)
	})
}

func TestRingFails(t *testing.T) {
	f := &feed{err: errors.New("no database")}
	_, _, err := f.ring(10).Next(t.Context(), "s", 0, 10)
	require.ErrorIs(t, err, f.err)
}

func TestRingMemory(t *testing.T) {
	t.Run("items of a stream", func(t *testing.T) {
		f := &feed{}
		f.head.Store(1000)
		r := f.ring(50)
		for after := int64(0); after < 1000; after += 200 {
			_, _, err := r.Next(t.Context(), "s", after, 200)
			require.NoError(t, err)
		}
		require.Equal(t, RingStats{Streams: 1, Items: 50, Loads: 5}, r.Stats())
	})
	t.Run("bytes of a stream", func(t *testing.T) {
		f := &feed{}
		f.head.Store(100)
		r := f.ring(50).Weigh(func(int64) int { return 10 }, 75)
		_, _, err := r.Next(t.Context(), "s", 0, 200)
		require.NoError(t, err)
		require.Equal(t, 7, r.Stats().Items)
		got, live, err := r.Next(t.Context(), "s", 93, 200)
		require.NoError(t, err)
		require.True(t, live)
		require.Equal(t, upTo(94, 100), got)
	})
	t.Run("unused streams", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := &feed{}
			r := f.ring(10)
			_, _, err := r.Next(t.Context(), "old", 0, 1)
			require.NoError(t, err)
			<-time.After(2 * ringIdle)
			_, _, err = r.Next(t.Context(), "new", 0, 1)
			require.NoError(t, err)
			require.Equal(t, 1, r.Stats().Streams)
		})
	})
	t.Run("many streams", func(t *testing.T) {
		f := &feed{}
		r := f.ring(10)
		for i := range maxRings + 10 {
			_, _, err := r.Next(t.Context(), string(rune('a'+i)), 0, 1)
			require.NoError(t, err)
		}
		require.Equal(t, maxRings, r.Stats().Streams)
	})
}

// Followers at random places, of random speed, while the stream grows: each sees
// every number once, in order.
func TestRingUnderLoad(t *testing.T) {
	const head = 3000
	f := &feed{}
	r := f.ring(100)
	var running sync.WaitGroup
	running.Go(func() {
		for range head {
			f.head.Add(1)
		}
	})
	for range 50 {
		running.Go(func() {
			at := rand.Int64N(head)
			for at < head {
				got, _, err := r.Next(t.Context(), "s", at, 1+rand.IntN(200))
				if err != nil || len(got) > 0 && !slices.Equal(got, upTo(at+1, at+int64(len(got)))) {
					t.Errorf("after %d: %v, %v", at, got, err)
					return
				}
				at += int64(len(got))
			}
		})
	}
	running.Wait()
}
