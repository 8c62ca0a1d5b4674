package simulator

import (
	"context"
	"slices"
	"time"

	"biztraak.dev/vm/internal/provider"
)

// PowerOffOutside cuts the power of a machine, as somebody at the cloud's own
// console would. ClassGone when there is no such machine; off already is success.
func (s *Simulator) PowerOffOutside(ctx context.Context, instanceID string) error {
	return s.outside(ctx, instanceID, actionPowerOff, provider.StateStopped)
}

// PowerOnOutside starts a stopped machine behind the platform's back. ClassGone
// when there is no such machine or it is being destroyed; on already is success.
func (s *Simulator) PowerOnOutside(ctx context.Context, instanceID string) error {
	return s.outside(ctx, instanceID, actionPowerOn, provider.StateRunning, provider.StateStarting)
}

// RemoveOutside removes a machine behind the platform's back. Gone already is
// success.
func (s *Simulator) RemoveOutside(ctx context.Context, instanceID string) error {
	err := s.outside(ctx, instanceID, actionRemove)
	if provider.ClassOf(err) == provider.ClassGone {
		return nil
	}
	return err
}

// RestoreOutside brings a machine that was removed outside, or got lost, back,
// powered off. ClassGone when there never was one or it was destroyed; one that
// exists is left as it is.
func (s *Simulator) RestoreOutside(ctx context.Context, instanceID string) error {
	load := func() (machine, error) { return s.read(ctx, instanceID) }
	return s.update(ctx, load, func(m *machine, now time.Time) (bool, error) {
		switch {
		case m.destroyed(now):
			return false, gone()
		case m.timeline().at(now).state != stateGone:
			return false, nil
		}
		s.add(m, actionRestore, now)
		return true, nil
	})
}

func (s *Simulator) outside(ctx context.Context, instanceID string, what action, already ...provider.State) error {
	load := func() (machine, error) { return s.read(ctx, instanceID) }
	return s.update(ctx, load, func(m *machine, now time.Time) (bool, error) {
		state := m.timeline().at(now).state
		// A machine that is being removed must not come back to life.
		if state == stateGone || state == provider.StateDeleting {
			return false, gone()
		}
		if slices.Contains(already, state) {
			return false, nil
		}
		s.add(m, what, now)
		return true, nil
	})
}
