package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"biztraak.dev/vm/internal/operation"
)

// session is one lease of this worker; its context ends with it.
type session struct {
	id     string
	ctx    context.Context //nolint:containedctx // the session is a lifetime, and this is how its work hears of the end
	cancel context.CancelFunc
}

// sessions keeps one session alive, and opens a new one when one is lost: a
// process that was frozen for longer than the lease must not go on with work
// that others have taken over.
type sessions struct {
	writer *operation.Writer
	log    *slog.Logger

	mu  sync.Mutex
	now session
}

func newSessions(w *operation.Writer, log *slog.Logger) *sessions {
	return &sessions{writer: w, log: log}
}

func (s *sessions) open(ctx context.Context) error {
	id, err := uuid.NewV7()
	if err != nil {
		return fmt.Errorf("open worker session: %w", err)
	}
	if err := s.writer.OpenSession(ctx, id.String()); err != nil {
		return err
	}
	next := session{id: id.String()}
	next.ctx, next.cancel = context.WithCancel(context.WithoutCancel(ctx))
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now.cancel != nil {
		s.now.cancel()
	}
	s.now = next
	return nil
}

func (s *sessions) current() session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

// interrupt ends the context of the session, not its lease: what runs puts its
// work back under it.
func (s *sessions) interrupt() { s.current().cancel() }

func (s *sessions) close(ctx context.Context) error {
	return s.writer.CloseSession(ctx, s.current().id)
}

// beat keeps the lease.
func (s *sessions) beat(ctx context.Context) {
	for pause(ctx, operation.BeatEvery) {
		err := s.writer.BeatSession(ctx, s.current().id)
		switch {
		case errors.Is(err, operation.ErrSessionLost):
			s.log.WarnContext(ctx, "the worker session has expired: beginning a new one")
			s.reopen(ctx)
		case err != nil && ctx.Err() == nil:
			s.log.ErrorContext(ctx, "beat", "error", err)
		}
	}
}

func (s *sessions) reopen(ctx context.Context) {
	s.interrupt()
	for {
		err := s.open(ctx)
		if err == nil || ctx.Err() != nil {
			return
		}
		s.log.ErrorContext(ctx, "open worker session", "error", err)
		if !pause(ctx, time.Second) {
			return
		}
	}
}
