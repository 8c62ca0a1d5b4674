package operation_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/operation"
)

// pass moves the clock as a frozen worker sees it: nobody beats meanwhile.
func (w *world) pass(d time.Duration) {
	w.t.Helper()
	w.exec("UPDATE clock_offset SET value = value + make_interval(secs => ?)", d.Seconds())
}

func TestASessionLivesByItsBeats(t *testing.T) {
	w := newWorld(t)
	for range 3 {
		w.pass(operation.LeaseTime - time.Second)
		require.NoError(t, w.writer.BeatSession(t.Context(), w.session))
	}
	w.pass(operation.LeaseTime + time.Second)
	require.ErrorIs(t, w.writer.BeatSession(t.Context(), w.session), operation.ErrSessionLost)
	require.ErrorIs(t, w.writer.BeatSession(t.Context(), w.session), operation.ErrSessionLost, "dead for good")
	require.ErrorIs(t, w.writer.BeatSession(t.Context(), "nobody"), operation.ErrSessionLost)
}

func TestForgetRemovesOldSessions(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, w.writer.OpenSession(t.Context(), "other"))
	w.pass(50 * time.Minute)
	require.NoError(t, w.writer.OpenSession(t.Context(), "young"))
	w.pass(11 * time.Minute)
	require.NoError(t, w.writer.Forget(t.Context()))
	require.Equal(t, []string{"young"}, query[[]string](w, "SELECT id FROM worker_session"))
}

// A worker that is frozen in a step for longer than its lease comes back to find
// that another has the work: what it found must not be stored.
func TestAWorkerThatLostItsLeaseStoresNothing(t *testing.T) {
	for _, c := range []struct {
		name string
		lose func(w *world)
	}{
		{"the session has expired", func(w *world) { w.pass(operation.LeaseTime + time.Second) }},
		{"the session was closed", func(w *world) { require.NoError(w.t, w.writer.CloseSession(w.t.Context(), w.session)) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			var d diary
			var w *world
			var guard, save error
			frozen := true
			w = newWorld(t, script("WORK", &d, []operation.StepDef{step("act", func(ctx context.Context, k *operation.Work) (operation.Result, error) {
				d.note("act")
				if frozen {
					frozen = false
					c.lose(w)
					got, err := w.writer.TakeOver(t.Context())
					require.NoError(t, err)
					require.Equal(t, []ident.ID{k.ID()}, got)
					guard = k.Guard(ctx)
					save = k.Save(ctx, func(*operation.Tx) error {
						d.note("saved")
						return nil
					})
				}
				return operation.Result{Apply: func(*operation.Tx) error {
					d.note("applied")
					return nil
				}}, nil
			})}, nil))
			id := w.enqueue("WORK")
			require.Equal(t, 1, w.deliver())
			require.ErrorIs(t, guard, operation.ErrFenced)
			require.ErrorIs(t, save, operation.ErrFenced)
			require.Equal(t, []string{"begin", "act"}, d.read())
			require.Equal(t, operation.Running, w.get(id).Status, "it waits for another worker")

			w.session = "another"
			require.NoError(t, w.writer.OpenSession(t.Context(), w.session))
			require.Equal(t, operation.Succeeded, w.finish(id).Status)
			require.Equal(t, []string{"begin", "act", "act", "applied", "end SUCCEEDED"}, d.read())
			require.Equal(t, []string{
				"OPERATION_QUEUED QUEUED", "OPERATION_STARTED RUNNING", "OPERATION_STEP act RUNNING",
				"OPERATION_STEP act SUCCEEDED", "OPERATION_FINISHED SUCCEEDED",
			}, w.told(id), "it began once for those who watch")
		})
	}
}

func TestTakeOverLeavesTheLivingAlone(t *testing.T) {
	var d diary
	w := newWorld(t, script("WORK", &d, []operation.StepDef{quick(&d, "act")}, nil))
	w.engine = w.newEngine(func(ctx context.Context, _ operation.Kind, _ string, at operation.Point) {
		if at == operation.BeforeStep {
			w.pass(operation.LeaseTime - time.Second)
			got, err := w.writer.TakeOver(ctx)
			require.NoError(t, err)
			require.Empty(t, got)
		}
	})
	require.Equal(t, operation.Succeeded, w.finish(w.enqueue("WORK")).Status)
}

func TestADeadSessionTakesNoWork(t *testing.T) {
	var d diary
	w := newWorld(t, script("WORK", &d, []operation.StepDef{quick(&d, "act")}, nil))
	id := w.enqueue("WORK")
	w.pass(operation.LeaseTime + time.Second)
	require.Equal(t, 1, w.deliver())
	require.Empty(t, d.read())
	require.Equal(t, operation.Queued, w.get(id).Status)
}

// Another worker is in the middle of the work when the first wakes up: the row
// is RUNNING, but not for the first.
func TestTwoWorkersThinkItIsTheirs(t *testing.T) {
	var d diary
	var w *world
	var guard error
	lives := 0
	begun, goOn, second := make(chan struct{}), make(chan struct{}), make(chan struct{})
	w = newWorld(t, script("WORK", &d, []operation.StepDef{step("act", func(ctx context.Context, k *operation.Work) (operation.Result, error) {
		lives++
		life := lives
		if life == 1 {
			require.NoError(t, w.writer.CloseSession(ctx, w.session))
			_, err := w.writer.TakeOver(ctx)
			require.NoError(t, err)
			require.NoError(t, w.writer.OpenSession(ctx, "another"))
			due := w.takeDue(1)
			go func() {
				defer close(second)
				w.engine.Run(t.Context(), "another", due[0].ID, due[0].Attempt)
			}()
			<-begun
			// The first worker's session may even be there again.
			w.exec("UPDATE worker_session SET expires_at = app_now() + interval '1 minute'")
			guard = k.Guard(ctx)
		} else {
			close(begun)
			<-goOn
		}
		return operation.Result{Apply: func(*operation.Tx) error {
			d.note("applied %d", life)
			return nil
		}}, nil
	})}, nil))
	id := w.enqueue("WORK")
	w.deliver()
	require.ErrorIs(t, guard, operation.ErrFenced)
	require.Equal(t, []string{"begin"}, d.read(), "the first stores nothing")
	close(goOn)
	<-second
	require.Equal(t, []string{"begin", "applied 2", "end SUCCEEDED"}, d.read())
	require.Equal(t, operation.Succeeded, w.get(id).Status)
}
