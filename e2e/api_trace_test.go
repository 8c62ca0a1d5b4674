package e2e_test

import (
	"context"
	"sync"

	"github.com/jackc/pgx/v5"

	"biztraak.dev/vm/internal/auth"
)

// statements collects what is sent to the database on behalf of requests: what
// has an actor in its context. The look-up of the token itself comes before.
type statements struct {
	mu   sync.Mutex
	sent []string
}

var _ pgx.QueryTracer = (*statements)(nil)

func (s *statements) TraceQueryStart(ctx context.Context, _ *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	if _, err := auth.From(ctx); err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.sent = append(s.sent, q.SQL)
	}
	return ctx
}

func (s *statements) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// take answers what was sent since the last take.
func (s *statements) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.sent
	s.sent = nil
	return out
}
