package graph

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
)

// loader reads values by key for one response: each key once, and many keys at a
// time.
//
// The generated code resolves the elements of nested lists one list at a time,
// so who asks first knows only a few of the keys that will be asked for. A loader
// is therefore told where keys come from: with the first key that is missing it
// reads all that are expected. So the number of reads depends on the shape of a
// query and never on timing or on how many objects it returns.
type loader[K comparable, V any] struct {
	fetch    func(ctx context.Context, keys []K) ([]V, error)
	expected func() []K

	mu  sync.Mutex
	got map[K]*fetched[V]
}

// fetched is a value that is there once done is closed.
type fetched[V any] struct {
	done  chan struct{}
	value V
	err   error
}

// newLoader makes a loader. fetch answers one value for each key, in order;
// expected lists the keys that are likely to be asked for, nil for none.
func newLoader[K comparable, V any](fetch func(context.Context, []K) ([]V, error), expected func() []K) *loader[K, V] {
	return &loader[K, V]{fetch: fetch, expected: expected, got: map[K]*fetched[V]{}}
}

// all reads the values of the keys, in order. One error fails them all.
func (l *loader[K, V]) all(ctx context.Context, keys []K) ([]V, error) {
	found, missing := l.claim(keys)
	if len(missing) > 0 {
		l.read(ctx, missing)
	}
	out := make([]V, len(keys))
	for i, f := range found {
		select {
		case <-f.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if f.err != nil {
			return nil, f.err
		}
		out[i] = f.value
	}
	return out, nil
}

// one reads the value of a key.
func (l *loader[K, V]) one(ctx context.Context, key K) (V, error) {
	found, err := l.all(ctx, []K{key})
	if err != nil {
		var none V
		return none, err
	}
	return found[0], nil
}

// claim finds the places of the keys' values, and which of them the caller has
// to fill: those that nobody has begun to read, with what is expected.
func (l *loader[K, V]) claim(keys []K) (found []*fetched[V], missing []K) {
	l.mu.Lock()
	defer l.mu.Unlock()
	found = make([]*fetched[V], len(keys))
	for i, k := range keys {
		if l.got[k] == nil {
			l.got[k] = &fetched[V]{done: make(chan struct{})}
			missing = append(missing, k)
		}
		found[i] = l.got[k]
	}
	if len(missing) == 0 || l.expected == nil {
		return found, missing
	}
	for _, k := range l.expected() {
		if l.got[k] == nil {
			l.got[k] = &fetched[V]{done: make(chan struct{})}
			missing = append(missing, k)
		}
	}
	return found, missing
}

// read fills the places of the keys, whatever happens: others wait for them.
func (l *loader[K, V]) read(ctx context.Context, keys []K) {
	var values []V
	err := fmt.Errorf("a read of %d objects panicked", len(keys))
	defer func() {
		if err == nil && len(values) != len(keys) {
			err = fmt.Errorf("a read of %d objects answered %d", len(keys), len(values))
		}
		if err != nil {
			err = &failure{cause: err}
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		for i, k := range keys {
			f := l.got[k]
			if f.err = err; err == nil {
				f.value = values[i]
			}
			close(f.done)
		}
	}()
	values, err = l.fetch(ctx, keys)
}

// failure is an error that many fields meet; it is logged once.
type failure struct {
	cause  error
	logged atomic.Bool
}

// Error is the cause's.
func (f *failure) Error() string { return f.cause.Error() }

// Unwrap gives the cause.
func (f *failure) Unwrap() error { return f.cause }

// seen collects what a response has come across, for loaders to expect.
type seen[T any] struct {
	mu    sync.Mutex
	items []T
}

func (s *seen[T]) add(items ...T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.items = append(s.items, items...)
}

// all are the items so far.
func (s *seen[T]) all() []T {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.items)
}

// keysOf are the keys of all that was seen, without those that keyOf says are
// none.
func keysOf[T any, K comparable](s *seen[T], keyOf func(T) (K, bool)) func() []K {
	return func() []K {
		var keys []K
		for _, item := range s.all() {
			if k, ok := keyOf(item); ok {
				keys = append(keys, k)
			}
		}
		return keys
	}
}
