package hub

import (
	"slices"
	"sort"
	"time"
)

// grow adds what was loaded after a number to the buffer, when it belongs at
// its end or beyond. Without items nothing is known: the number may be made up.
func (r *Ring[T]) grow(g *ring[T], from int64, items []T) {
	if len(items) == 0 || g.set && from < g.last {
		return
	}
	if !g.set || from > g.last {
		g.set, g.base, g.items, g.bytes = true, from, nil, 0
	}
	g.items = append(g.items, items...)
	g.last = r.seqOf(items[len(items)-1])
	drop := max(0, len(g.items)-r.keep)
	if r.size != nil {
		for _, item := range items {
			g.bytes += r.size(item)
		}
		for _, item := range g.items[:drop] {
			g.bytes -= r.size(item)
		}
		for ; g.bytes > r.maxBytes && drop < len(g.items); drop++ {
			g.bytes -= r.size(g.items[drop])
		}
	}
	if drop > 0 {
		// A copy: callers hold parts of the old array, and what they no longer
		// hold is to be freed.
		g.base, g.items = r.seqOf(g.items[drop-1]), slices.Clone(g.items[drop:])
	}
}

func (r *Ring[T]) slice(g *ring[T], after int64, limit int) []T {
	items := r.above(g.items, after)
	n := min(limit, len(items))
	return items[:n:n] // the capacity keeps an append of the caller out of the buffer
}

func (r *Ring[T]) above(items []T, after int64) []T {
	return items[sort.Search(len(items), func(i int) bool { return r.seqOf(items[i]) > after }):]
}

// open finds or makes the buffer of a stream, and lets unused ones go.
func (r *Ring[T]) open(stream string) *ring[T] {
	now := time.Now()
	if now.Sub(r.swept) > ringIdle/2 {
		r.swept = now
		for name, g := range r.rings {
			if now.Sub(g.used) > ringIdle {
				delete(r.rings, name)
			}
		}
	}
	g, ok := r.rings[stream]
	if !ok {
		if len(r.rings) >= maxRings {
			r.evictOldest()
		}
		g = &ring[T]{flights: make(map[int64]*flight[T])}
		r.rings[stream] = g
	}
	g.used = now
	return g
}

func (r *Ring[T]) evictOldest() {
	var oldest string
	for name, g := range r.rings {
		if oldest == "" || g.used.Before(r.rings[oldest].used) {
			oldest = name
		}
	}
	delete(r.rings, oldest)
}
