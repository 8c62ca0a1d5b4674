package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"biztraak.dev/vm/internal/guest"
	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/syslog"
)

const (
	claimEvery   = time.Second
	journalBatch = 500
	journalWait  = 2 * time.Second
	// watchdog bounds one turn of a follower, so that a guest that has stopped
	// answering cannot hold it for ever.
	watchdog  = 30 * time.Second
	followGap = time.Second
)

// follower is one journal in the hands of a goroutine.
type follower struct {
	fence int64
	stop  context.CancelFunc
	done  chan struct{}
}

func (f *follower) ended() bool {
	select {
	case <-f.done:
		return true
	default:
		return false
	}
}

// follow keeps one follower running for each journal that this worker's session
// holds, and claims those that nobody holds.
func (w *Worker) follow(ctx context.Context) {
	running := map[string]*follower{}
	defer func() {
		for _, f := range running {
			f.stop()
		}
	}()
	for {
		// A follower's context is that of the session which claimed it: a lost
		// session ends it, and the next turn claims anew.
		if err := w.followTurn(ctx, w.sessions.current(), running); err != nil && ctx.Err() == nil {
			w.deps.Log.WarnContext(ctx, "follow journals", "error", err)
		}
		if !pause(ctx, claimEvery) {
			return
		}
	}
}

func (w *Worker) followTurn(ctx context.Context, s session, running map[string]*follower) error {
	held, err := w.deps.Logs.Held(ctx, s.id)
	if err != nil {
		return err
	}
	fences := map[string]int64{}
	for _, f := range held {
		fences[f.ProviderID] = f.Fence
	}
	var unwanted []string
	for id, f := range running {
		if fence, wanted := fences[id]; !wanted || fence != f.fence {
			f.stop()
		}
		if f.ended() {
			delete(running, id)
			if _, wanted := fences[id]; !wanted {
				unwanted = append(unwanted, id)
			}
		}
	}
	if len(unwanted) > 0 {
		if err := w.deps.Logs.Release(ctx, s.id, unwanted...); err != nil {
			return err
		}
	}
	if room := w.cfg.Followers - len(held); room > 0 {
		claimed, err := w.deps.Logs.Claim(ctx, s.id, room)
		if err != nil {
			return err
		}
		held = append(held, claimed...)
	}
	for _, f := range held {
		if running[f.ProviderID] == nil {
			running[f.ProviderID] = w.startFollower(s, f)
		}
	}
	return nil
}

func (w *Worker) startFollower(s session, f syslog.Follow) *follower {
	ctx, stop := context.WithCancel(s.ctx)
	out := &follower{fence: f.Fence, stop: stop, done: make(chan struct{})}
	w.running.Go(func() {
		defer close(out.done)
		w.followOne(ctx, f)
	})
	return out
}

// followOne brings the journal of one guest into its log until it is told to
// stop. When the log has moved on without it (another worker has taken over, or
// an answer was lost), it ends; what is still ours is begun again from the
// stored cursor.
func (w *Worker) followOne(ctx context.Context, f syslog.Follow) {
	for ctx.Err() == nil {
		next, idle, err := w.followOnce(ctx, f)
		switch {
		case errors.Is(err, syslog.ErrFenced), errors.Is(err, syslog.ErrCursorMoved):
			return
		case err != nil && ctx.Err() == nil && !errors.Is(err, guest.ErrUnreachable):
			w.deps.Log.WarnContext(ctx, "follow journal", "provider", f.ProviderID, "error", err)
		}
		f.JournalCursor = next
		if (err != nil || idle) && !pause(ctx, followGap) {
			return
		}
	}
}

// followOnce moves one batch, and answers the cursor that it has reached. idle
// says that there was nothing to read from.
func (w *Worker) followOnce(ctx context.Context, f syslog.Follow) (next string, idle bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, watchdog)
	defer cancel()
	g, target, ok, err := w.deps.Journals.JournalOf(ctx, ident.ID(f.ProviderID))
	if err != nil || !ok {
		return f.JournalCursor, true, err
	}
	batch, err := g.ReadJournal(ctx, target, guest.JournalRequest{After: f.JournalCursor, Max: journalBatch, Wait: journalWait})
	if err != nil {
		return f.JournalCursor, false, err
	}
	if batch.Next == f.JournalCursor && batch.Gap == nil {
		return f.JournalCursor, false, nil
	}
	err = w.deps.Logs.Ingest(ctx, syslog.Batch{
		ProviderID: f.ProviderID, Fence: f.Fence, ExpectCursor: f.JournalCursor, NextCursor: batch.Next, Lines: linesOf(batch),
	})
	if err != nil {
		return f.JournalCursor, false, err
	}
	return batch.Next, false, nil
}

// linesOf makes log lines of a batch; a gap becomes a line of the platform.
func linesOf(b guest.JournalBatch) []syslog.Line {
	lines := make([]syslog.Line, 0, len(b.Entries)+1)
	if b.Gap != nil {
		lines = append(lines, syslog.Line{
			Source: syslog.Platform, Unit: "follower", Priority: int(guest.PriorityWarning),
			Message: fmt.Sprintf("lines may be missing here: %s", b.Gap.Reason),
		})
	}
	for _, e := range b.Entries {
		lines = append(lines, syslog.Line{
			Time: e.Time, Source: syslog.Journal, Unit: e.Unit, Priority: int(e.Priority), Message: e.Message,
		})
	}
	return lines
}
