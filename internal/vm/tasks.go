package vm

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"biztraak.dev/vm/internal/guest"
	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/operation"
	"biztraak.dev/vm/internal/provider"
)

// The limits of steps, waits and tries included.
const (
	callLimit  = 5 * time.Minute
	bootLimit  = 15 * time.Minute
	guestLimit = 10 * time.Minute
	stopLimit  = 10 * time.Minute
	goneLimit  = 15 * time.Minute
	// bootGrace is how long a cloud may call a machine stopped that it was asked to
	// boot; after that, somebody else has shut it down.
	bootGrace = 30 * time.Second
	// A machine on its way is looked at every half second at first, and the longer
	// it takes, the less often: clouds count calls, and many slow boots at once must
	// not keep the workers from what is urgent.
	pollEvery    = 500 * time.Millisecond
	pollSeldom   = 5 * time.Second
	pollAgeShare = 8 // the wait is this part of the time that has passed
)

// Handlers are how the work on VM providers is carried out.
func (s *Service) Handlers() []operation.Handler {
	return []operation.Handler{
		s.provisionHandler(), s.startHandler(), s.stopHandler(), s.restartHandler(), s.destroyHandler(),
	}
}

// lockTarget is the first statement of each transaction of an operation.
func lockTarget(tx *operation.Tx, target ident.ID) error {
	_, err := lockProvider(tx.DB, target)
	return err
}

// machine is a VM provider in the hands of a step.
type machine struct {
	*providerRow
	work    *operation.Work
	driver  provider.Driver
	account provider.Account
	guest   guest.Guest
}

// machine reads the provider of an operation and finds who speaks to it.
func (s *Service) machine(ctx context.Context, w *operation.Work) (*machine, error) {
	p, err := readProvider(s.db.Gorm(ctx), w.Target())
	if err != nil {
		return nil, err
	}
	kind, account, err := s.accounts.DriverAccount(ctx, p.AccountID)
	if err != nil {
		return nil, err
	}
	driver, err := s.drivers.Driver(kind)
	if err != nil {
		return nil, err
	}
	return &machine{providerRow: p, work: w, driver: driver, account: account, guest: s.guests[kind]}, nil
}

// step makes a step out of a function on the machine, and sorts its errors.
func (s *Service) step(do func(ctx context.Context, m *machine) (operation.Result, error)) func(context.Context, *operation.Work) (operation.Result, error) {
	return func(ctx context.Context, w *operation.Work) (operation.Result, error) {
		m, err := s.machine(ctx, w)
		if err != nil {
			return operation.Result{}, err
		}
		res, err := do(ctx, m)
		return res, sortError(err)
	}
}

func (m *machine) ref() provider.Ref { return provider.Ref{InstanceID: m.instance(), Region: m.Region} }

func (m *machine) cause() cause { return cause{operationID: m.work.ID(), actorID: m.work.Actor()} }

func (m *machine) observe(ctx context.Context) (provider.Observation, error) {
	return m.driver.Observe(ctx, m.account, m.ref())
}

// sortError turns what a driver says into why an operation failed.
func sortError(err error) error {
	var ours *operation.Error
	if err == nil || errors.As(err, &ours) || errors.Is(err, operation.ErrFenced) || errors.Is(err, operation.ErrCanceled) {
		return err
	}
	var theirs *provider.Error
	if !errors.As(err, &theirs) {
		return err
	}
	out := &operation.Error{Message: theirs.Message, Cause: err, RetryAfter: theirs.RetryAfter, Retryable: true}
	switch theirs.Class {
	case provider.ClassRetryAfter:
		out.Code = operation.CodeRateLimited
	case provider.ClassCapacity:
		out.Code, out.Final = operation.CodeCapacity, true
	case provider.ClassQuota:
		out.Code, out.Final = operation.CodeQuota, true
	case provider.ClassCredentials:
		out.Code, out.Final = operation.CodeCredentials, true
	case provider.ClassConflict:
		out.Code = operation.CodeProviderBusy
	case provider.ClassUnclear:
		out.Code = operation.CodeProviderError
	case provider.ClassGone:
		out.Code, out.Retryable = operation.CodeInstanceNotFound, false
	case provider.ClassBug:
		out.Code, out.Final = operation.CodeProviderError, true
	}
	return out
}

// waitFor answers that the step looks again soon.
func (m *machine) waitFor(detail string) operation.Result {
	wait := max(pollEvery, min(m.work.StepAge()/pollAgeShare, pollSeldom))
	return operation.Result{Wait: wait, Detail: detail}
}

// waitForBoot looks whether the cloud says that the machine runs, and stores
// its address when it does.
func (s *Service) waitForBoot(ctx context.Context, m *machine) (operation.Result, error) {
	o, err := m.observe(ctx)
	if err != nil {
		return operation.Result{}, err
	}
	switch {
	case o.State == provider.StateRunning:
		return operation.Result{Detail: "the cloud says it runs", Apply: func(tx *operation.Tx) error {
			p, err := readProvider(tx.DB, m.ID)
			if err != nil {
				return err
			}
			return p.setAddress(tx, addressOf(o), m.cause())
		}}, nil
	case o.State == provider.StateError || o.Fault != nil:
		return operation.Result{}, faultOf(o, "the machine failed while it booted")
	case o.State == provider.StateStopped && m.work.StepAge() > bootGrace:
		return operation.Result{}, faultOf(o, "the machine was shut down while it booted")
	}
	return m.waitFor("waiting for the cloud: " + string(o.State)), nil
}

// waitForGuest looks whether the guest itself confirms that it is up.
func (s *Service) waitForGuest(ctx context.Context, m *machine) (operation.Result, error) {
	err := m.guest.Ready(ctx, m.target())
	switch {
	case err == nil:
		return operation.Result{Detail: "the guest has confirmed that it is up"}, nil
	case errors.Is(err, guest.ErrNotReady), errors.Is(err, guest.ErrUnreachable):
	default:
		return operation.Result{}, err
	}
	// A machine that is gone or has crashed never answers: look before waiting on.
	o, err := m.observe(ctx)
	if err != nil {
		return operation.Result{}, err
	}
	if o.State == provider.StateError || o.State == provider.StateStopped {
		return operation.Result{}, faultOf(o, "the machine went down while its guest system was booting")
	}
	if m.work.StepAge() > guestLimit {
		return operation.Result{}, &operation.Error{
			Code: operation.CodeGuestUnreachable, Retryable: true, Final: true,
			Message: "the machine runs, but its guest system did not answer; look at its system log, then retry",
		}
	}
	return m.waitFor("waiting for the guest system"), nil
}

// target names the inside of the machine.
func (m *machine) target() guest.Target { return m.providerRow.target() }

func (p *providerRow) target() guest.Target {
	t := guest.Target{InstanceID: p.instance()}
	if p.Address != nil {
		if ip, err := netip.ParseAddr(*p.Address); err == nil {
			t.Addresses = append(t.Addresses, ip)
		}
	}
	return t
}

// addressOf is the best address of an observation; nil when there is none.
func addressOf(o provider.Observation) *string {
	if len(o.Addresses) == 0 {
		return nil
	}
	text := o.Addresses[0].IP.String()
	return &text
}

// faultOf is the failure that an observation tells of.
func faultOf(o provider.Observation, what string) error {
	if o.Fault == nil {
		return &operation.Error{Code: operation.CodeProviderError, Message: what, Retryable: true, Final: true}
	}
	f := sortError(o.Fault)
	var sorted *operation.Error
	if errors.As(f, &sorted) {
		sorted.Message = fmt.Sprintf("%s: %s", what, sorted.Message)
		sorted.Final, sorted.Retryable = true, true
	}
	return f
}

// unless turns the error of a machine that is gone into the answer.
func unlessGone(err error) (gone bool, other error) {
	if provider.ClassOf(err) == provider.ClassGone {
		return true, nil
	}
	return false, err
}

// settle is the last step of a clean-up: it looks what the machine is now and
// stores that, so that nothing is shown that is not so.
func (s *Service) settle(ctx context.Context, m *machine) (operation.Result, error) {
	to, detail := m.Status, ""
	o, err := m.observe(ctx)
	gone, err := unlessGone(err)
	switch {
	case err != nil:
		return operation.Result{}, err
	case gone:
		to, detail = Lost, "the machine is gone from the cloud"
	case o.State == provider.StateRunning, o.State == provider.StateRestarting:
		to, detail = Running, "the machine runs"
	case o.State == provider.StateStopped, o.State == provider.StateError:
		to, detail = Stopped, "the machine is stopped"
	default:
		return m.waitFor("waiting for the machine to settle: " + string(o.State)), nil
	}
	return operation.Result{Detail: detail, Apply: func(tx *operation.Tx) error {
		p, err := readProvider(tx.DB, m.ID)
		if err != nil || !mayShow(p.Status, to) {
			return err
		}
		if err := p.setStatus(tx, to, m.cause()); err != nil {
			return err
		}
		return p.setAddress(tx, addressOf(o), m.cause())
	}}, nil
}

// mayShow says whether a settled status may replace the one that is shown: not
// that of a provider which is being destroyed, nor RUNNING for a start that did
// not succeed.
func mayShow(now, settled Status) bool {
	switch now {
	case Stopping, Running, Stopped:
		return true
	case Starting:
		return settled != Running
	case Pending, Provisioning, Failed, Lost, Deleting, Deleted:
	}
	return false
}

// retryFrom has a failed operation taken up again when nothing else holds the
// provider and its status still allows the kind.
func (s *Service) retryFrom(kind operation.Kind) func(tx *operation.Tx, target ident.ID) ([]operation.Lock, error) {
	return func(tx *operation.Tx, target ident.ID) ([]operation.Lock, error) {
		p, err := readProvider(tx.DB, target)
		if err != nil {
			return nil, err
		}
		holders, err := tx.Holders(target)
		if err != nil {
			return nil, err
		}
		return exclusive(target), s.refuseRetry(kind, p, holders)
	}
}
