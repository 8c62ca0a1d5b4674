package worker

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"biztraak.dev/vm/internal/operation"
)

const (
	// sweepAtLeast is how often due work is looked for without being notified.
	sweepAtLeast = time.Second
	relayBatch   = 200
	reconnect    = time.Second
)

// listen turns Postgres notifications into wake-ups of the relay. What it misses
// while it is away, the sweep finds.
func (w *Worker) listen(ctx context.Context) {
	for ctx.Err() == nil {
		if err := w.listenOnce(ctx); err != nil && ctx.Err() == nil {
			w.deps.Log.WarnContext(ctx, "listen for due work", "error", err)
		}
		if !pause(ctx, reconnect) {
			return
		}
	}
}

func (w *Worker) listenOnce(ctx context.Context) error {
	conn, err := pgx.ConnectConfig(ctx, w.deps.Pool.Config().ConnConfig)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if _, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{operation.DueChannel()}.Sanitize()); err != nil {
		return err
	}
	for {
		if _, err := conn.WaitForNotification(ctx); err != nil {
			return err
		}
		select {
		case w.due <- struct{}{}:
		default:
		}
	}
}

// relay carries due work to the queue, and interrupts what is to be canceled.
func (w *Worker) relay(ctx context.Context) {
	for {
		busy, err := w.relayOnce(ctx)
		if err != nil && ctx.Err() == nil {
			w.deps.Log.WarnContext(ctx, "relay due work", "error", err)
		}
		wait := sweepAtLeast
		if err == nil && !busy {
			if wait, err = w.deps.Writer.NextDue(ctx, sweepAtLeast); err != nil {
				wait = sweepAtLeast
			}
		}
		if busy && err == nil {
			continue
		}
		t := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			t.Stop()
			return
		case <-w.due:
			t.Stop()
		case <-t.C:
		}
	}
}

// relayOnce carries one batch, and says whether there may be more.
func (w *Worker) relayOnce(ctx context.Context) (bool, error) {
	ids, err := w.deps.Writer.ToInterrupt(ctx, w.sessions.current().id)
	if err != nil {
		return false, err
	}
	w.deps.Engine.Interrupt(ids)
	due, err := w.deps.Writer.TakeDue(ctx, relayBatch)
	if err != nil {
		return false, err
	}
	for i, d := range due {
		if err := w.enqueue(ctx, d); err != nil {
			if back := w.deps.Writer.PutBack(context.WithoutCancel(ctx), due[i:]); back != nil {
				w.deps.Log.WarnContext(ctx, "put back deliveries", "error", back)
			}
			return false, err
		}
	}
	return len(due) == relayBatch, nil
}

// takeOver makes the work of dead workers due again.
func (w *Worker) takeOver(ctx context.Context) {
	const forgetEvery = 10 * time.Minute
	var forgot time.Time
	for {
		ids, err := w.deps.Writer.TakeOver(ctx)
		switch {
		case err != nil && ctx.Err() == nil:
			w.deps.Log.WarnContext(ctx, "take over", "error", err)
		case len(ids) > 0:
			w.deps.Log.WarnContext(ctx, "took over the work of a dead worker", "operations", ids)
		}
		if time.Since(forgot) > forgetEvery {
			forgot = time.Now()
			if err := w.deps.Writer.Forget(ctx); err != nil && ctx.Err() == nil {
				w.deps.Log.WarnContext(ctx, "forget", "error", err)
			}
		}
		if !pause(ctx, operation.SweepEvery) {
			return
		}
	}
}

// reconcile looks at each cloud account in turn.
func (w *Worker) reconcile(ctx context.Context) {
	for pause(ctx, w.cfg.ReconcileEvery) {
		accounts, err := w.deps.Reconciler.AccountsInUse(ctx)
		if err != nil && ctx.Err() == nil {
			w.deps.Log.WarnContext(ctx, "reconcile", "error", err)
		}
		for _, id := range accounts {
			if err := w.deps.Reconciler.Reconcile(ctx, id); err != nil && ctx.Err() == nil {
				w.deps.Log.WarnContext(ctx, "reconcile", "account", id, "error", err)
			}
		}
	}
}
