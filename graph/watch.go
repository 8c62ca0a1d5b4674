package graph

import (
	"context"
	"time"

	"biztraak.dev/vm/internal/hub"
	"biztraak.dev/vm/internal/ident"
)

// watchGap is the least time between two states of an object: ten a second.
const watchGap = 100 * time.Millisecond

// home is where an object belongs.
type home struct{ team, project ident.ID }

// watch follows the state of an object. read is what the query of the object
// uses; homeOf says where the object belongs.
func watch[T any](
	ctx context.Context, r *Resolver, id ident.ID, read func(context.Context, ident.ID) (*T, error), homeOf func(*T) home,
) (<-chan *T, error) {
	// This read only tells which project to subscribe to.
	found, err := read(ctx, id)
	if err != nil {
		return nil, err
	}
	if found == nil {
		return gone[T](), nil
	}
	at := homeOf(found)
	s, err := newStream[T](ctx, r, at.team)
	if err != nil {
		return nil, err
	}
	if _, err := s.follow(at.project, id); err != nil {
		s.close()
		return nil, err
	}
	return s.start(func() error {
		return s.sendStates(func() (*T, error) { return read(s.ctx, id) })
	}), nil
}

func (s *stream[T]) sendStates(read func() (*T, error)) error {
	exists := func(context.Context) (bool, error) {
		v, err := read()
		return v != nil, err
	}
	for {
		v, err := read()
		if err != nil {
			return err
		}
		if v == nil {
			return s.vanished()
		}
		sent := time.Now()
		if !s.send(v) {
			return nil
		}
		if more, err := s.patiently(s.change, exists); err != nil || !more {
			return err
		}
		if err := s.pause(sent); err != nil {
			return err
		}
	}
}

// change waits until the object, or what the actor may do with it, can be
// another.
func (s *stream[T]) change(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-s.wakes.Done():
		return hub.ErrClosed
	case <-s.guard.changed:
	case <-s.wakes.C():
	}
	return nil
}

// pause waits until the gap after the last state is over. Changes in the
// meantime become one.
func (s *stream[T]) pause(sent time.Time) error {
	if rest := watchGap - time.Since(sent); rest > 0 {
		timer := time.NewTimer(rest)
		defer timer.Stop()
		select {
		case <-s.ctx.Done():
			return s.ctx.Err()
		case <-timer.C:
		}
	}
	s.wakes.Take()
	return nil
}
