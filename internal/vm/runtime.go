package vm

import (
	"context"
	"errors"
	"fmt"

	"biztraak.dev/vm/internal/auth"
	"biztraak.dev/vm/internal/fault"
	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/operation"
)

// wish is what the four runtime mutations have in common.
type wish struct {
	kind     operation.Kind
	mutation string
	provider ident.ID
	force    bool
	expected *int
	key      *string
	dryRun   bool
	input    any
}

// Start starts a stopped machine.
func (s *Service) Start(ctx context.Context, in StartInput) (*Work, error) {
	return s.act(ctx, wish{
		kind: operation.Start, mutation: "startVirtualMachine", provider: in.VirtualMachineProviderID,
		expected: in.ExpectedVersion, key: in.IdempotencyKey, input: in,
	})
}

// Stop stops a running machine; with Force, what can be canceled is canceled
// first.
func (s *Service) Stop(ctx context.Context, in StopInput) (*Work, error) {
	return s.act(ctx, wish{
		kind: operation.Stop, mutation: "stopVirtualMachine", provider: in.VirtualMachineProviderID, force: in.Force,
		expected: in.ExpectedVersion, key: in.IdempotencyKey, input: in,
	})
}

// Restart restarts a running machine.
func (s *Service) Restart(ctx context.Context, in RestartInput) (*Work, error) {
	return s.act(ctx, wish{
		kind: operation.Restart, mutation: "restartVirtualMachine", provider: in.VirtualMachineProviderID,
		expected: in.ExpectedVersion, key: in.IdempotencyKey, input: in,
	})
}

// Destroy destroys a machine for good.
func (s *Service) Destroy(ctx context.Context, in DestroyInput) (*Work, error) {
	return s.act(ctx, wish{
		kind: operation.Destroy, mutation: "destroyVirtualMachineProvider", provider: in.VirtualMachineProviderID,
		expected: in.ExpectedVersion, key: in.IdempotencyKey, dryRun: in.DryRun, input: in,
	})
}

// errDryRun rolls a transaction back whose outcome is that it would succeed.
var errDryRun = errors.New("dry run")

// act decides and, if it may be, starts the work; all under the row lock of the
// provider.
func (s *Service) act(ctx context.Context, w wish) (*Work, error) {
	who, err := auth.From(ctx)
	if err != nil {
		return nil, err
	}
	path := fault.Input("virtualMachineProviderId")
	if r := operation.CheckKey(w.key); r != nil {
		return nil, r
	}
	seen, err := s.Provider(ctx, w.provider)
	if err != nil {
		return nil, err
	}
	if seen == nil {
		return nil, notFound(path, "VM provider")
	}
	if r := auth.Require(seen.Role, auth.RunVM, path); r != nil {
		return nil, r
	}
	out := &Work{}
	var opID ident.ID
	req := operation.Request{Scope: seen.TeamID, ActorID: who.UserID, Mutation: w.mutation, Key: w.key, Input: w.input}
	err = s.writer.Write(ctx, func(tx *operation.Tx) error {
		out.Replayed, opID = false, ""
		replay, err := tx.Once(req)
		if err != nil {
			return err
		}
		if replay != nil {
			out.Replayed, opID = true, replay.OperationID
			return nil
		}
		if opID, err = s.decide(tx, w, who, path); err != nil {
			return err
		}
		if w.dryRun {
			return errDryRun
		}
		return tx.Remember(req, opID, seen.ID)
	})
	if errors.Is(err, errDryRun) {
		out.Provider = seen
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	return s.answer(ctx, out, seen.ID, opID)
}

// answer reads what the payload holds, as it is now.
func (s *Service) answer(ctx context.Context, out *Work, provider, op ident.ID) (*Work, error) {
	var err error
	if provider != "" {
		if out.Provider, err = s.Provider(ctx, provider); err != nil {
			return nil, err
		}
	}
	if op != "" {
		if out.Operation, err = s.operations.Get(ctx, op); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// decide answers the operation that does what is wished: a new one, the one
// under way, or none when it is so already.
func (s *Service) decide(tx *operation.Tx, w wish, who auth.Actor, path []string) (ident.ID, error) {
	p, err := lockProvider(tx.DB, w.provider)
	if err != nil {
		return "", err
	}
	holders, err := tx.Holders(p.ID)
	if err != nil {
		return "", err
	}
	d := admit(w.kind, p.Status, holders, w.force)
	var refused fault.Refusals
	if !s.deployEnabled && needsDeploy(w.kind) {
		refused = append(refused, featureDisabled(path)...)
	}
	if w.expected != nil && *w.expected != p.Version {
		refused = append(refused, stale(p.Version)...)
	}
	refused = append(refused, d.refusal(w.kind, p.Status, path)...)
	if err := refused.Err(); err != nil {
		return "", err
	}
	switch d.verdict {
	case answerObject:
		return "", nil
	case answerOperation:
		return d.holder, nil
	case acceptAfterCancel:
		for _, h := range holders {
			if _, err := tx.RequestCancel(s.handlers, h.OperationID, who.UserID); err != nil {
				return "", err
			}
		}
	case accept, busy, wrongStatus:
	}
	return s.begin(tx, w.kind, p, who)
}

// begin enqueues the work and, if nothing is ahead of it, moves the status at
// once, so that whoever asked sees it.
func (s *Service) begin(tx *operation.Tx, kind operation.Kind, p *providerRow, who auth.Actor) (ident.ID, error) {
	id, err := tx.Enqueue(operation.New{
		Kind: kind, TeamID: p.TeamID, ProjectID: p.ProjectID, TargetID: p.ID, Ancestors: p.above(), ActorID: who.UserID,
		Steps: s.handlers[kind].StepNames(), Locks: exclusive(p.ID), Queue: true,
		Urgent: kind == operation.Stop || kind == operation.Destroy, Simulated: p.Simulated,
	})
	if err != nil {
		return "", err
	}
	return id, p.enter(tx, kind, cause{operationID: id, actorID: who.UserID})
}

// enter moves the provider into the status of work on it, where the life cycle
// allows it now: work that waits for other work enters when its turn comes. A
// destroy shows at once, because nothing can come before it any more.
func (p *providerRow) enter(tx *operation.Tx, kind operation.Kind, by cause) error {
	to := p.Status
	switch {
	case kind == operation.Provision && (p.Status == Pending || p.Status == Failed):
		to = Provisioning
	case kind == operation.Start && p.Status == Stopped:
		to = Starting
	case kind == operation.Stop && p.Status == Running:
		to = Stopping
	case kind == operation.Destroy && p.Status != Deleted:
		to = Deleting
	}
	return p.setStatus(tx, to, by)
}

func exclusive(id ident.ID) []operation.Lock {
	return []operation.Lock{{Resource: id, Mode: operation.Exclusive}}
}

// needsDeploy says whether the kind is switched off with the feature.
func needsDeploy(k operation.Kind) bool {
	return k == operation.Provision || k == operation.Start || k == operation.Restart
}

// refusal explains a verdict that is a refusal; none for the others.
func (d decision) refusal(kind operation.Kind, status Status, path []string) fault.Refusals {
	switch d.verdict {
	case busy:
		return fault.Refusals{{
			Code: fault.OperationInProgress, Path: path, Detail: fault.HeldBy{OperationID: d.holder},
			Message: fmt.Sprintf("a %s is under way on this machine. Wait until it has ended, or cancel it with cancelOperation%s.",
				d.kind, busyHint(kind)),
		}}
	case wrongStatus:
		return fault.Refuse(fault.NotAvailable, path, "the machine is %s: %s", status, statusHint(kind, status))
	case accept, answerObject, answerOperation, acceptAfterCancel:
	}
	return nil
}

func busyHint(kind operation.Kind) string {
	if kind == operation.Stop {
		return "; stop with force: true cancels a start or a restart by itself"
	}
	return ""
}

// statusHint says what to do when the status forbids the kind.
func statusHint(kind operation.Kind, status Status) string {
	switch status {
	case Failed:
		return "there is nothing to run. Retry the failed operation, or destroy the machine and provision anew."
	case Lost:
		return "it has vanished from the cloud. If it does not come back, destroy it here and provision anew."
	case Deleting, Deleted:
		return "it cannot come back. Provision another one."
	case Pending, Provisioning:
		return "it is still being made. Wait until it is RUNNING."
	case Stopped:
		return "start it instead."
	case Running, Starting, Stopping:
	}
	return fmt.Sprintf("a %s is possible once it has settled.", kind)
}
