package simulator

import (
	"context"
	"errors"
	"time"
)

// throttle refuses the first calls of a caller, counted in the store, so that a
// restart or a second process does not begin anew. The token is empty for the
// count of a whole account.
func (s *Simulator) throttle(ctx context.Context, accountID, token string) error {
	id := "throttle-" + digest(accountID, token)
	load := func() (machine, error) {
		return s.loadThrottle(ctx, machine{id: id, accountID: accountID, token: token})
	}
	return s.update(ctx, load, func(m *machine, _ time.Time) (bool, error) {
		if m.Throttled >= throttledFor {
			return false, nil
		}
		m.Throttled++
		return true, throttled()
	})
}

func (s *Simulator) loadThrottle(ctx context.Context, fresh machine) (machine, error) {
	record, err := s.store.Load(ctx, fresh.id)
	if errors.Is(err, ErrNoMachine) {
		if record, err = fresh.encode(); err != nil {
			return machine{}, err
		}
		if err = s.store.Insert(ctx, record); err == nil || errors.Is(err, ErrMachineExists) {
			record, err = s.store.Load(ctx, fresh.id)
		}
	}
	if err != nil {
		return machine{}, storeFailed(err)
	}
	return decode(record)
}
