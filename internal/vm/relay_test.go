package vm_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// relay carries out work in goroutines, as a worker does without a queue, and
// lets time pass when nothing can be done now.
type relay struct {
	w       *world
	cancel  context.CancelFunc
	running sync.WaitGroup
	busy    atomic.Int32
	slots   chan struct{}
}

// startRelay begins to carry out work, until stop.
func (w *world) startRelay(t *testing.T) *relay {
	ctx, cancel := context.WithCancel(t.Context())
	r := &relay{w: w, cancel: cancel, slots: make(chan struct{}, 6)}
	r.running.Go(func() {
		for ctx.Err() == nil {
			if err := r.turn(ctx); err != nil && ctx.Err() == nil {
				t.Errorf("relay: %v", err)
				return
			}
		}
	})
	return r
}

func (r *relay) stop() {
	r.cancel()
	r.running.Wait()
}

func (r *relay) turn(ctx context.Context) error {
	w := r.w
	if err := w.writer.BeatSession(ctx, w.session); err != nil {
		return err
	}
	asked, err := w.writer.ToInterrupt(ctx, w.session)
	if err != nil {
		return err
	}
	w.engine.Interrupt(asked)
	due, err := w.writer.TakeDue(ctx, cap(r.slots))
	if err != nil {
		return err
	}
	for _, d := range due {
		r.slots <- struct{}{}
		r.busy.Add(1)
		r.running.Go(func() {
			w.engine.Run(ctx, w.session, d.ID, d.Attempt)
			r.busy.Add(-1)
			<-r.slots
			w.said.Announce(ctx, nil)
		})
	}
	if len(due) > 0 {
		return nil
	}
	return r.rest(ctx)
}

// rest waits for something to happen or, when nothing is under way, moves the
// clock to where the next work is due.
func (r *relay) rest(ctx context.Context) error {
	const far, tick = time.Hour, 5 * time.Millisecond
	if r.busy.Load() == 0 {
		wait, err := r.w.writer.NextDue(ctx, far)
		if err != nil {
			return err
		}
		if wait < far {
			return r.w.pass(ctx, wait)
		}
	}
	t := time.NewTimer(tick)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-r.w.said.wake:
	case <-t.C:
	}
	return nil
}

// pass moves both clocks, and keeps the worker's session alive.
func (w *world) pass(ctx context.Context, d time.Duration) error {
	err := w.db.Gorm(ctx).Exec(`WITH alive AS (
			UPDATE worker_session SET expires_at = expires_at + make_interval(secs => ?) WHERE expires_at > app_now())
		UPDATE clock_offset SET value = value + make_interval(secs => ?)`, d.Seconds(), d.Seconds()).Error
	if err != nil {
		return fmt.Errorf("move the clock: %w", err)
	}
	w.ahead.Add(int64(d))
	return nil
}
