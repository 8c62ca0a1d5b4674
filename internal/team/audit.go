package team

import (
	"encoding/json"
	"fmt"

	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/operation"
)

// AuditEvent is a change worth finding again after the thing itself is gone.
type AuditEvent struct {
	TeamID ident.ID
	// ActorID is empty for the platform itself.
	ActorID ident.ID
	// Action is upper case, such as MEMBER_REMOVED.
	Action string
	// ObjectID is what was changed.
	ObjectID ident.ID
	// Detail is what it was and what it is now, without secrets; nil for none.
	Detail map[string]any
}

// Audit writes the events in the transaction of what they tell of.
func Audit(tx *operation.Tx, events ...AuditEvent) error {
	for _, e := range events {
		detail := map[string]any{}
		for k, v := range e.Detail {
			detail[k] = v
		}
		if e.ActorID != "" {
			detail["actorId"] = e.ActorID
		}
		raw, err := json.Marshal(detail)
		if err != nil {
			return fmt.Errorf("write audit event: %w", err)
		}
		err = tx.Exec(`INSERT INTO audit_event (id, team_id, action, object_id, detail, occurred_at)
			VALUES (?, ?, ?, ?, ?::jsonb, ?)`,
			ident.New(ident.Audit), e.TeamID, e.Action, e.ObjectID, string(raw), tx.Now).Error
		if err != nil {
			return fmt.Errorf("write audit event: %w", err)
		}
	}
	return nil
}

// auditToken tells every team of the token's user, since the token works in all
// of them.
func auditToken(tx *operation.Tx, user ident.ID, action string, t tokenRow) error {
	var teams []ident.ID
	err := tx.Raw("SELECT team_id FROM team_member WHERE user_id = ? ORDER BY team_id", user).Scan(&teams).Error
	if err != nil {
		return fmt.Errorf("write audit event: %w", err)
	}
	events := make([]AuditEvent, len(teams))
	for i, team := range teams {
		events[i] = AuditEvent{
			TeamID: team, ActorID: user, Action: action, ObjectID: t.ID,
			Detail: map[string]any{"name": t.Name, "ceiling": t.Ceiling},
		}
	}
	return Audit(tx, events...)
}
