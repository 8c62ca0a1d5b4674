package operation

import (
	"context"
	"errors"
	"time"
)

const handBackTimeout = 5 * time.Second

// handBack makes the operation due again after the wait, for whoever is there
// then. It also works when ctx has ended.
func (e *Engine) handBack(ctx context.Context, w *Work, wait time.Duration, tries int) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), handBackTimeout)
	defer cancel()
	return e.commit(ctx, w, func(tx *Tx) error { return w.requeue(tx, wait, "", tries) })
}

// letGo hands the operation back after its outcome could not be stored: a row
// that stayed RUNNING under a living session would never be taken up again. It
// tries until that works or the lease is lost, and once when the worker stops.
func (e *Engine) letGo(ctx context.Context, w *Work) {
	for tries := w.row.Tries; ; tries++ {
		wait := time.Duration(0) // stopping is no failure
		if ctx.Err() == nil {
			wait = backOff(tries, 0)
		}
		err := e.handBack(ctx, w, wait, w.row.Tries+1)
		if err == nil || errors.Is(err, ErrFenced) || ctx.Err() != nil {
			return
		}
		e.log.ErrorContext(ctx, "hand back operation", "operation", w.row.ID, "error", err)
		t := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-t.C:
		}
		t.Stop()
	}
}
