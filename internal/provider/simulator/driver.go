package simulator

import (
	"context"
	"time"

	"biztraak.dev/vm/internal/provider"
)

// Kind implements provider.Driver.
func (s *Simulator) Kind() provider.Kind { return provider.KindSimulator }

// Traits implements provider.Driver.
func (s *Simulator) Traits() provider.Traits {
	return provider.Traits{
		HonoursClientToken: s.options.HonourClientTokens,
		VisibilityDelay:    visibilityDelay,
		UserDataLimit:      userDataLimit,
		Operations:         []provider.Operation{provider.OperationStart, provider.OperationStop, provider.OperationRestart},
	}
}

// Verify implements provider.Driver. Any credentials will do.
func (s *Simulator) Verify(ctx context.Context, account provider.Account) error {
	_, err := s.enter(ctx, account, Call{Op: OpVerify})
	return err
}

// Observe implements provider.Driver.
func (s *Simulator) Observe(ctx context.Context, account provider.Account, ref provider.Ref) (provider.Observation, error) {
	if _, err := s.enter(ctx, account, Call{Op: OpObserve, InstanceID: ref.InstanceID}); err != nil {
		return provider.Observation{}, err
	}
	m, err := s.load(ctx, account.ID, ref.InstanceID)
	if err != nil {
		return provider.Observation{}, err
	}
	observed, exists := m.observe(s.now())
	if !exists {
		return provider.Observation{}, gone()
	}
	return observed, nil
}

// FindByToken implements provider.Driver.
func (s *Simulator) FindByToken(ctx context.Context, account provider.Account, token string) ([]provider.Observation, error) {
	if _, err := s.enter(ctx, account, Call{Op: OpFindByToken, Token: token}); err != nil {
		return nil, err
	}
	return s.visible(ctx, account.ID, func(m machine) bool { return m.token == token })
}

// List implements provider.Driver. Every simulated machine carries the tag.
func (s *Simulator) List(ctx context.Context, account provider.Account) ([]provider.Observation, error) {
	if _, err := s.enter(ctx, account, Call{Op: OpList}); err != nil {
		return nil, err
	}
	return s.visible(ctx, account.ID, func(machine) bool { return true })
}

// visible lists the machines that can be seen, and forgets those that were
// destroyed: a listing comes by often enough to keep the store small.
func (s *Simulator) visible(ctx context.Context, accountID string, wanted func(machine) bool) ([]provider.Observation, error) {
	records, err := s.store.List(ctx, accountID)
	if err != nil {
		return nil, storeFailed(err)
	}
	now := s.now()
	var seen []provider.Observation
	for _, record := range records {
		m, err := decode(record)
		if err != nil {
			return nil, err
		}
		if !m.isMachine() {
			continue
		}
		observed, exists := m.observe(now)
		switch {
		case m.destroyed(now):
			if err := s.store.Delete(ctx, m.id); err != nil {
				return nil, storeFailed(err)
			}
		case exists && wanted(m) && !now.Before(m.VisibleFrom):
			seen = append(seen, observed)
		}
	}
	return seen, nil
}

// observe is the machine as the cloud shows it; false when it does not exist.
func (m machine) observe(now time.Time) (provider.Observation, bool) {
	current := m.timeline().at(now)
	if current.state == stateGone {
		return provider.Observation{}, false
	}
	return provider.Observation{
		InstanceID: m.id,
		Token:      m.token,
		Owner:      m.Owner,
		Region:     m.Region,
		State:      current.state,
		Addresses:  m.addresses(current),
		Fault:      current.fault,
		CreatedAt:  m.History[0].At,
		ObservedAt: now,
		Simulated:  true,
	}, true
}

// destroyed says whether the platform itself has removed the machine. One that
// got lost is not forgotten: it can come back.
func (m machine) destroyed(now time.Time) bool {
	last := m.History[len(m.History)-1]
	return last.Action == actionDestroy && !now.Before(last.At.Add(last.Halt))
}
