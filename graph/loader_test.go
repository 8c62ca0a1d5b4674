package graph

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// recorder is a fetch that doubles its keys and notes what it was asked for.
type recorder struct {
	mu    sync.Mutex
	calls [][]int
	err   error
}

func (r *recorder) fetch(_ context.Context, keys []int) ([]int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, keys)
	out := make([]int, len(keys))
	for i, k := range keys {
		out[i] = 2 * k
	}
	return out, r.err
}

func TestLoaderReadsEachKeyOnceWithWhatIsExpected(t *testing.T) {
	r := &recorder{}
	l := newLoader(r.fetch, func() []int { return []int{3, 1, 4} })
	got, err := l.all(t.Context(), []int{1, 2, 1})
	require.NoError(t, err)
	require.Equal(t, []int{2, 4, 2}, got)
	got, err = l.all(t.Context(), []int{4, 3})
	require.NoError(t, err)
	require.Equal(t, []int{8, 6}, got)
	require.Equal(t, [][]int{{1, 2, 3, 4}}, r.calls)
	got, err = l.all(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, got)
	require.Len(t, r.calls, 1)
}

func TestLoaderIsReadOnceByMany(t *testing.T) {
	const readers = 50
	all := make([]int, readers)
	for i := range all {
		all[i] = i
	}
	r := &recorder{}
	l := newLoader(r.fetch, func() []int { return all })
	var done sync.WaitGroup
	for i := range readers {
		done.Go(func() {
			got, err := l.one(t.Context(), i)
			if err != nil || got != 2*i {
				t.Errorf("read %d: %d, %v", i, got, err)
			}
		})
	}
	done.Wait()
	require.Len(t, r.calls, 1)
}

func TestLoaderFailsEachReaderWithTheSameFailure(t *testing.T) {
	r := &recorder{err: errors.New("away")}
	l := newLoader(r.fetch, nil)
	_, first := l.one(t.Context(), 1)
	_, second := l.one(t.Context(), 1)
	var shared *failure
	require.ErrorAs(t, first, &shared)
	require.Same(t, first, second)
	require.ErrorIs(t, first, r.err)
}

func TestLoaderRefusesAnAnswerOfAnotherLength(t *testing.T) {
	l := newLoader(func(context.Context, []int) ([]int, error) { return []int{1}, nil }, nil)
	_, err := l.all(t.Context(), []int{1, 2})
	require.ErrorContains(t, err, "2 objects answered 1")
}

// Whoever waits for a read that panics must not wait for ever.
func TestLoaderThatPanicsLeavesNobodyWaiting(t *testing.T) {
	l := newLoader(func(context.Context, []int) ([]int, error) { panic("boom") }, func() []int { return []int{2} })
	require.Panics(t, func() { _, _ = l.one(t.Context(), 1) })
	_, err := l.one(t.Context(), 2)
	require.ErrorContains(t, err, "panicked")
}

func TestLoaderThatIsWaitedForInVain(t *testing.T) {
	begun, release := make(chan struct{}), make(chan struct{})
	l := newLoader(func(context.Context, []int) ([]int, error) {
		close(begun)
		<-release
		return []int{1}, nil
	}, nil)
	var done sync.WaitGroup
	done.Go(func() { _, _ = l.one(t.Context(), 1) })
	<-begun
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := l.one(ctx, 1)
	require.ErrorIs(t, err, context.Canceled)
	close(release)
	done.Wait()
}
