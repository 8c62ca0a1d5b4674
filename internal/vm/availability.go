package vm

import (
	"context"
	"fmt"

	"biztraak.dev/vm/internal/auth"
	"biztraak.dev/vm/internal/fault"
	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/operation"
)

var actionKinds = []struct {
	action Action
	kind   operation.Kind
}{
	{ActStart, operation.Start}, {ActStop, operation.Stop}, {ActRestart, operation.Restart}, {ActDestroy, operation.Destroy},
}

// Availability says for each provider what can be done with it now, by the very
// rules that the mutations go by; one statement for all of them.
func (s *Service) Availability(ctx context.Context, providers []*Provider) ([][]Availability, error) {
	wanted := make([]ident.ID, len(providers))
	for i, p := range providers {
		wanted[i] = p.ID
	}
	var rows []struct {
		operation.Holder
		Resource ident.ID
	}
	err := s.db.Gorm(ctx).Raw(`SELECT l.resource, l.operation_id, o.kind, l.mode, l.granted,
			o.cancel_requested_at IS NOT NULL AS cancel_requested
		FROM operation_lock l JOIN operation o ON o.id = l.operation_id
		WHERE l.resource IN ? ORDER BY l.granted DESC, l.operation_id`, wanted).Scan(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("read locks: %w", err)
	}
	holders := map[ident.ID][]operation.Holder{}
	for _, r := range rows {
		holders[r.Resource] = append(holders[r.Resource], r.Holder)
	}
	out := make([][]Availability, len(providers))
	for i, p := range providers {
		for _, a := range actionKinds {
			out[i] = append(out[i], s.availability(a.action, a.kind, p, holders[p.ID]))
		}
	}
	return out, nil
}

func (s *Service) availability(action Action, kind operation.Kind, p *Provider, holders []operation.Holder) Availability {
	var refused fault.Refusals
	refused = append(refused, auth.Require(p.Role, auth.RunVM, nil)...)
	if !s.deployEnabled && needsDeploy(kind) {
		refused = append(refused, featureDisabled(nil)...)
	}
	d := admit(kind, p.Status, holders, false)
	refused = append(refused, d.refusal(kind, p.Status, nil)...)
	if d.verdict == answerObject || d.verdict == answerOperation {
		refused.Add(fault.NotAvailable, nil, "it is so already, or on its way: the machine is %s", p.Status)
	}
	if len(refused) == 0 {
		return Availability{Action: action, Available: true}
	}
	return Availability{Action: action, Reason: &refused[0].Code, Fix: &refused[0].Message}
}
