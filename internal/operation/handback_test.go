package operation_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/operation"
)

// What a stopping worker had in hand is taken up by the next one at once, and
// that is no failed try.
func TestAStoppingWorkerHandsBack(t *testing.T) {
	var d diary
	ctx, stop := context.WithCancel(t.Context())
	first := true
	w := newWorld(t, script("WORK", &d, []operation.StepDef{step("make", func(ctx context.Context, _ *operation.Work) (operation.Result, error) {
		d.note("make")
		if first {
			first = false
			stop()
			<-ctx.Done()
			return operation.Result{}, ctx.Err()
		}
		return operation.Result{}, nil
	})}, nil))
	id := w.enqueue("WORK")
	w.engine.Run(ctx, w.session, id, 1)
	o := w.get(id)
	require.Equal(t, operation.Running, o.Status)
	require.Equal(t, 1, o.Attempt)
	require.Equal(t, []operation.Delivery{{ID: id, Attempt: 2}}, w.takeDue(10))
	w.engine.Run(t.Context(), w.session, id, 2)
	require.Equal(t, []string{"begin", "make", "make", "end SUCCEEDED"}, d.read())
}

// The outcome of a step that cannot be stored now is not the end: the operation
// comes up again, from where it stood.
func TestAnOutcomeThatCannotBeStoredIsTriedAgain(t *testing.T) {
	for _, c := range []struct {
		name string
		at   string // whose transaction breaks the first time
	}{{"in a step", "step"}, {"at the end", "end"}} {
		t.Run(c.name, func(t *testing.T) {
			var d diary
			broken := map[string]bool{c.at: true}
			breakOnce := func(at string) error {
				if broken[at] {
					broken[at] = false
					return errors.New("the connection is lost")
				}
				return nil
			}
			h := script("WORK", &d, []operation.StepDef{step("make", func(context.Context, *operation.Work) (operation.Result, error) {
				d.note("make")
				return operation.Result{Apply: func(*operation.Tx) error { return breakOnce("step") }}, nil
			})}, nil)
			end := h.End
			h.End = func(tx *operation.Tx, w *operation.Work, s operation.Status, e *operation.Error) error {
				if err := breakOnce("end"); err != nil {
					return err
				}
				return end(tx, w, s, e)
			}
			w := newWorld(t, h)
			id := w.enqueue("WORK")
			w.deliver()
			require.False(t, w.get(id).Status.Ended())
			require.Zero(t, query[int](w, "SELECT count(*) FROM operation WHERE status = 'RUNNING'"), "nobody works on it")
			require.Zero(t, w.deliver(), "it waits a little")
			require.Equal(t, operation.Succeeded, w.finish(id).Status)
			require.Equal(t, []string{
				"OPERATION_QUEUED QUEUED", "OPERATION_STARTED RUNNING", "OPERATION_STEP make RUNNING",
				"OPERATION_STEP make SUCCEEDED", "OPERATION_FINISHED SUCCEEDED",
			}, w.told(id))
		})
	}
}
