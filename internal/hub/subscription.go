package hub

import (
	"context"
	"errors"
	"sync"
)

// ErrClosed is what Wait answers after Close, or after the hub stopped.
var ErrClosed = errors.New("hub: subscription closed")

// Subscription is one subscriber's slot for one stream. It holds the newest
// wake only: a reader that is slow finds one wake with the newest number, and
// never holds up who publishes.
//
// Its methods may be called from several goroutines; Wait, C and Take are meant
// for one reader.
type Subscription struct {
	hub    *Hub
	stream string
	topics []string

	ready chan struct{} // holds a token while there is something to take
	done  chan struct{} // closed by close

	mu      sync.Mutex
	last    int64 // the newest number offered, or said to be known by Skip
	pending bool
	closed  bool
}

func newSubscription(h *Hub, stream string, topics []string) *Subscription {
	return &Subscription{
		hub: h, stream: stream, topics: topics,
		ready: make(chan struct{}, 1), done: make(chan struct{}),
	}
}

// offer puts a number into the slot, unless the reader has been told of it, or
// of a newer one: whoever reads after number n also sees what came before n.
func (s *Subscription) offer(seq int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || seq <= s.last {
		return false
	}
	s.last, s.pending = seq, true
	select {
	case s.ready <- struct{}{}:
	default:
	}
	return true
}

// Skip says that the reader has read everything up to a number, so that no wake
// at or below it is delivered any more. Read the number before the data.
func (s *Subscription) Skip(upTo int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if upTo < s.last {
		return
	}
	s.last, s.pending = upTo, false
	select {
	case <-s.ready:
	default:
	}
}

// lower takes back a number that never existed, so that head, which does, can
// be offered: see stream.settle.
func (s *Subscription) lower(head int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last > head {
		s.last, s.pending = head-1, false
	}
}

// Wait blocks until there is a wake that was not taken yet, and takes it. The
// wake has the stream and its newest number; its Topics are empty, because many
// wakes may have become one. It fails with ErrClosed or the context's error.
func (s *Subscription) Wait(ctx context.Context) (Wake, error) {
	for {
		select {
		case <-s.done:
			return Wake{}, ErrClosed
		case <-ctx.Done():
			return Wake{}, ctx.Err()
		case <-s.ready:
			if w, ok := s.Take(); ok {
				return w, nil
			}
		}
	}
}

// C is readable while there is something to take, for use in a select together
// with other channels. After a receive call Take. It is not closed by Close;
// see Done.
func (s *Subscription) C() <-chan struct{} { return s.ready }

// Done is closed when the subscription is, by Close or because the hub stopped.
func (s *Subscription) Done() <-chan struct{} { return s.done }

// Take takes the wake in the slot, if there is one, without blocking.
func (s *Subscription) Take() (Wake, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.pending || s.closed {
		return Wake{}, false
	}
	s.pending = false
	select {
	case <-s.ready:
	default:
	}
	return Wake{Stream: s.stream, Seq: s.last}, true
}

// Close ends the subscription; waiting readers get ErrClosed. Closing twice is
// harmless.
func (s *Subscription) Close() {
	s.hub.unsubscribe(s)
	s.close()
}

func (s *Subscription) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.closed = true
		close(s.done)
	}
}
