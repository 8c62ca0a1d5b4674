package operation_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/auth"
	"biztraak.dev/vm/internal/fault"
	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/operation"
)

func (w *world) cancel(id ident.ID) error {
	_, err := w.ops.Cancel(w.as(w.who), operation.CancelInput{OperationID: id})
	return err
}

func undo(d *diary) []operation.StepDef { return []operation.StepDef{quick(d, "undo")} }

func TestCancelBeforeTheBeginning(t *testing.T) {
	var d diary
	w := newWorld(t, script("WORK", &d, []operation.StepDef{quick(&d, "make")}, undo(&d)))
	id := w.enqueue("WORK")
	taken := w.takeDue(10)
	require.NoError(t, w.cancel(id))
	require.NoError(t, w.cancel(id), "asking twice is no error")
	w.engine.Run(t.Context(), w.session, id, taken[0].Attempt)
	require.Empty(t, d.read(), "the delivery of before is stale")
	require.Equal(t, []operation.Delivery{{ID: id, Attempt: 2, Urgent: true}}, w.takeDue(10), "it hurries")
	w.engine.Run(t.Context(), w.session, id, 2)
	o := w.get(id)
	require.Equal(t, operation.Canceled, o.Status)
	require.Equal(t, operation.CodeCanceled, o.Error.Code)
	require.Equal(t, []string{"begin", "undo", "end CANCELED CANCELED"}, d.read())
	require.Equal(t, []string{"make SKIPPED", "undo SUCCEEDED"}, w.steps(id))
	require.Equal(t, []string{
		"OPERATION_QUEUED QUEUED", "OPERATION_CANCEL_REQUESTED QUEUED", "OPERATION_STARTED RUNNING", "OPERATION_STEP make RUNNING",
		"OPERATION_STEP make SKIPPED", "OPERATION_STEP undo RUNNING", "OPERATION_STEP undo SUCCEEDED", "OPERATION_FINISHED CANCELED",
	}, w.told(id))
	refused(t, w.cancel(id), fault.TooLate)
}

func TestCancelWhileItWaits(t *testing.T) {
	var d diary
	w := newWorld(t, script("WORK", &d, []operation.StepDef{step("wait", func(context.Context, *operation.Work) (operation.Result, error) {
		d.note("look")
		return operation.Result{Wait: time.Hour}, nil
	})}, undo(&d)))
	id := w.enqueue("WORK")
	w.deliver()
	require.NoError(t, w.cancel(id))
	require.Equal(t, 1, w.deliver(), "the wait is over at once")
	require.Equal(t, operation.Canceled, w.get(id).Status)
	require.Equal(t, []string{"begin", "look", "undo", "end CANCELED CANCELED"}, d.read())
}

// Whoever cancels a step that is being done is heard in three ways, all of which
// end in the clean-up.
func TestCancelDuringAStep(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(ctx context.Context, w *world, k *operation.Work) (operation.Result, error)
		want []string
	}{
		{"the step is interrupted", func(ctx context.Context, w *world, k *operation.Work) (operation.Result, error) {
			ids, err := w.writer.ToInterrupt(ctx, w.session)
			require.NoError(w.t, err)
			require.Equal(w.t, []ident.ID{k.ID()}, ids)
			w.engine.Interrupt(ids)
			<-ctx.Done()
			return operation.Result{}, ctx.Err()
		}, nil},
		{"the guard tells", func(ctx context.Context, w *world, k *operation.Work) (operation.Result, error) {
			err := k.Guard(ctx)
			require.ErrorIs(w.t, err, operation.ErrCanceled)
			return operation.Result{}, err
		}, nil},
		{"the step does not hear it and is done", func(context.Context, *world, *operation.Work) (operation.Result, error) {
			return operation.Result{}, nil
		}, nil},
		{"what was found when interrupted is stored", func(ctx context.Context, w *world, k *operation.Work) (operation.Result, error) {
			w.engine.Interrupt([]ident.ID{k.ID()})
			<-ctx.Done()
			return operation.Result{Apply: func(*operation.Tx) error {
				w.note("found")
				return nil
			}}, nil
		}, []string{"found"}},
		{"the step wants to wait", func(context.Context, *world, *operation.Work) (operation.Result, error) {
			return operation.Result{Wait: time.Hour}, nil
		}, nil},
		{"the step fails", func(context.Context, *world, *operation.Work) (operation.Result, error) {
			return operation.Result{}, &operation.Error{Code: operation.CodeProviderBusy, Retryable: true}
		}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var d diary
			var w *world
			w = newWorld(t, script("WORK", &d, []operation.StepDef{step("make", func(ctx context.Context, k *operation.Work) (operation.Result, error) {
				d.note("make")
				require.NoError(t, w.cancel(k.ID()))
				return c.do(ctx, w, k)
			}), quick(&d, "check")}, undo(&d)))
			w.note = func(s string) { d.note("%s", s) }
			id := w.enqueue("WORK")
			w.deliver()
			w.deliver()
			require.Equal(t, operation.Canceled, w.get(id).Status)
			want := append([]string{"begin", "make"}, c.want...)
			require.Equal(t, append(want, "undo", "end CANCELED CANCELED"), d.read())
		})
	}
}

// The cancel comes in with the last step: there is no step left to skip, and the
// story must not tell of one.
func TestCancelWithTheLastStep(t *testing.T) {
	var d diary
	var w *world
	w = newWorld(t, script("WORK", &d, []operation.StepDef{step("make", func(_ context.Context, k *operation.Work) (operation.Result, error) {
		require.NoError(t, w.cancel(k.ID()))
		return operation.Result{}, nil
	})}, undo(&d)))
	id := w.enqueue("WORK")
	w.deliver()
	require.Equal(t, []string{
		"OPERATION_QUEUED QUEUED", "OPERATION_STARTED RUNNING", "OPERATION_STEP make RUNNING", "OPERATION_CANCEL_REQUESTED RUNNING",
		"OPERATION_STEP make SUCCEEDED", "OPERATION_STEP undo RUNNING", "OPERATION_STEP undo SUCCEEDED", "OPERATION_FINISHED CANCELED",
	}, w.told(id))
	require.Equal(t, []string{"make SUCCEEDED", "undo SUCCEEDED"}, w.steps(id))
}

func TestCancelTooLate(t *testing.T) {
	var d diary
	firm := quick(&d, "commit")
	firm.Cancelable = false
	firm.Do = func(context.Context, *operation.Work) (operation.Result, error) {
		return operation.Result{Wait: time.Minute}, nil
	}
	w := newWorld(t, script("WORK", &d, []operation.StepDef{quick(&d, "make"), firm}, undo(&d)))
	id := w.enqueue("WORK")
	require.True(t, w.get(id).Cancelable)
	w.deliver()
	require.False(t, w.get(id).Cancelable)
	refused(t, w.cancel(id), fault.TooLate)
}

func TestTheCleanUpOfACancelIsNotInterrupted(t *testing.T) {
	var d diary
	var w *world
	w = newWorld(t, script("WORK", &d, []operation.StepDef{step("make", func(ctx context.Context, k *operation.Work) (operation.Result, error) {
		require.NoError(t, w.cancel(k.ID()))
		w.engine.Interrupt([]ident.ID{k.ID()})
		return operation.Result{}, ctx.Err()
	})}, []operation.StepDef{step("undo", func(ctx context.Context, k *operation.Work) (operation.Result, error) {
		require.True(t, k.CleaningUp())
		require.True(t, k.Canceled())
		require.NoError(t, k.Guard(ctx))
		return operation.Result{}, ctx.Err()
	})}))
	id := w.enqueue("WORK")
	require.Equal(t, 1, w.deliver())
	require.Equal(t, []string{"make SKIPPED", "undo SUCCEEDED"}, w.steps(id))
}

func (w *world) retry(who auth.Actor, id ident.ID, key *string) (*operation.Retried, error) {
	return w.ops.Retry(w.as(who), operation.RetryInput{OperationID: id, IdempotencyKey: key})
}

func TestRetryByAPerson(t *testing.T) {
	var d diary
	var retries []int
	fail := true
	h := script("WORK", &d, []operation.StepDef{quick(&d, "make"), step("check", func(_ context.Context, k *operation.Work) (operation.Result, error) {
		retries = append(retries, k.Retries())
		require.Equal(t, len(retries) == 1, k.FirstTry())
		if fail {
			return operation.Result{}, &operation.Error{Code: operation.CodeCapacity, Message: "full", Retryable: true, Final: true}
		}
		return operation.Result{}, nil
	})}, undo(&d))
	h.Retry = func(_ *operation.Tx, target ident.ID) ([]operation.Lock, error) {
		return []operation.Lock{{Resource: target, Mode: operation.Exclusive}}, nil
	}
	w := newWorld(t, h)
	id := w.enqueue("WORK")
	require.Equal(t, operation.Failed, w.finish(id).Status)
	fail = false
	got, err := w.retry(w.who, id, ptr("again"))
	require.NoError(t, err)
	require.False(t, got.Replayed)
	require.Equal(t, operation.Queued, got.Operation.Status)
	require.Nil(t, got.Operation.Error)
	require.Equal(t, []string{"make PENDING", "check PENDING"}, w.steps(id))
	require.Equal(t, []string{mark(id, true)}, w.holders(w.target))
	got, err = w.retry(w.who, id, ptr("again"))
	require.NoError(t, err)
	require.True(t, got.Replayed)

	o := w.finish(id)
	require.Equal(t, operation.Succeeded, o.Status)
	require.Equal(t, 2, o.Attempt)
	require.Equal(t, []int{0, 1}, retries)
	require.Equal(t, []string{"begin", "make", "undo", "end FAILED CAPACITY", "begin", "make", "end SUCCEEDED"}, d.read())
	refused(t, func() error { _, err := w.retry(w.who, id, nil); return err }(), fault.NotRetryable)
}

func TestWhoMaySteer(t *testing.T) {
	var d diary
	w := newWorld(t, script("WORK", &d, []operation.StepDef{failing(&d, "make", 1, &operation.Error{Code: operation.CodeQuota, Message: "quota"})}, nil))
	viewer, stranger, member := w.user("vic", auth.Viewer), w.user("sam", ""), w.user("mel", auth.Member)
	capped := w.who
	capped.Ceiling = auth.Viewer
	failed, live := w.enqueue("WORK"), ident.ID("")
	w.finish(failed)
	live = w.enqueue("WORK")
	for _, c := range []struct {
		name   string
		who    auth.Actor
		cancel fault.Code
		retry  fault.Code
	}{
		{"a stranger finds nothing", stranger, fault.NotFound, fault.NotFound},
		{"a viewer may look only", viewer, fault.Forbidden, fault.Forbidden},
		{"an owner with a token of a viewer", capped, fault.Forbidden, fault.Forbidden},
		{"a member, whom the failure stops", member, "", fault.NotRetryable},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := w.retry(c.who, failed, nil)
			refused(t, err, c.retry)
			_, err = w.ops.Cancel(w.as(c.who), operation.CancelInput{OperationID: live})
			if c.cancel == "" {
				require.NoError(t, err)
				return
			}
			refused(t, err, c.cancel)
		})
	}
	got, err := w.ops.Get(w.as(stranger), failed)
	require.NoError(t, err)
	require.Nil(t, got)
	many, err := w.ops.Many(w.as(viewer), []ident.ID{"op_none", failed})
	require.NoError(t, err)
	require.Nil(t, many[0])
	require.Equal(t, failed, many[1].ID)
	_, err = w.ops.Get(t.Context(), failed)
	require.ErrorContains(t, err, "UNAUTHENTICATED")
}
