package operation

import (
	"encoding/json"
	"fmt"

	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/store"
)

// Mode is how an operation holds a resource.
type Mode string

// The modes: any number of shared holders, or one exclusive.
const (
	Shared    Mode = "SHARED"
	Exclusive Mode = "EXCLUSIVE"
)

// Lock is a claim on a resource, named by its id.
type Lock struct {
	Resource ident.ID
	Mode     Mode
}

// New describes an operation to be accepted.
type New struct {
	Kind      Kind
	TeamID    ident.ID
	ProjectID ident.ID
	TargetID  ident.ID
	// Ancestors are the objects above the target, nearest first.
	Ancestors []ident.ID
	ActorID   ident.ID
	// Steps name the forward phase.
	Steps []string
	// Locks are taken now. With Queue, a lock that others hold is waited for
	// instead; the caller must hold the row locks of the resources either way.
	Locks     []Lock
	Queue     bool
	Urgent    bool
	Simulated bool
	// State is the handler's own, stored as JSON; nil for none.
	State any
}

// Enqueue accepts an operation: its row, steps and locks, and the event. The
// operation is due once all its locks are granted.
func (tx *Tx) Enqueue(n New) (ident.ID, error) {
	state := json.RawMessage("{}")
	if n.State != nil {
		raw, err := json.Marshal(n.State)
		if err != nil {
			return "", fmt.Errorf("enqueue operation: %w", err)
		}
		state = raw
	}
	id := ident.New(ident.Operation)
	err := tx.Exec(`INSERT INTO operation (id, team_id, project_id, kind, status, target_id, ancestors, actor_id, urgent,
			simulated, state, run_after, created_at)
		VALUES (?, ?, ?, ?, 'QUEUED', ?, ?, nullif(?, ''), ?, ?, ?, ?, ?)`,
		id, n.TeamID, n.ProjectID, n.Kind, n.TargetID, store.IDs(n.Ancestors), string(n.ActorID), n.Urgent,
		n.Simulated, string(state), tx.Now, tx.Now).Error
	if err != nil {
		return "", fmt.Errorf("enqueue operation: %w", err)
	}
	if err := tx.insertSteps(id, 0, Forward, n.Steps); err != nil {
		return "", err
	}
	if err := tx.claim(id, n.Locks, n.Queue); err != nil {
		return "", err
	}
	tx.due = true
	tx.Emit(Event{
		ProjectID: n.ProjectID, Kind: OperationQueued, SubjectID: id, Above: append([]ident.ID{n.TargetID}, n.Ancestors...),
		OperationID: id, ActorID: n.ActorID, Status: string(Queued),
	})
	return id, nil
}

func (tx *Tx) insertSteps(op ident.ID, from int, phase Phase, names []string) error {
	for i, name := range names {
		err := tx.Exec(`INSERT INTO operation_step (operation_id, idx, phase, name, status)
			VALUES (?, ?, ?, ?, 'PENDING')`, op, from+i, phase, name).Error
		if err != nil {
			return fmt.Errorf("store steps: %w", err)
		}
	}
	return nil
}

// Holder is an operation that holds or waits for a resource.
type Holder struct {
	OperationID ident.ID
	Kind        Kind
	Mode        Mode
	Granted     bool
	// CancelRequested says that the holder is on its way out.
	CancelRequested bool
}

// Holders lists who holds or waits for the resource, holders first, oldest
// first. The caller must hold the row lock of the resource.
func (tx *Tx) Holders(resource ident.ID) ([]Holder, error) {
	var out []Holder
	err := tx.Raw(`SELECT l.operation_id, o.kind, l.mode, l.granted, o.cancel_requested_at IS NOT NULL AS cancel_requested
		FROM operation_lock l JOIN operation o ON o.id = l.operation_id
		WHERE l.resource = ? ORDER BY l.granted DESC, l.operation_id`, resource).Scan(&out).Error
	if err != nil {
		return nil, fmt.Errorf("read locks: %w", err)
	}
	return out, nil
}

// claim takes the locks, or a place in the queue for each that is held.
func (tx *Tx) claim(op ident.ID, locks []Lock, queue bool) error {
	for _, l := range locks {
		holders, err := tx.Holders(l.Resource)
		if err != nil {
			return err
		}
		free := compatible(l.Mode, holders)
		if !free && !queue {
			return fmt.Errorf("lock %s: held by %s", l.Resource, holders[0].OperationID)
		}
		err = tx.Exec(`INSERT INTO operation_lock (resource, operation_id, mode, granted) VALUES (?, ?, ?, ?)`,
			l.Resource, op, l.Mode, free).Error
		if err != nil {
			return fmt.Errorf("store lock: %w", err)
		}
	}
	return nil
}

// compatible says whether a lock can be granted beside those that are there.
// Nobody overtakes a waiting one, so that an exclusive claim is not starved.
func compatible(mode Mode, there []Holder) bool {
	for _, h := range there {
		if mode == Exclusive || h.Mode == Exclusive {
			return false
		}
	}
	return true
}

// release gives up the locks of an operation that has ended and grants those
// that waited for them, oldest first. The caller must hold the row locks of the
// resources.
func (tx *Tx) release(op ident.ID) error {
	var resources []ident.ID
	err := tx.Raw(`DELETE FROM operation_lock WHERE operation_id = ? RETURNING resource`, op).Scan(&resources).Error
	if err != nil {
		return fmt.Errorf("release locks: %w", err)
	}
	for _, r := range resources {
		if err := tx.grant(r); err != nil {
			return err
		}
	}
	return nil
}

func (tx *Tx) grant(resource ident.ID) error {
	there, err := tx.Holders(resource)
	if err != nil {
		return err
	}
	var granted []Holder
	for _, h := range there {
		if !h.Granted {
			if !compatible(h.Mode, granted) {
				return nil
			}
			err := tx.Exec(`UPDATE operation_lock SET granted = true WHERE resource = ? AND operation_id = ?`,
				resource, h.OperationID).Error
			if err != nil {
				return fmt.Errorf("grant lock: %w", err)
			}
			tx.due = true
		}
		granted = append(granted, h)
	}
	return nil
}
