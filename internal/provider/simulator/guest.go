package simulator

import (
	"context"
	"fmt"
	"time"

	"biztraak.dev/vm/internal/guest"
	"biztraak.dev/vm/internal/provider"
)

// Ready implements guest.Guest.
func (s *Simulator) Ready(ctx context.Context, target guest.Target) error {
	m, err := s.reach(ctx, target)
	if err != nil {
		return err
	}
	now := s.now()
	current := m.timeline().at(now)
	switch current.state {
	case provider.StateRunning:
		if now.Before(current.readyFrom) {
			return guest.ErrNotReady
		}
		return nil
	case provider.StateCreating, provider.StateStarting, provider.StateRestarting:
		return guest.ErrNotReady
	default:
		return guest.ErrUnreachable
	}
}

// ReadJournal implements guest.Guest. The journal of a simulated machine stays
// readable while it is stopped, which no real guest offers: its last words arrive
// at once and not only after the next boot.
func (s *Simulator) ReadJournal(ctx context.Context, target guest.Target, request guest.JournalRequest) (guest.JournalBatch, error) {
	deadline := time.NewTimer(request.Wait)
	defer deadline.Stop()
	for {
		m, err := s.reach(ctx, target)
		if err != nil {
			return guest.JournalBatch{}, err
		}
		batch, next := m.batch(request, s.now())
		if len(batch.Entries) > 0 || batch.Gap != nil || request.Wait <= 0 {
			return batch, nil
		}
		pause := time.NewTimer(s.pause(next))
		select {
		case <-pause.C:
		case <-deadline.C:
			pause.Stop()
			return batch, nil
		case <-ctx.Done():
			pause.Stop()
			return guest.JournalBatch{}, fmt.Errorf("read the journal: %w", ctx.Err())
		}
	}
}

// pause is how long to wait before looking again: until the next line is due, but
// no longer than another process may take to cause one.
func (s *Simulator) pause(next time.Time) time.Duration {
	if next.IsZero() {
		return s.options.PollInterval
	}
	return max(time.Millisecond, min(s.options.PollInterval, next.Sub(s.now())))
}

// batch reads one batch, and when the next line is due if the batch is empty.
func (m machine) batch(request guest.JournalRequest, now time.Time) (guest.JournalBatch, time.Time) {
	batch := guest.JournalBatch{Next: request.After}
	after := beginning()
	if request.After != "" {
		var ok bool
		if after, ok = m.seek(request.After); !ok {
			after = beginning()
			batch.Next = ""
			batch.Gap = &guest.Gap{After: request.After, Reason: "the journal does not hold this entry"}
		}
	}
	entries, last, next := m.journal(after, request.Limit(), now)
	batch.Entries = entries
	if len(entries) > 0 {
		batch.Next = m.cursor(last)
	}
	return batch, next
}

// reach finds a machine that exists.
func (s *Simulator) reach(ctx context.Context, target guest.Target) (machine, error) {
	m, err := s.read(ctx, target.InstanceID)
	switch {
	case provider.ClassOf(err) == provider.ClassGone:
		return machine{}, fmt.Errorf("machine %s is gone: %w", target.InstanceID, guest.ErrUnreachable)
	case err != nil:
		return machine{}, fmt.Errorf("reach machine %s: %w", target.InstanceID, err)
	case m.timeline().at(s.now()).state == stateGone:
		return machine{}, fmt.Errorf("machine %s is gone: %w", target.InstanceID, guest.ErrUnreachable)
	}
	return m, nil
}
