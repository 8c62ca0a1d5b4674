package simulator

import (
	"context"
	"time"

	"biztraak.dev/vm/internal/provider"
)

// Start implements provider.Driver.
func (s *Simulator) Start(ctx context.Context, account provider.Account, ref provider.Ref) error {
	return s.act(ctx, account, Call{Op: OpStart, InstanceID: ref.InstanceID}, actionStart)
}

// Stop implements provider.Driver. A machine that is starting can be stopped, one
// that is being created cannot.
func (s *Simulator) Stop(ctx context.Context, account provider.Account, ref provider.Ref) error {
	return s.act(ctx, account, Call{Op: OpStop, InstanceID: ref.InstanceID}, actionStop)
}

// Restart implements provider.Driver.
func (s *Simulator) Restart(ctx context.Context, account provider.Account, ref provider.Ref) error {
	return s.act(ctx, account, Call{Op: OpRestart, InstanceID: ref.InstanceID}, actionRestart)
}

// Destroy implements provider.Driver.
func (s *Simulator) Destroy(ctx context.Context, account provider.Account, ref provider.Ref) error {
	err := s.act(ctx, account, Call{Op: OpDestroy, InstanceID: ref.InstanceID}, actionDestroy)
	if provider.ClassOf(err) == provider.ClassGone {
		return nil
	}
	return err
}

// act carries out what the platform asks for.
func (s *Simulator) act(ctx context.Context, account provider.Account, call Call, wanted action) error {
	if _, err := s.enter(ctx, account, call); err != nil {
		return err
	}
	load := func() (machine, error) { return s.load(ctx, account.ID, call.InstanceID) }
	return s.update(ctx, load, func(m *machine, now time.Time) (bool, error) {
		state := m.timeline().at(now).state
		if state == stateGone {
			return false, gone()
		}
		switch judge(wanted, state) {
		case alreadyThere:
			return false, nil
		case notNow:
			return false, conflict("the machine cannot do this while it is "+string(state), 0)
		case accepted:
		}
		if refusal := m.lock(now); refusal != nil {
			return true, refusal
		}
		m.LockedUntil = time.Time{}
		s.add(m, wanted, now)
		return true, nil
	})
}

// add writes what happens to a machine into its history.
func (s *Simulator) add(m *machine, what action, now time.Time) {
	e := event{Action: what, At: m.instant(now)}
	switch what {
	case actionStart, actionPowerOn:
		e.Boot = s.bootTime(m.document)
	case actionRestart:
		e.Halt, e.Boot = s.options.StopTime, s.bootTime(m.document)
	case actionStop:
		e.Halt = s.options.StopTime
	case actionDestroy:
		e.Halt = s.options.DestroyTime
	default: // the others take no time
	}
	m.History = append(m.History, e)
}

// lock refuses an action of a machine with FaultLocked until the wait that began
// with the first refusal is over. The next action waits anew.
func (m *machine) lock(now time.Time) error {
	if !m.has(FaultLocked) {
		return nil
	}
	if m.LockedUntil.IsZero() {
		m.LockedUntil = now.Add(lockedFor)
	}
	if left := m.LockedUntil.Sub(now); left > 0 {
		return conflict("the machine is locked by another action", left)
	}
	return nil
}

type verdict int

const (
	accepted verdict = iota
	alreadyThere
	notNow
)

// judge says what a cloud makes of an action in a state. What is not named is
// accepted.
func judge(wanted action, state provider.State) verdict {
	switch wanted {
	case actionStart:
		switch state {
		case provider.StateCreating, provider.StateStarting, provider.StateRestarting, provider.StateRunning:
			return alreadyThere
		case provider.StateStopping, provider.StateDeleting:
			return notNow
		default:
			return accepted
		}
	case actionStop:
		switch state {
		case provider.StateStopping, provider.StateStopped:
			return alreadyThere
		case provider.StateCreating, provider.StateDeleting:
			return notNow
		default:
			return accepted
		}
	case actionRestart:
		switch state {
		case provider.StateRestarting:
			return alreadyThere
		case provider.StateRunning, provider.StateError:
			return accepted
		default:
			return notNow
		}
	case actionDestroy:
		if state == provider.StateDeleting {
			return alreadyThere
		}
		return accepted
	default:
		return accepted
	}
}
