package hub

import "sync/atomic"

type counters struct {
	published, woken, polls, pollErrors, found atomic.Int64
}

// Stats are figures of one process since its start.
type Stats struct {
	// Streams and Subscriptions are how many there are now.
	Streams, Subscriptions int
	// Published counts the wakes given to Publish, Woken how often one of them,
	// or one from Redis, found a subscriber that did not know its number.
	Published, Woken int64
	// Sent and Received count wakes that went to Redis and that came from other
	// processes; Dropped those that Redis did not take, Malformed the messages
	// that could not be read.
	Sent, Received, Dropped, Malformed int64
	// Connected says whether the channel is being listened to.
	Connected bool
	// Polls and PollErrors count the questions for heads; Found how often a
	// subscriber was woken by one: the wakes that were lost, and the first
	// look at a stream.
	Polls, PollErrors, Found int64
}

// Stats reads the figures. It takes every shard's mutex once.
func (h *Hub) Stats() Stats {
	s := Stats{
		Published: h.counters.published.Load(), Woken: h.counters.woken.Load(),
		Polls: h.counters.polls.Load(), PollErrors: h.counters.pollErrors.Load(),
		Found: h.counters.found.Load(),
	}
	for i := range h.shards {
		sh := &h.shards[i]
		sh.mu.Lock()
		s.Streams += len(sh.streams)
		for _, st := range sh.streams {
			s.Subscriptions += len(st.all)
		}
		sh.mu.Unlock()
	}
	if h.bus != nil {
		s.Sent, s.Received = h.bus.sent.Load(), h.bus.received.Load()
		s.Dropped, s.Malformed = h.bus.dropped.Load(), h.bus.malformed.Load()
		s.Connected = h.bus.connected.Load()
	}
	return s
}
