package graph

import (
	"context"
	"errors"
	"time"

	"biztraak.dev/vm/internal/auth"
	"biztraak.dev/vm/internal/fault"
	"biztraak.dev/vm/internal/hub"
	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/transport/graphqlws"
)

// idleCheck is how often a stream in which nothing happens makes sure that what
// it follows still exists: when a project or a VM goes, its events or its log
// may go with it, and nothing is left to tell.
const idleCheck = 30 * time.Second

// stream is one subscription under way. Its values go through a channel without
// a buffer: nothing is prepared for a client that does not read.
type stream[T any] struct {
	resolver *Resolver
	guard    *guard
	out      chan *T
	// parent is the operation's context; ctx ends before it when access is lost.
	parent context.Context //nolint:containedctx // it lives exactly as long as the stream
	ctx    context.Context //nolint:containedctx // it lives exactly as long as the stream
	cancel context.CancelCauseFunc
	// wakes tell of changes in a project; nil until follow.
	wakes *hub.Subscription
}

// newStream begins a subscription to something of a team. It fails when the
// token has ended meanwhile.
func newStream[T any](ctx context.Context, r *Resolver, teamID ident.ID) (*stream[T], error) {
	who, err := auth.From(ctx)
	if err != nil {
		return nil, err
	}
	s := &stream[T]{resolver: r, guard: newGuard(r.Deps, who, teamID), out: make(chan *T), parent: ctx}
	s.ctx, s.cancel = context.WithCancelCause(ctx)
	if err := s.guard.begin(ctx); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// follow subscribes to the changes of a project, of certain objects when they
// are named, and answers the number that they have reached. Subscribed first and
// read second: nothing is missed in between.
func (s *stream[T]) follow(projectID ident.ID, objects ...ident.ID) (int64, error) {
	topics := make([]string, len(objects))
	for i, id := range objects {
		topics[i] = string(id)
	}
	s.wakes = s.resolver.Hub.Subscribe(hub.ProjectStream(projectID), topics...)
	heads, err := s.resolver.Operations.ProjectHeads(s.ctx, []string{string(projectID)})
	if err != nil {
		return 0, err
	}
	head := heads[string(projectID)]
	s.wakes.Skip(head)
	return head, nil
}

// close ends what the stream has begun.
func (s *stream[T]) close() {
	s.cancel(nil)
	s.guard.close()
	if s.wakes != nil {
		s.wakes.Close()
	}
}

// start runs the loop that sends values until it returns: nil for an end that
// needs no reason. A panic in it ends the subscription, not the process.
func (s *stream[T]) start(loop func() error) <-chan *T {
	go s.safely(func() { s.guard.watch(s.ctx, s.cancel) })
	go func() {
		defer close(s.out)
		defer s.close()
		s.safely(func() { s.finish(loop()) })
	}()
	return s.out
}

func (s *stream[T]) safely(f func()) {
	defer func() {
		if cause := recover(); cause != nil {
			s.end(s.resolver.presenter.recovered(s.parent, cause))
			s.cancel(nil)
		}
	}()
	f()
}

// finish tells the client why the subscription ends.
func (s *stream[T]) finish(err error) {
	if s.parent.Err() != nil {
		return // the client has ended it
	}
	if cause := context.Cause(s.ctx); cause != nil {
		err = cause
	}
	if err == nil || errors.Is(err, hub.ErrClosed) {
		return
	}
	var f *fault.Fault
	if errors.As(err, &f) && f.Code == fault.TopForbidden {
		// For whoever has left, the object is as good as gone.
		s.offer(s.parent, nil)
	}
	s.end(err)
}

func (s *stream[T]) end(err error) {
	graphqlws.End(s.parent, s.resolver.presenter.endOf(s.parent, err))
}

// send gives the client a value, once it takes one; false when the stream ends
// instead.
func (s *stream[T]) send(v *T) bool { return s.offer(s.ctx, v) }

func (s *stream[T]) offer(ctx context.Context, v *T) bool {
	select {
	case s.out <- v:
		return true
	case <-ctx.Done():
		return false
	}
}

// vanished ends the stream of something that is gone, or gone for this actor.
func (s *stream[T]) vanished() error {
	if err := s.guard.check(s.ctx); err != nil {
		return err
	}
	s.send(nil)
	return nil
}

// patiently waits as long as what is waited for exists. It answers false, with
// the stream ended, when that is gone.
func (s *stream[T]) patiently(wait func(context.Context) error, exists func(context.Context) (bool, error)) (bool, error) {
	for {
		idle, cancel := context.WithTimeout(s.ctx, idleCheck)
		err := wait(idle)
		cancel()
		if err == nil {
			return true, nil
		}
		if s.ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
			return false, err
		}
		still, err := exists(s.ctx)
		if err != nil {
			return false, err
		}
		if !still {
			return false, s.vanished()
		}
	}
}

// gone is the stream of something that is absent or not visible: null, and the
// end.
func gone[T any]() <-chan *T {
	out := make(chan *T, 1)
	out <- nil
	close(out)
	return out
}
