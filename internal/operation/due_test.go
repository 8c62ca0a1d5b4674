package operation_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/operation"
)

func unlocked(n *operation.New) { n.Locks = nil }

func urgent(n *operation.New) { n.Locks, n.Urgent = nil, true }

func (w *world) takeDue(limit int) []operation.Delivery {
	w.t.Helper()
	due, err := w.writer.TakeDue(w.t.Context(), limit)
	require.NoError(w.t, err)
	return due
}

func TestFourRelaysDeliverEachOnce(t *testing.T) {
	w := newWorld(t)
	const many = 200
	for range many {
		w.enqueue("WORK", unlocked)
	}
	var mu sync.Mutex
	taken := map[ident.ID]int{}
	var relays sync.WaitGroup
	for range 4 {
		relays.Go(func() {
			for {
				due, err := w.writer.TakeDue(t.Context(), 7)
				if err != nil || len(due) == 0 {
					mu.Lock()
					defer mu.Unlock()
					require.NoError(t, err)
					return
				}
				mu.Lock()
				for _, d := range due {
					taken[d.ID]++
				}
				mu.Unlock()
			}
		})
	}
	relays.Wait()
	// A relay skips what another has locked, and may see nothing left too early.
	for _, d := range w.takeDue(many) {
		taken[d.ID]++
	}
	require.Len(t, taken, many)
	for id, n := range taken {
		require.Equal(t, 1, n, id)
	}
}

func TestADeliveryThatIsLostIsMadeAgain(t *testing.T) {
	w := newWorld(t)
	id := w.enqueue("WORK", unlocked)
	want := []operation.Delivery{{ID: id, Attempt: 1}}
	require.Equal(t, want, w.takeDue(10))
	require.Empty(t, w.takeDue(10))
	w.later(operation.RedeliverAfter - time.Second)
	require.Empty(t, w.takeDue(10), "too early")
	w.later(1100 * time.Millisecond)
	require.Equal(t, want, w.takeDue(10), "the same delivery, so that a queue that still has it drops the twin")
}

func TestWhatIsPutBackIsDueAtOnce(t *testing.T) {
	w := newWorld(t)
	w.enqueue("WORK", unlocked)
	due := w.takeDue(10)
	require.NoError(t, w.writer.PutBack(t.Context(), due))
	require.Equal(t, due, w.takeDue(10))
	stale := []operation.Delivery{{ID: due[0].ID, Attempt: 7}}
	require.NoError(t, w.writer.PutBack(t.Context(), stale))
	require.Empty(t, w.takeDue(10), "a delivery that is not the current one puts nothing back")
}

func TestUrgentWorkComesFirst(t *testing.T) {
	w := newWorld(t)
	plain := w.enqueue("WORK", unlocked)
	second := w.enqueue("WORK", unlocked)
	hot := w.enqueue("WORK", urgent)
	due := w.takeDue(2)
	require.Equal(t, operation.Delivery{ID: hot, Attempt: 1, Urgent: true}, due[0])
	require.Equal(t, plain, due[1].ID, "then the oldest")
	require.Equal(t, second, w.takeDue(2)[0].ID)
}

func TestWorkThatWaitsForALockIsNotDue(t *testing.T) {
	w := newWorld(t)
	first, second := w.enqueue("WORK"), w.enqueue("WORK")
	require.Equal(t, []operation.Delivery{{ID: first, Attempt: 1}}, w.takeDue(10))
	w.later(time.Minute)
	require.Equal(t, []operation.Delivery{{ID: first, Attempt: 1}}, w.takeDue(10), "time changes nothing")
	w.release(first)
	require.Equal(t, []operation.Delivery{{ID: second, Attempt: 1}}, w.takeDue(10))
}

func TestWorkOfTheFutureIsNotDue(t *testing.T) {
	w := newWorld(t)
	id := w.enqueue("WORK", unlocked)
	w.exec("UPDATE operation SET run_after = app_now() + interval '30 s'")
	require.Empty(t, w.takeDue(10))
	wait, err := w.writer.NextDue(t.Context(), time.Hour)
	require.NoError(t, err)
	require.InDelta(t, 30, wait.Seconds(), 5)
	wait, err = w.writer.NextDue(t.Context(), time.Second)
	require.NoError(t, err)
	require.Equal(t, time.Second, wait, "bounded")
	w.later(31 * time.Second)
	require.Equal(t, id, w.takeDue(10)[0].ID)
	wait, err = w.writer.NextDue(t.Context(), time.Minute)
	require.NoError(t, err)
	require.Equal(t, time.Minute, wait, "nothing else is to come")
}
