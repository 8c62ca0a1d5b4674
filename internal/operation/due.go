package operation

import (
	"context"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"

	"biztraak.dev/vm/internal/ident"
)

// Delivery is due work on its way to a worker.
type Delivery struct {
	ID      ident.ID
	Attempt int
	Urgent  bool
}

// redeliverAfter is how long a delivery may stay away before it is made again.
// What a queue loses costs this long; what it still has makes a twin that
// carries the same name and is dropped.
const redeliverAfter = 5 * time.Second

// TakeDue marks up to limit due operations as delivered and answers them, urgent
// ones first. When more are due than the limit, urgent ones are taken before
// others, and fresh ones before repeated ones. Several relays can ask at once;
// each operation goes to one.
func (w *Writer) TakeDue(ctx context.Context, limit int) ([]Delivery, error) {
	var out []Delivery
	err := w.db.Tx(ctx, func(tx *gorm.DB) error {
		out = nil
		return tx.Raw(`UPDATE operation SET enqueued_attempt = attempt, enqueued_at = app_now()
			WHERE id IN (
				SELECT id FROM operation o
				WHERE status = 'QUEUED' AND run_after <= app_now()
					AND (enqueued_attempt < attempt OR enqueued_at IS NULL
						OR enqueued_at < app_now() - make_interval(secs => ?))
					AND NOT EXISTS (SELECT 1 FROM operation_lock l WHERE l.operation_id = o.id AND NOT l.granted)
				ORDER BY urgent DESC, (enqueued_attempt < attempt) DESC, run_after
				LIMIT ? FOR UPDATE SKIP LOCKED)
			RETURNING id, attempt, urgent`, redeliverAfter.Seconds(), limit).Scan(&out).Error
	})
	if err != nil {
		return nil, fmt.Errorf("take due operations: %w", err)
	}
	// RETURNING keeps no order.
	slices.SortStableFunc(out, func(a, b Delivery) int {
		switch {
		case a.Urgent == b.Urgent:
			return 0
		case a.Urgent:
			return -1
		}
		return 1
	})
	return out, nil
}

// PutBack says that deliveries could not be made.
func (w *Writer) PutBack(ctx context.Context, ds []Delivery) error {
	for _, d := range ds {
		err := w.db.Gorm(ctx).Exec(`UPDATE operation SET enqueued_at = NULL WHERE id = ? AND enqueued_attempt = ?`,
			d.ID, d.Attempt).Error
		if err != nil {
			return fmt.Errorf("put back deliveries: %w", err)
		}
	}
	return nil
}

// NextDue is how long until the next operation becomes due, at most the bound.
func (w *Writer) NextDue(ctx context.Context, bound time.Duration) (time.Duration, error) {
	var secs *float64
	err := w.db.Gorm(ctx).Raw(`SELECT extract(epoch FROM min(run_after) - app_now()) FROM operation
		WHERE status = 'QUEUED' AND run_after > app_now()`).Scan(&secs).Error
	if err != nil {
		return bound, fmt.Errorf("find next due operation: %w", err)
	}
	if secs == nil {
		return bound, nil
	}
	const least = 5 * time.Millisecond
	return max(least, min(bound, time.Duration(*secs*float64(time.Second)))), nil
}

// OldestDue is how long the oldest due operation has waited to be taken up; zero
// when none does.
func (w *Writer) OldestDue(ctx context.Context) (time.Duration, error) {
	var secs *float64
	err := w.db.Gorm(ctx).Raw(`SELECT extract(epoch FROM app_now() - min(run_after)) FROM operation o
		WHERE status = 'QUEUED' AND run_after <= app_now()
			AND NOT EXISTS (SELECT 1 FROM operation_lock l WHERE l.operation_id = o.id AND NOT l.granted)`).Scan(&secs).Error
	if err != nil {
		return 0, fmt.Errorf("find oldest due operation: %w", err)
	}
	if secs == nil {
		return 0, nil
	}
	return time.Duration(*secs * float64(time.Second)), nil
}

// DueChannel is the Postgres channel that is notified when work becomes due or
// is to be canceled.
func DueChannel() string { return dueChannel }
