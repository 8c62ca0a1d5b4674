package operation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"biztraak.dev/vm/internal/ident"
)

// ErrFenced means that the lease of the work has gone to somebody else, or the
// operation has ended: whoever meets it must stop at once and touch nothing.
var ErrFenced = errors.New("the lease has ended")

// ErrCanceled means that somebody asked for the operation to end early.
var ErrCanceled = errors.New("the operation is canceled")

// Handler is how one kind of operation is carried out. All functions must be
// safe to repeat: a worker can die after any line.
type Handler struct {
	Kind Kind
	// Steps do the work, in order.
	Steps []StepDef
	// CleanUp undoes it, in order, after a failure or a cancel; may be empty.
	CleanUp []StepDef
	// Lock takes the row locks of the target and is called first in each
	// transaction, so that all transactions lock in one order.
	Lock func(tx *Tx, target ident.ID) error
	// Begin is called in the transaction in which the work is first taken up.
	Begin func(tx *Tx, w *Work) error
	// End is called in the transaction in which the operation ends; failure is
	// nil when it succeeded.
	End func(tx *Tx, w *Work, status Status, failure *Error) error
	// Retry is called in the transaction in which a person has a failed operation
	// taken up again, after Lock; it refuses when the target has moved on, and
	// answers the locks to take.
	Retry func(tx *Tx, target ident.ID) ([]Lock, error)
}

// StepNames are the names of the forward phase.
func (h Handler) StepNames() []string { return names(h.Steps) }

func names(defs []StepDef) []string {
	out := make([]string, len(defs))
	for i, d := range defs {
		out[i] = d.Name
	}
	return out
}

// StepDef is one step of a handler.
type StepDef struct {
	Name string
	// Cancelable says whether the operation can still be canceled in this step.
	Cancelable bool
	// Limit bounds the whole step, waits and tries included.
	Limit time.Duration
	// Do does the step or looks whether it is done. It must not block on a wait:
	// it answers Wait instead. An *Error says how it failed; any other error is
	// a fault of ours and is tried again.
	Do func(ctx context.Context, w *Work) (Result, error)
}

// Result is what a step came to.
type Result struct {
	// Wait is how long until the step is looked at again; zero when it is done.
	Wait time.Duration
	// Detail is what was found or is waited for; empty for nothing to say.
	Detail string
	// Apply stores what was found, in the transaction that records the step.
	Apply func(tx *Tx) error
}

// Registry has the handler of each kind.
type Registry map[Kind]Handler

// NewRegistry makes a registry; a kind that has two handlers is an error.
func NewRegistry(handlers ...Handler) (Registry, error) {
	r := Registry{}
	for _, h := range handlers {
		if _, twice := r[h.Kind]; twice {
			return nil, fmt.Errorf("operation kind %s has two handlers", h.Kind)
		}
		r[h.Kind] = h
	}
	return r, nil
}

// def finds a step by its place in both phases.
func (h Handler) def(index int) (StepDef, bool) {
	switch {
	case index < 0:
		return StepDef{}, false
	case index < len(h.Steps):
		return h.Steps[index], true
	case index < len(h.Steps)+len(h.CleanUp):
		return h.CleanUp[index-len(h.Steps)], true
	}
	return StepDef{}, false
}

// cancelable says whether the operation in the row may be canceled now.
func (r Registry) cancelable(o *row) bool {
	if o.Status.Ended() || o.Phase != Forward || o.CancelRequestedAt != nil {
		return false
	}
	def, ok := r[o.Kind].def(o.Step)
	return ok && def.Cancelable
}

// Work is an operation in the hands of a handler.
type Work struct {
	row     row
	handler Handler
	engine  *Engine
	session string
	// stepStarted and now are by the database's clock.
	stepStarted time.Time
	taken       time.Time
	takenLocal  time.Time
}

// ID is the operation's id.
func (w *Work) ID() ident.ID { return w.row.ID }

// Target is what the operation is done to.
func (w *Work) Target() ident.ID { return w.row.TargetID }

// Actor is who asked for it; empty for the platform itself.
func (w *Work) Actor() ident.ID {
	if w.row.ActorID == nil {
		return ""
	}
	return *w.row.ActorID
}

// Retries counts how often a person had it retried. What it makes outside
// carries this number too, so that a retry does not adopt a corpse.
func (w *Work) Retries() int { return w.row.Retries }

// CleaningUp says whether the work is being undone.
func (w *Work) CleaningUp() bool { return w.row.Phase == Cleanup }

// State reads the handler's own state into v.
func (w *Work) State(v any) error {
	if err := json.Unmarshal(w.row.State, v); err != nil {
		return fmt.Errorf("read state of operation %s: %w", w.row.ID, err)
	}
	return nil
}

// StepAge is how long the present step has been going on, waits included.
func (w *Work) StepAge() time.Duration {
	if w.stepStarted.IsZero() {
		return 0
	}
	return w.taken.Add(time.Since(w.takenLocal)).Sub(w.stepStarted)
}

// Guard is asked directly before each effect outside the database: it answers
// ErrFenced when the lease is gone, and ErrCanceled when the work is unwanted.
func (w *Work) Guard(ctx context.Context) error {
	var ok, canceled bool
	err := w.engine.writer.db.Gorm(ctx).Raw(`SELECT true, o.cancel_requested_at IS NOT NULL AND o.phase = 'FORWARD'
		FROM operation o JOIN worker_session s ON s.id = o.session_id
		WHERE o.id = ? AND o.fence = ? AND o.status = 'RUNNING' AND s.id = ? AND s.expires_at > app_now()`,
		w.row.ID, w.row.Fence, w.session).Row().Scan(&ok, &canceled)
	switch {
	case isNoRows(err):
		return ErrFenced
	case err != nil:
		return fmt.Errorf("check lease: %w", err)
	case canceled:
		return ErrCanceled
	}
	w.engine.probe(ctx, w, AfterGuard)
	return nil
}

// Save stores something in the middle of a step, under the same fence as its
// end.
func (w *Work) Save(ctx context.Context, fn func(tx *Tx) error) error {
	return w.engine.commit(ctx, w, fn)
}

// Canceled says whether the work is being undone because somebody asked for it.
func (w *Work) Canceled() bool { return w.row.ErrorCode != nil && *w.row.ErrorCode == CodeCanceled }

// FirstTry says that nobody can have begun the work before: nothing of it needs
// to be looked for.
func (w *Work) FirstTry() bool { return w.row.Fence == 1 }
