package hub

import (
	"context"
	"fmt"
	"sync"
	"time"
)

const (
	// loadLimit is how many items one load asks for.
	loadLimit = 200
	// loadTimeout bounds a load, which outlives the caller that began it when
	// others wait for it too.
	loadTimeout = 10 * time.Second
	// ringIdle is how long an unused buffer is kept, maxRings how many there are.
	ringIdle = time.Minute
	maxRings = 512
)

// Ring shares the reading of feeds between the followers of a stream: the
// newest items of each stream stay in memory, and what is not there yet is read
// once, however many followers ask for it at the same moment.
//
// Items must have strictly growing numbers, and a number must become visible
// only after all lower ones: then the items after n, once read, are final.
// Items are shared between callers and must not be changed.
type Ring[T any] struct {
	load  func(ctx context.Context, stream string, after int64, limit int) ([]T, error)
	seqOf func(T) int64
	keep  int

	size     func(T) int // nil: items are not weighed
	maxBytes int

	mu    sync.Mutex
	rings map[string]*ring[T]
	swept time.Time
	loads int64
}

// ring is the buffer of one stream: all its items with base < number <= last.
type ring[T any] struct {
	set        bool // false until something was loaded
	base, last int64
	items      []T
	bytes      int
	used       time.Time

	begun   int64 // loads begun so far
	flights map[int64]*flight[T]
}

// flight is one load under way.
type flight[T any] struct {
	from    int64 // it reads what follows this number
	number  int64 // the value of begun that it got
	waiters int
	cancel  context.CancelFunc
	done    chan struct{}
	items   []T // valid after done, as is err
	err     error
}

// NewRing makes a Ring. load reads up to limit items whose number is above
// after, in order; it may be called concurrently. seqOf is the number of an
// item. keep is how many items of a stream stay in memory.
func NewRing[T any](
	load func(ctx context.Context, stream string, after int64, limit int) ([]T, error), seqOf func(T) int64, keep int,
) *Ring[T] {
	return &Ring[T]{load: load, seqOf: seqOf, keep: keep, rings: make(map[string]*ring[T])}
}

// Weigh bounds the memory of each stream in bytes too, for items of very
// different sizes. Call it before the first Next.
func (r *Ring[T]) Weigh(size func(T) int, maxBytes int) *Ring[T] {
	r.size, r.maxBytes = size, maxBytes
	return r
}

// Next gives up to limit (at least 1) of the items that follow the number after, in order.
// None means that there were none when Next was called. live says that the
// items came from the newest part of the stream, which is in memory; otherwise
// the caller is behind, or the first.
func (r *Ring[T]) Next(ctx context.Context, stream string, after int64, limit int) (items []T, live bool, err error) {
	r.mu.Lock()
	g := r.open(stream)
	begun := g.begun // a load with a higher number sees all that the caller knows of
	for {
		if g.set && g.base <= after && after < g.last {
			items = r.slice(g, after, limit)
			r.mu.Unlock()
			return items, true, nil
		}
		from := r.from(g, after)
		live = g.set && from >= g.last
		f := r.join(ctx, stream, g, from)
		r.mu.Unlock()
		select {
		case <-f.done:
		case <-ctx.Done():
		}
		r.mu.Lock()
		g.leave(f)
		if err := ctx.Err(); err != nil {
			r.mu.Unlock()
			return nil, false, err
		}
		if f.err != nil {
			r.mu.Unlock()
			return nil, false, fmt.Errorf("read feed: %w", f.err)
		}
		fresh := f.number > begun
		if items := r.above(f.items, after); len(items) > 0 || fresh && (from == after || len(f.items) == 0) {
			r.mu.Unlock()
			return items[:min(limit, len(items)):min(limit, len(items))], live, nil
		}
	}
}

// from is where a load for a caller at after begins. A caller a little beyond
// the buffer lets the buffer catch up, rather than leaving a hole behind it into
// which the other followers would fall.
func (r *Ring[T]) from(g *ring[T], after int64) int64 {
	if g.set && after > g.last && after-g.last <= int64(r.keep) {
		return g.last
	}
	return after
}

// join waits for the load from a number that is under way, or begins one.
func (r *Ring[T]) join(ctx context.Context, stream string, g *ring[T], from int64) *flight[T] {
	if f, ok := g.flights[from]; ok {
		f.waiters++
		return f
	}
	g.begun++
	r.loads++
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), loadTimeout)
	f := &flight[T]{from: from, number: g.begun, waiters: 1, cancel: cancel, done: make(chan struct{})}
	g.flights[from] = f
	go func() {
		defer cancel()
		items, err := r.load(ctx, stream, from, loadLimit)
		r.mu.Lock()
		defer r.mu.Unlock()
		f.items, f.err = items, err
		g.forget(f)
		r.grow(g, from, items)
		close(f.done)
	}()
	return f
}

// leave gives up a load that nobody waits for any more; the next caller begins
// another one instead of joining it.
func (g *ring[T]) leave(f *flight[T]) {
	if f.waiters--; f.waiters == 0 {
		g.forget(f)
		f.cancel()
	}
}

func (g *ring[T]) forget(f *flight[T]) {
	if g.flights[f.from] == f {
		delete(g.flights, f.from)
	}
}

// RingStats are figures of a Ring.
type RingStats struct {
	// Streams and Items are how many are in memory, Loads how many reads were
	// begun.
	Streams, Items int
	Loads          int64
}

// Stats reads the figures.
func (r *Ring[T]) Stats() RingStats {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := RingStats{Streams: len(r.rings), Loads: r.loads}
	for _, g := range r.rings {
		s.Items += len(g.items)
	}
	return s
}
