package operation_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/operation"
)

func TestAnOperationTellsItsWholeStory(t *testing.T) {
	var d diary
	w := newWorld(t, script("WORK", &d, []operation.StepDef{quick(&d, "make"), quick(&d, "check")}, []operation.StepDef{quick(&d, "undo")}))
	id := w.enqueue("WORK")
	before := w.get(id)
	require.Equal(t, operation.Queued, before.Status)
	require.Nil(t, before.StartedAt)
	require.Zero(t, before.Progress())
	after := w.finish(id)
	require.Equal(t, []string{"begin", "make", "check", "end SUCCEEDED"}, d.read())
	require.Equal(t, []string{
		"OPERATION_QUEUED QUEUED", "OPERATION_STARTED RUNNING",
		"OPERATION_STEP make RUNNING", "OPERATION_STEP make SUCCEEDED",
		"OPERATION_STEP check RUNNING", "OPERATION_STEP check SUCCEEDED",
		"OPERATION_FINISHED SUCCEEDED",
	}, w.told(id))
	require.Equal(t, []string{"make SUCCEEDED", "check SUCCEEDED"}, w.steps(id))
	require.Equal(t, 1, after.Attempt)
	require.Equal(t, 2, after.StepsDone)
	require.InDelta(t, 1, after.Progress(), 0)
	require.NotNil(t, after.FinishedAt)
	require.False(t, after.Cancelable)
	require.Empty(t, w.holders(w.target))
}

// failing fails as often as it is told, and then is done.
func failing(d *diary, name string, times int, failure error) operation.StepDef {
	return step(name, func(context.Context, *operation.Work) (operation.Result, error) {
		d.note("%s", name)
		if times--; times >= 0 {
			return operation.Result{}, failure
		}
		return operation.Result{}, nil
	})
}

func TestStepsThatFail(t *testing.T) {
	passing := &operation.Error{Code: operation.CodeProviderBusy, Message: "busy", Retryable: true}
	for _, c := range []struct {
		name    string
		times   int
		failure error
		status  operation.Status
		code    operation.ErrorCode
		tries   int // how often the step runs
		retry   bool
	}{
		{"once, and then it works", 1, passing, operation.Succeeded, "", 2, false},
		{"up to the last try", operation.MostTries - 1, passing, operation.Succeeded, "", operation.MostTries, false},
		{"once too often", operation.MostTries, passing, operation.Failed, operation.CodeProviderBusy, operation.MostTries, true},
		{"for good", 1, &operation.Error{Code: operation.CodeInstanceNotFound, Message: "gone"}, operation.Failed, operation.CodeInstanceNotFound, 1, false},
		{"finally, but a person may retry", 1, &operation.Error{Code: operation.CodeCapacity, Message: "full", Retryable: true, Final: true},
			operation.Failed, operation.CodeCapacity, 1, true},
		{"by a fault of ours", 100, errors.New("nil map"), operation.Failed, operation.CodeInternal, operation.MostTries, true},
		{"wrapped", 1, fmt.Errorf("create: %w", &operation.Error{Code: operation.CodeQuota, Message: "quota"}), operation.Failed, operation.CodeQuota, 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var d diary
			w := newWorld(t, script("WORK", &d,
				[]operation.StepDef{failing(&d, "make", c.times, c.failure), quick(&d, "check")}, []operation.StepDef{quick(&d, "undo")}))
			o := w.finish(w.enqueue("WORK"))
			require.Equal(t, c.status, o.Status)
			want := []string{"begin"}
			for range c.tries {
				want = append(want, "make")
			}
			events := []string{"OPERATION_QUEUED QUEUED", "OPERATION_STARTED RUNNING", "OPERATION_STEP make RUNNING"}
			if c.status == operation.Succeeded {
				require.Nil(t, o.Error)
				require.Equal(t, append(want, "check", "end SUCCEEDED"), d.read())
				return
			}
			require.Equal(t, append(want, "undo", "end FAILED "+string(c.code)), d.read())
			require.Equal(t, c.code, o.Error.Code)
			require.Equal(t, c.retry, o.Error.Retryable)
			require.NotEmpty(t, o.Error.Message)
			require.NotContains(t, o.Error.Message, "nil map", "what is in the log is not shown")
			require.Equal(t, append(events, "OPERATION_STEP make FAILED", "OPERATION_STEP undo RUNNING",
				"OPERATION_STEP undo SUCCEEDED", "OPERATION_FINISHED FAILED"), w.told(o.ID), "a try is no event")
			require.Equal(t, []string{"make FAILED", "check SKIPPED", "undo SUCCEEDED"}, w.steps(o.ID))
		})
	}
}

func TestBackOff(t *testing.T) {
	var d diary
	w := newWorld(t, script("WORK", &d, []operation.StepDef{failing(&d, "make", 5, &operation.Error{Code: operation.CodeProviderBusy, Retryable: true})}, nil))
	id := w.enqueue("WORK")
	for n, want := range []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second} {
		require.Equal(t, 1, w.deliver())
		wait, err := w.writer.NextDue(t.Context(), time.Hour)
		require.NoError(t, err)
		require.LessOrEqual(t, wait, want, "try %d", n)
		require.Greater(t, wait, want/2-400*time.Millisecond, "try %d", n)
		require.Equal(t, n+2, w.get(id).Attempt)
		require.Equal(t, operation.Running, w.get(id).Status, "a wait is no queueing for people")
		w.later(wait)
	}
	require.Equal(t, operation.Succeeded, w.finish(id).Status)
}

func TestTheCloudsOwnWaitIsKept(t *testing.T) {
	var d diary
	w := newWorld(t, script("WORK", &d, []operation.StepDef{
		failing(&d, "make", 1, &operation.Error{Code: operation.CodeRateLimited, Retryable: true, RetryAfter: 5 * time.Minute}),
	}, nil))
	w.enqueue("WORK")
	w.deliver()
	wait, err := w.writer.NextDue(t.Context(), time.Hour)
	require.NoError(t, err)
	require.Greater(t, wait, 4*time.Minute+50*time.Second)
}

// A long wait with a failure now and then is no row of failures.
func TestFailuresBetweenLooksDoNotAddUp(t *testing.T) {
	var d diary
	looks := 0
	w := newWorld(t, script("WORK", &d, []operation.StepDef{step("wait", func(context.Context, *operation.Work) (operation.Result, error) {
		switch looks++; {
		case looks > 4*operation.MostTries:
			return operation.Result{}, nil
		case looks%2 == 0:
			return operation.Result{}, &operation.Error{Code: operation.CodeProviderError, Retryable: true}
		}
		return operation.Result{Wait: time.Second, Detail: "not yet"}, nil
	})}, nil))
	require.Equal(t, operation.Succeeded, w.finish(w.enqueue("WORK")).Status)
}

func TestAStepWaitsWithoutAWorker(t *testing.T) {
	var d diary
	ready := false
	w := newWorld(t, script("WORK", &d, []operation.StepDef{step("wait", func(context.Context, *operation.Work) (operation.Result, error) {
		d.note("look")
		if ready {
			return operation.Result{Detail: "there it is"}, nil
		}
		return operation.Result{Wait: 30 * time.Second, Detail: "not yet", Apply: func(*operation.Tx) error {
			d.note("seen")
			return nil
		}}, nil
	})}, nil))
	id := w.enqueue("WORK")
	require.Equal(t, 1, w.deliver())
	require.Zero(t, w.deliver(), "it is not due")
	require.Equal(t, operation.Running, w.get(id).Status)
	require.Equal(t, "not yet", *w.detail(id))
	w.later(31 * time.Second)
	ready = true
	require.Equal(t, 1, w.deliver())
	require.Equal(t, []string{"begin", "look", "seen", "look", "end SUCCEEDED"}, d.read())
	require.Equal(t, "there it is", *w.detail(id))
	require.Equal(t, 1, w.get(id).Attempt, "a look is no try")
}

func (w *world) detail(id ident.ID) *string {
	w.t.Helper()
	found, err := w.ops.StepsOf(w.t.Context(), []ident.ID{id})
	require.NoError(w.t, err)
	return found[0][0].Detail
}

func TestAStepThatIsNeverDoneTimesOut(t *testing.T) {
	var d diary
	endless := operation.StepDef{Name: "wait", Limit: 10 * time.Minute, Do: func(context.Context, *operation.Work) (operation.Result, error) {
		return operation.Result{Wait: time.Minute, Detail: "still booting"}, nil
	}}
	w := newWorld(t, script("WORK", &d, []operation.StepDef{quick(&d, "make"), endless}, []operation.StepDef{quick(&d, "undo")}))
	o := w.finish(w.enqueue("WORK"))
	require.Equal(t, operation.Failed, o.Status)
	require.Equal(t, operation.CodeTimeout, o.Error.Code)
	require.Contains(t, o.Error.Message, "still booting")
	took := o.FinishedAt.Sub(*o.StartedAt)
	require.Greater(t, took, 10*time.Minute)
	require.Less(t, took, 12*time.Minute)
	require.Equal(t, []string{"begin", "make", "undo", "end FAILED TIMEOUT"}, d.read())
}

func TestAPanicDoesNotEndTheWorker(t *testing.T) {
	var d diary
	w := newWorld(t, script("WORK", &d, []operation.StepDef{step("make", func(context.Context, *operation.Work) (operation.Result, error) {
		var none map[string]int
		none["x"] = 1 //nolint:staticcheck // the panic is what the test is about
		return operation.Result{}, nil
	})}, []operation.StepDef{quick(&d, "undo")}))
	o := w.finish(w.enqueue("WORK"))
	require.Equal(t, operation.CodeInternal, o.Error.Code)
	require.NotContains(t, o.Error.Message, "nil map")
	require.Equal(t, []string{"begin", "undo", "end FAILED INTERNAL"}, d.read())
}

func TestCleanUpGoesOnAfterAFailure(t *testing.T) {
	var d diary
	w := newWorld(t, script("WORK", &d,
		[]operation.StepDef{failing(&d, "make", 1, &operation.Error{Code: operation.CodeQuota, Message: "quota"})},
		[]operation.StepDef{
			failing(&d, "unplug", 1000, &operation.Error{Code: operation.CodeProviderBusy, Message: "stuck", Retryable: true}),
			quick(&d, "undo"),
		}))
	o := w.finish(w.enqueue("WORK"))
	require.Equal(t, operation.CodeQuota, o.Error.Code, "the cause, not what the clean-up met")
	require.Equal(t, []string{"make FAILED", "unplug FAILED", "undo SUCCEEDED"}, w.steps(o.ID))
	want := []string{"begin", "make"}
	for range operation.MostCleanUpTries {
		want = append(want, "unplug")
	}
	require.Equal(t, append(want, "undo", "end FAILED QUOTA"), d.read())
}

func TestAStaleDeliveryDoesNothing(t *testing.T) {
	var d diary
	w := newWorld(t, script("WORK", &d, []operation.StepDef{quick(&d, "make")}, nil))
	id := w.enqueue("WORK")
	for name, run := range map[string]struct {
		id      ident.ID
		attempt int
	}{"an old one": {id, 0}, "one to come": {id, 2}, "of what is not there": {ident.New(ident.Operation), 1}} {
		w.engine.Run(t.Context(), w.session, run.id, run.attempt)
		require.Empty(t, d.read(), name)
	}
	w.finish(id)
	done := d.read()
	w.engine.Run(t.Context(), w.session, id, 1)
	require.Equal(t, done, d.read(), "of what has ended")
}

func TestTwoHandlersOfOneKind(t *testing.T) {
	var d diary
	_, err := operation.NewRegistry(script("WORK", &d, nil, nil), script("WORK", &d, nil, nil))
	require.ErrorContains(t, err, "WORK")
}
