package operation

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

const (
	// mostTries bounds how often a step is tried before the operation fails; with
	// the back-off below that is about three minutes.
	mostTries = 8
	// mostCleanUpTries is higher: giving up leaves something behind.
	mostCleanUpTries = 20
	firstBackOff     = 500 * time.Millisecond
	longestBackOff   = time.Minute
)

// advance does one step and stores its outcome. It answers whether there is
// more to do now. ctx is the worker's; stepCtx also ends with a cancel.
func (e *Engine) advance(ctx, stepCtx context.Context, w *Work) (bool, error) {
	if w.row.Phase == Forward && w.row.CancelRequestedAt != nil {
		return e.turn(ctx, w, canceledError())
	}
	def, ok := w.handler.def(w.row.Step)
	if !ok || (w.row.Phase == Forward && w.row.Step >= len(w.handler.Steps)) {
		return false, e.finish(ctx, w)
	}
	e.probe(stepCtx, w, BeforeStep)
	result, err := e.do(stepCtx, w, def)
	e.probe(stepCtx, w, BeforeCommit)
	switch {
	case errors.Is(err, ErrFenced):
		return false, err
	case ctx.Err() != nil:
		return false, e.handBack(ctx, w, 0, w.row.Tries)
	case errors.Is(err, ErrCanceled) || errors.Is(context.Cause(stepCtx), ErrCanceled) && w.row.Phase == Forward:
		return e.canceledIn(ctx, w, result, err)
	case err != nil:
		return e.failed(ctx, w, asError(err))
	case result.Wait > 0 && w.StepAge() > def.Limit:
		return e.failed(ctx, w, &Error{
			Code: CodeTimeout, Retryable: true, Final: true,
			Message: fmt.Sprintf("the step %q was not done within %s: %s", def.Name, def.Limit, result.Detail),
		})
	case result.Wait > 0:
		return false, e.yield(ctx, w, result)
	}
	return true, e.done(ctx, w, result)
}

// do runs the step; a panic in it is a fault of ours that must not end the
// worker.
func (e *Engine) do(ctx context.Context, w *Work, def StepDef) (res Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic in step %s of %s: %v", def.Name, w.row.Kind, p)
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, min(def.Limit, time.Minute))
	defer cancel()
	return def.Do(ctx, w)
}

// canceledIn turns to the clean-up. A result that came in beside the cancel is
// stored first: what was found is true all the same.
func (e *Engine) canceledIn(ctx context.Context, w *Work, result Result, stepErr error) (bool, error) {
	if stepErr == nil && result.Wait == 0 && result.Apply != nil {
		if err := e.commit(ctx, w, result.Apply); err != nil {
			return false, err
		}
	}
	return e.turn(ctx, w, canceledError())
}

func canceledError() *Error {
	return &Error{Code: CodeCanceled, Message: "the operation was canceled", Retryable: false}
}

func asError(err error) *Error {
	var known *Error
	if errors.As(err, &known) {
		return known
	}
	return &Error{
		Code: CodeInternal, Retryable: true, Cause: err,
		Message: "something went wrong on our side; the operator finds it in the log by the operation's id",
	}
}

// done records the step and opens the next.
func (e *Engine) done(ctx context.Context, w *Work, result Result) error {
	next := w.row.Step + 1
	err := e.commit(ctx, w, func(tx *Tx) error {
		if result.Apply != nil {
			if err := result.Apply(tx); err != nil {
				return err
			}
		}
		if err := w.closeStep(tx, StepSucceeded, result.Detail); err != nil {
			return err
		}
		if err := tx.Exec(`UPDATE operation SET step = ?, tries = 0,
			steps_done = CASE phase WHEN 'FORWARD' THEN ? ELSE steps_done END WHERE id = ?`, next, next, w.row.ID).Error; err != nil {
			return err
		}
		ahead := *w
		ahead.row.Step = next
		return ahead.openStep(tx)
	})
	if err != nil {
		return fmt.Errorf("record step: %w", err)
	}
	w.row.Step, w.row.Tries = next, 0
	w.stepStarted = w.taken.Add(time.Since(w.takenLocal))
	return nil
}

func (w *Work) closeStep(tx *Tx, status StepStatus, detail string) error {
	err := tx.Exec(`UPDATE operation_step SET status = ?, finished_at = ?, detail = coalesce(nullif(?, ''), detail)
		WHERE operation_id = ? AND idx = ?`, status, tx.Now, detail, w.row.ID, w.row.Step).Error
	if err != nil {
		return fmt.Errorf("close step: %w", err)
	}
	if def, ok := w.handler.def(w.row.Step); ok {
		w.emit(tx, OperationStepMoved, string(status), def.Name)
	}
	return nil
}

// yield stores that the step waits and lets go of the operation until then.
func (e *Engine) yield(ctx context.Context, w *Work, result Result) error {
	return e.commit(ctx, w, func(tx *Tx) error {
		if result.Apply != nil {
			if err := result.Apply(tx); err != nil {
				return err
			}
		}
		// A look that worked ends a row of failures: over a long wait a few calls
		// may fail, which says nothing about the work.
		return w.requeue(tx, result.Wait, result.Detail, 0)
	})
}

// requeue makes the operation due again after the wait. A cancel that came in
// meanwhile does not wait.
func (w *Work) requeue(tx *Tx, wait time.Duration, detail string, tries int) error {
	if w.row.Phase == Forward && w.row.CancelRequestedAt != nil {
		wait = 0
	}
	if detail != "" {
		err := tx.Exec(`UPDATE operation_step SET detail = ? WHERE operation_id = ? AND idx = ?
			AND detail IS DISTINCT FROM ?`, detail, w.row.ID, w.row.Step, detail).Error
		if err != nil {
			return err
		}
	}
	tx.due = true
	return tx.Exec(`UPDATE operation SET status = 'QUEUED', session_id = NULL, attempt = attempt + 1, tries = ?,
		run_after = app_now() + make_interval(secs => ?) WHERE id = ?`, tries, wait.Seconds(), w.row.ID).Error
}

// failed tries the step again after a while, or gives up and cleans up.
func (e *Engine) failed(ctx context.Context, w *Work, failure *Error) (bool, error) {
	if failure.Cause != nil {
		e.log.WarnContext(ctx, "step failed", "operation", w.row.ID, "kind", w.row.Kind, "step", w.row.Step,
			"try", w.row.Tries+1, "error", failure)
	}
	limit := mostTries
	if w.row.Phase == Cleanup {
		limit = mostCleanUpTries
	}
	if failure.Retryable && !failure.Final && w.row.Tries+1 < limit {
		return false, e.commit(ctx, w, func(tx *Tx) error {
			return w.requeue(tx, backOff(w.row.Tries, failure.RetryAfter), failure.Message, w.row.Tries+1)
		})
	}
	if w.row.Phase == Cleanup {
		// Undoing has failed for good: say so in the step, and go on with the rest.
		return true, e.skip(ctx, w, failure)
	}
	return e.turn(ctx, w, failure)
}

func (e *Engine) skip(ctx context.Context, w *Work, failure *Error) error {
	err := e.commit(ctx, w, func(tx *Tx) error {
		if err := w.closeStep(tx, StepFailed, failure.Message); err != nil {
			return err
		}
		ahead := *w
		ahead.row.Step++
		if err := tx.Exec(`UPDATE operation SET step = step + 1, tries = 0 WHERE id = ?`, w.row.ID).Error; err != nil {
			return err
		}
		return ahead.openStep(tx)
	})
	if err != nil {
		return fmt.Errorf("leave step: %w", err)
	}
	w.row.Step++
	w.row.Tries = 0
	w.stepStarted = w.taken.Add(time.Since(w.takenLocal))
	return nil
}

// backOff doubles from half a second to a minute, with jitter, and is never
// shorter than the cloud asked for.
func backOff(tries int, asked time.Duration) time.Duration {
	d := min(firstBackOff<<min(tries, 10), longestBackOff)
	d = d/2 + rand.N(d/2+1) //nolint:gosec // jitter needs no secrecy
	return max(d, asked)
}

// turn ends the forward phase with the failure and opens the clean-up.
func (e *Engine) turn(ctx context.Context, w *Work, failure *Error) (bool, error) {
	first := len(w.handler.Steps)
	err := e.commit(ctx, w, func(tx *Tx) error {
		status := StepFailed
		if failure.Code == CodeCanceled {
			status = StepSkipped
		}
		// A cancel that came in with the last step finds no step open.
		if w.row.Step < first {
			if err := w.closeStep(tx, status, failure.Message); err != nil {
				return err
			}
		}
		if err := tx.Exec(`UPDATE operation_step SET status = 'SKIPPED' WHERE operation_id = ? AND status = 'PENDING'`,
			w.row.ID).Error; err != nil {
			return err
		}
		if err := tx.insertSteps(w.row.ID, first, Cleanup, names(w.handler.CleanUp)); err != nil {
			return err
		}
		if err := tx.Exec(`UPDATE operation SET phase = 'CLEANUP', step = ?, tries = 0, error_code = ?, error_message = ?,
			error_retryable = ? WHERE id = ?`, first, failure.Code, failure.Message, failure.Retryable, w.row.ID).Error; err != nil {
			return err
		}
		ahead := *w
		ahead.row.Step = first
		return ahead.openStep(tx)
	})
	if err != nil {
		return false, fmt.Errorf("turn to clean-up: %w", err)
	}
	w.row.Phase, w.row.Step, w.row.Tries = Cleanup, first, 0
	w.row.ErrorCode, w.row.ErrorMessage, w.row.ErrorRetryable = &failure.Code, &failure.Message, &failure.Retryable
	w.stepStarted = w.taken.Add(time.Since(w.takenLocal))
	return true, nil
}

// finish ends the operation, gives up its locks and tells.
func (e *Engine) finish(ctx context.Context, w *Work) error {
	failure := errorOf(&w.row)
	status := Succeeded
	switch {
	case failure != nil && failure.Code == CodeCanceled:
		status = Canceled
	case failure != nil:
		status = Failed
	}
	err := e.commit(ctx, w, func(tx *Tx) error {
		if err := w.handler.End(tx, w, status, failure); err != nil {
			return err
		}
		if err := tx.Exec(`UPDATE operation SET status = ?, session_id = NULL, finished_at = ? WHERE id = ?`,
			status, tx.Now, w.row.ID).Error; err != nil {
			return err
		}
		w.emit(tx, OperationFinished, string(status), "")
		return tx.release(w.row.ID)
	})
	if err != nil {
		return fmt.Errorf("finish operation: %w", err)
	}
	return nil
}

func errorOf(r *row) *Error {
	if r.ErrorCode == nil {
		return nil
	}
	return &Error{Code: *r.ErrorCode, Message: *r.ErrorMessage, Retryable: *r.ErrorRetryable}
}
