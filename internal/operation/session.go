package operation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/store"
)

// The rhythm of leases: a worker that dies is taken over after at most
// LeaseTime + SweepEvery.
const (
	LeaseTime  = 12 * time.Second
	BeatEvery  = 4 * time.Second
	SweepEvery = 3 * time.Second
)

// ErrSessionLost means that a worker's session has expired: its work may be in
// other hands already.
var ErrSessionLost = errors.New("the worker session has expired")

// OpenSession makes a worker session that lives until its lease runs out.
func (w *Writer) OpenSession(ctx context.Context, id string) error {
	err := w.db.Gorm(ctx).Exec(`INSERT INTO worker_session (id, started_at, expires_at)
		VALUES (?, app_now(), app_now() + make_interval(secs => ?))`, id, LeaseTime.Seconds()).Error
	if err != nil {
		return fmt.Errorf("open worker session: %w", err)
	}
	return nil
}

// BeatSession keeps a session alive. A session that has expired stays dead:
// ErrSessionLost.
func (w *Writer) BeatSession(ctx context.Context, id string) error {
	res := w.db.Gorm(ctx).Exec(`UPDATE worker_session SET expires_at = app_now() + make_interval(secs => ?)
		WHERE id = ? AND expires_at > app_now()`, LeaseTime.Seconds(), id)
	switch err := store.One(res); {
	case errors.Is(err, store.ErrConflict):
		return ErrSessionLost
	case err != nil:
		return fmt.Errorf("beat worker session: %w", err)
	}
	return nil
}

// CloseSession ends a session at once, so that what it leaves is taken over
// without a wait.
func (w *Writer) CloseSession(ctx context.Context, id string) error {
	err := w.db.Gorm(ctx).Exec(`UPDATE worker_session SET expires_at = '-infinity' WHERE id = ?`, id).Error
	if err != nil {
		return fmt.Errorf("close worker session: %w", err)
	}
	return nil
}

// TakeOver makes operations of dead sessions due again, under a new fence, and
// forgets sessions that are long dead and keys that are too old. It answers
// what it took over.
func (w *Writer) TakeOver(ctx context.Context) ([]ident.ID, error) {
	var out []ident.ID
	err := w.Write(ctx, func(tx *Tx) error {
		out = nil
		err := tx.Raw(`UPDATE operation SET status = 'QUEUED', session_id = NULL, fence = fence + 1,
				attempt = attempt + 1, run_after = app_now(), version = version + 1
			WHERE id IN (SELECT id FROM operation o WHERE status = 'RUNNING' AND NOT EXISTS (
					SELECT 1 FROM worker_session s WHERE s.id = o.session_id AND s.expires_at > app_now())
				LIMIT 500 FOR UPDATE SKIP LOCKED)
			RETURNING id`).Scan(&out).Error
		tx.due = len(out) > 0
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("take over operations: %w", err)
	}
	return out, nil
}

// Forget removes dead sessions and idempotency keys that are too old.
func (w *Writer) Forget(ctx context.Context) error {
	err := w.db.Gorm(ctx).Exec(`DELETE FROM worker_session WHERE expires_at < app_now() - interval '1 hour'`).Error
	if err != nil {
		return fmt.Errorf("forget worker sessions: %w", err)
	}
	err = w.db.Gorm(ctx).Exec(`DELETE FROM idempotency_key WHERE created_at < app_now() - make_interval(secs => ?)`,
		KeyLifetime.Seconds()).Error
	if err != nil {
		return fmt.Errorf("forget idempotency keys: %w", err)
	}
	return nil
}

// ToInterrupt lists the operations of a session that somebody asked to cancel.
func (w *Writer) ToInterrupt(ctx context.Context, session string) ([]ident.ID, error) {
	var out []ident.ID
	err := w.db.Gorm(ctx).Raw(`SELECT id FROM operation WHERE session_id = ? AND status = 'RUNNING'
		AND phase = 'FORWARD' AND cancel_requested_at IS NOT NULL`, session).Scan(&out).Error
	if err != nil {
		return nil, fmt.Errorf("look for cancels: %w", err)
	}
	return out, nil
}
