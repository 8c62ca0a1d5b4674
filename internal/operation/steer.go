package operation

import (
	"context"
	"fmt"

	"biztraak.dev/vm/internal/auth"
	"biztraak.dev/vm/internal/fault"
	"biztraak.dev/vm/internal/ident"
)

// RequestCancel asks an operation to end early, if its present step allows it;
// it answers whether it was asked. The caller must have called the handler's
// Lock, or hold the row lock of the target.
func (tx *Tx) RequestCancel(r Registry, id, actor ident.ID) (bool, error) {
	var o row
	if err := tx.Raw(`SELECT * FROM operation WHERE id = ? FOR UPDATE`, id).Scan(&o).Error; err != nil {
		return false, fmt.Errorf("read operation: %w", err)
	}
	if !r.cancelable(&o) {
		return false, nil
	}
	// A waiting operation is delivered anew, at once and ahead of others.
	err := tx.Exec(`UPDATE operation SET cancel_requested_at = ?, urgent = true, version = version + 1,
			attempt = CASE WHEN status = 'QUEUED' THEN attempt + 1 ELSE attempt END,
			run_after = CASE WHEN status = 'QUEUED' THEN least(run_after, app_now()) ELSE run_after END
		WHERE id = ?`, tx.Now, id).Error
	if err != nil {
		return false, fmt.Errorf("request cancel: %w", err)
	}
	tx.due = true
	tx.Emit(Event{
		ProjectID: o.ProjectID, Kind: CancelRequested, SubjectID: id, Above: append([]ident.ID{o.TargetID}, o.Ancestors...),
		OperationID: id, ActorID: actor, Status: string(publicStatus(&o)),
	})
	return true, nil
}

// CancelInput is what cancelOperation takes.
type CancelInput struct {
	OperationID ident.ID
}

// Cancel asks an operation to end early.
func (s *Service) Cancel(ctx context.Context, in CancelInput) (*Operation, error) {
	path := fault.Input("operationId")
	who, err := auth.From(ctx)
	if err != nil {
		return nil, err
	}
	o, err := s.steerable(ctx, who, in.OperationID, path)
	if err != nil {
		return nil, err
	}
	err = s.writer.Write(ctx, func(tx *Tx) error {
		if err := s.registry[o.Kind].Lock(tx, o.TargetID); err != nil {
			return err
		}
		asked, err := tx.RequestCancel(s.registry, o.ID, who.UserID)
		if err != nil || asked {
			return err
		}
		again, err := s.byID(tx.DB, o.ID)
		if err != nil {
			return err
		}
		if again.CancelRequestedAt != nil && !again.Status.Ended() {
			return nil // it is on its way out: asking twice is no error
		}
		return fault.Refuse(fault.TooLate, path, "this operation has gone too far to be canceled: it is %s. Let it finish; %s",
			publicStatus(&again), "what it did can be undone by another operation, such as a stop or a destroy.")
	})
	if err != nil {
		return nil, err
	}
	return s.Get(ctx, in.OperationID)
}

// RetryInput is what retryOperation takes.
type RetryInput struct {
	OperationID    ident.ID
	IdempotencyKey *string `json:"-"`
}

// Retried is what retryOperation answers.
type Retried struct {
	Operation *Operation
	Replayed  bool
}

// Retry has a failed operation taken up again. What it had done before is
// found, not done twice.
func (s *Service) Retry(ctx context.Context, in RetryInput) (*Retried, error) {
	who, err := auth.From(ctx)
	if err != nil {
		return nil, err
	}
	path := fault.Input("operationId")
	if r := CheckKey(in.IdempotencyKey); r != nil {
		return nil, r
	}
	o, err := s.steerable(ctx, who, in.OperationID, path)
	if err != nil {
		return nil, err
	}
	out := &Retried{}
	req := Request{Scope: o.TeamID, ActorID: who.UserID, Mutation: "retryOperation", Key: in.IdempotencyKey, Input: in}
	err = s.writer.Write(ctx, func(tx *Tx) error {
		*out = Retried{}
		replay, err := tx.Once(req)
		if err != nil || replay != nil {
			out.Replayed = replay != nil
			return err
		}
		if err := s.retry(tx, o, who.UserID, path); err != nil {
			return err
		}
		return tx.Remember(req, o.ID, o.ID)
	})
	if err != nil {
		return nil, err
	}
	out.Operation, err = s.Get(ctx, in.OperationID)
	return out, err
}

func (s *Service) retry(tx *Tx, o *row, actor ident.ID, path []string) error {
	h := s.registry[o.Kind]
	if err := h.Lock(tx, o.TargetID); err != nil {
		return err
	}
	now, err := s.byID(tx.DB, o.ID)
	if err != nil {
		return err
	}
	if now.Status != Failed || now.ErrorRetryable == nil || !*now.ErrorRetryable {
		return fault.Refuse(fault.NotRetryable, path,
			"this operation cannot be retried: it is %s%s. Start new work instead.", publicStatus(&now), finalNote(&now))
	}
	locks, err := h.Retry(tx, o.TargetID)
	if err != nil {
		return err
	}
	if err := tx.Exec(`DELETE FROM operation_step WHERE operation_id = ? AND phase = 'CLEANUP'`, o.ID).Error; err != nil {
		return err
	}
	if err := tx.Exec(`UPDATE operation_step SET status = 'PENDING', started_at = NULL, finished_at = NULL, detail = NULL
		WHERE operation_id = ?`, o.ID).Error; err != nil {
		return err
	}
	if err := tx.Exec(`UPDATE operation SET status = 'QUEUED', phase = 'FORWARD', step = 0, steps_done = 0, tries = 0, retries = retries + 1,
			attempt = attempt + 1, run_after = app_now(), cancel_requested_at = NULL, started_at = NULL, finished_at = NULL,
			error_code = NULL, error_message = NULL, error_retryable = NULL, version = version + 1
		WHERE id = ?`, o.ID).Error; err != nil {
		return err
	}
	if err := tx.claim(o.ID, locks, false); err != nil {
		return err
	}
	tx.due = true
	tx.Emit(Event{
		ProjectID: o.ProjectID, Kind: OperationQueued, SubjectID: o.ID, Above: append([]ident.ID{o.TargetID}, o.Ancestors...),
		OperationID: o.ID, ActorID: actor, Status: string(Queued),
	})
	return nil
}

func finalNote(o *row) string {
	if o.Status == Failed {
		return ", and its failure is final"
	}
	return ""
}

// steerable reads an operation that the actor may steer.
func (s *Service) steerable(ctx context.Context, who auth.Actor, id ident.ID, path []string) (*row, error) {
	found, err := s.visible(ctx, who, id)
	if err != nil {
		return nil, err
	}
	if found == nil {
		return nil, fault.Refuse(fault.NotFound, path, "there is no operation with this id that you can see; check the id")
	}
	if r := auth.Require(found.role, auth.SteerOperation, path); r != nil {
		return nil, r
	}
	return &found.row, nil
}
