package operation

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"biztraak.dev/vm/internal/ident"
)

// Point is a place at which a Probe is called.
type Point string

// The points, in the order in which a step passes them.
const (
	BeforeStep   Point = "before-step"
	AfterGuard   Point = "after-guard"
	BeforeCommit Point = "before-commit"
)

// Probe lets a test stop or kill a worker at a certain point.
type Probe func(ctx context.Context, kind Kind, step string, at Point)

// Engine carries operations out.
type Engine struct {
	writer   *Writer
	registry Registry
	log      *slog.Logger
	probeFn  Probe

	mu      sync.Mutex
	running map[ident.ID]context.CancelCauseFunc
}

// NewEngine makes an engine; probe is nil outside tests.
func NewEngine(w *Writer, r Registry, log *slog.Logger, probe Probe) *Engine {
	return &Engine{writer: w, registry: r, log: log, probeFn: probe, running: map[ident.ID]context.CancelCauseFunc{}}
}

func (e *Engine) probe(ctx context.Context, w *Work, at Point) {
	if e.probeFn == nil {
		return
	}
	if def, ok := w.handler.def(w.row.Step); ok {
		e.probeFn(ctx, w.row.Kind, def.Name, at)
	}
}

// Run carries on the operation for the worker session, from where it stands
// until it ends or has to wait. A delivery that is not the current attempt does
// nothing. All outcomes are in the row when it returns, so there is nothing for
// a queue to retry.
func (e *Engine) Run(ctx context.Context, session string, id ident.ID, attempt int) {
	w, err := e.take(ctx, session, id, attempt)
	if err != nil {
		if ctx.Err() == nil { // else the worker is stopping: it stays due
			e.log.ErrorContext(ctx, "take operation", "operation", id, "error", err)
		}
		return
	}
	if w == nil {
		return
	}
	stepCtx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	e.track(id, cancel)
	defer e.track(id, nil)
	for {
		goOn, err := e.advance(ctx, stepCtx, w)
		if err != nil && !errors.Is(err, ErrFenced) {
			if ctx.Err() == nil {
				e.log.ErrorContext(ctx, "carry out operation", "operation", id, "kind", w.row.Kind, "error", err)
			}
			e.letGo(ctx, w)
		}
		if err != nil || !goOn {
			return
		}
		if w.row.Phase == Cleanup && stepCtx.Err() != nil && ctx.Err() == nil {
			// The cancel that ended the forward phase must not end its undoing.
			stepCtx = ctx
		}
	}
}

func (e *Engine) track(id ident.ID, cancel context.CancelCauseFunc) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if cancel == nil {
		delete(e.running, id)
		return
	}
	e.running[id] = cancel
}

// Interrupt ends the present step of operations that somebody asked to cancel.
// It only makes sooner what the next Guard would do.
func (e *Engine) Interrupt(ids []ident.ID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, id := range ids {
		if cancel := e.running[id]; cancel != nil {
			cancel(ErrCanceled)
		}
	}
}

// take makes the operation this session's, if the delivery is current, all its
// locks are granted and the session lives; else it answers nil.
func (e *Engine) take(ctx context.Context, session string, id ident.ID, attempt int) (*Work, error) {
	w := &Work{engine: e, session: session}
	err := e.writer.Write(ctx, func(tx *Tx) error {
		w.row = row{}
		head := row{}
		if err := tx.Raw(`SELECT kind, target_id FROM operation WHERE id = ? AND attempt = ? AND status = 'QUEUED'`,
			id, attempt).Scan(&head).Error; err != nil || head.Kind == "" {
			return err
		}
		handler, known := e.registry[head.Kind]
		if !known {
			return fmt.Errorf("no handler for operations of kind %s", head.Kind)
		}
		w.handler = handler
		if err := handler.Lock(tx, head.TargetID); err != nil {
			return err
		}
		if err := tx.Raw(`UPDATE operation SET status = 'RUNNING', session_id = ?, fence = fence + 1, version = version + 1,
				started_at = coalesce(started_at, ?)
			WHERE id = ? AND attempt = ? AND status = 'QUEUED' AND run_after <= app_now()
				AND NOT EXISTS (SELECT 1 FROM operation_lock l WHERE l.operation_id = operation.id AND NOT l.granted)
				AND EXISTS (SELECT 1 FROM worker_session s WHERE s.id = ? AND s.expires_at > app_now())
			RETURNING *`, session, tx.Now, id, attempt, session).Scan(&w.row).Error; err != nil || w.row.ID == "" {
			return err
		}
		return e.begin(tx, w)
	})
	if err != nil || w.row.ID == "" {
		return nil, err
	}
	return w, nil
}

// begin opens the step at which the operation stands.
func (e *Engine) begin(tx *Tx, w *Work) error {
	w.taken, w.takenLocal = tx.Now, time.Now()
	first := w.row.StartedAt != nil && w.row.StartedAt.Equal(tx.Now) && w.row.Phase == Forward
	if first {
		if err := w.handler.Begin(tx, w); err != nil {
			return err
		}
		w.emit(tx, OperationStarted, string(Running), "")
	}
	return w.openStep(tx)
}

// openStep marks the present step as running and learns since when it is.
func (w *Work) openStep(tx *Tx) error {
	w.stepStarted = time.Time{}
	def, ok := w.handler.def(w.row.Step)
	if !ok {
		return nil
	}
	var got struct {
		StartedAt time.Time
		Fresh     bool
	}
	err := tx.Raw(`UPDATE operation_step SET status = 'RUNNING', started_at = coalesce(started_at, ?)
		WHERE operation_id = ? AND idx = ? RETURNING started_at, started_at = ? AS fresh`,
		tx.Now, w.row.ID, w.row.Step, tx.Now).Scan(&got).Error
	if err != nil {
		return fmt.Errorf("open step: %w", err)
	}
	w.stepStarted = got.StartedAt
	if got.Fresh {
		w.emit(tx, OperationStepMoved, string(Running), def.Name)
	}
	return nil
}

func (w *Work) emit(tx *Tx, kind EventKind, status, step string) {
	tx.Emit(Event{
		ProjectID: w.row.ProjectID, Kind: kind, SubjectID: w.row.ID,
		Above:       append([]ident.ID{w.row.TargetID}, w.row.Ancestors...),
		OperationID: w.row.ID, ActorID: w.Actor(), Status: status, Step: step,
	})
}

// commit runs fn in a transaction that only the holder of the lease can commit.
func (e *Engine) commit(ctx context.Context, w *Work, fn func(tx *Tx) error) error {
	return e.writer.Write(ctx, func(tx *Tx) error {
		if err := w.handler.Lock(tx, w.row.TargetID); err != nil {
			return err
		}
		var cancel struct {
			ID                ident.ID
			CancelRequestedAt *time.Time
		}
		err := tx.Raw(`UPDATE operation SET version = version + 1
			WHERE id = ? AND fence = ? AND session_id = ? AND status = 'RUNNING'
				AND EXISTS (SELECT 1 FROM worker_session s WHERE s.id = ? AND s.expires_at > app_now())
			RETURNING id, cancel_requested_at`, w.row.ID, w.row.Fence, w.session, w.session).Scan(&cancel).Error
		if err != nil {
			return fmt.Errorf("hold lease: %w", err)
		}
		if cancel.ID == "" {
			return ErrFenced
		}
		w.row.CancelRequestedAt = cancel.CancelRequestedAt
		return fn(tx)
	})
}

func isNoRows(err error) bool { return errors.Is(err, sql.ErrNoRows) }
