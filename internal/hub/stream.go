package hub

// maxAhead bounds how many wakes that came before their turn a stream
// remembers. Beyond it the poll has to sort things out, which costs the
// subscribers of the stream one read too many.
const maxAhead = 128

type subscriptions map[*Subscription]struct{}

// stream is what a process knows of one stream that it is subscribed to. It is
// guarded by the mutex of its shard.
type stream struct {
	// solid is the number up to which every wake was seen. Comparing the head
	// with the newest number instead would lose changes: when wake 5 is lost and
	// 6 arrives, the subscribers of 5's topic would never be told.
	solid int64
	// ahead are the ranges seen beyond solid: first number → last.
	ahead map[int64]int64
	// newest is the highest number that was offered to anybody.
	newest int64

	all     subscriptions
	plain   subscriptions // those of all that named no topic
	byTopic map[string]subscriptions
}

func newStream() *stream {
	return &stream{
		ahead: make(map[int64]int64),
		all:   make(subscriptions), plain: make(subscriptions),
		byTopic: make(map[string]subscriptions),
	}
}

func (st *stream) add(s *Subscription) {
	st.all[s] = struct{}{}
	if len(s.topics) == 0 {
		st.plain[s] = struct{}{}
	}
	for _, topic := range s.topics {
		if st.byTopic[topic] == nil {
			st.byTopic[topic] = make(subscriptions)
		}
		st.byTopic[topic][s] = struct{}{}
	}
}

func (st *stream) remove(s *Subscription) {
	delete(st.all, s)
	delete(st.plain, s)
	for _, topic := range s.topics {
		delete(st.byTopic[topic], s)
		if len(st.byTopic[topic]) == 0 {
			delete(st.byTopic, topic)
		}
	}
}

// wake offers a wake to those that it concerns and says how many took it. Its
// cost grows with their number, not with that of all subscribers.
func (st *stream) wake(w Wake) (woken int) {
	st.newest = max(st.newest, w.Seq)
	st.mark(w.first(), w.Seq)
	if len(w.Topics) == 0 {
		return st.all.offer(w.Seq)
	}
	woken = st.plain.offer(w.Seq)
	for _, topic := range w.Topics {
		woken += st.byTopic[topic].offer(w.Seq)
	}
	return woken
}

// mark notes that the numbers first..last were seen.
func (st *stream) mark(first, last int64) {
	if first > st.solid+1 {
		if len(st.ahead) < maxAhead {
			st.ahead[first] = max(st.ahead[first], last)
		}
		return
	}
	st.solid = max(st.solid, last)
	for again := true; again; {
		again = false
		for f, l := range st.ahead {
			if f <= st.solid+1 {
				delete(st.ahead, f)
				again = again || l > st.solid
				st.solid = max(st.solid, l)
			}
		}
	}
}

// settle compares what was seen with the head that the database answered, and
// wakes everybody when a wake is missing in between. newest is st.newest as it
// was before the database was asked.
func (st *stream) settle(head, newest int64) (woken int) {
	if head < newest {
		// A wake is sent after its transaction has committed, so somebody has
		// announced a number that does not exist: a foreign message in Redis, or
		// a database restored from a backup. Believing it would silence the
		// stream until the head gets there.
		st.newest, st.solid = head, min(st.solid, head)
		clear(st.ahead)
		for s := range st.all {
			s.lower(head)
		}
		return st.all.offer(head)
	}
	if head <= st.solid {
		return 0
	}
	st.newest = max(st.newest, head)
	st.mark(st.solid+1, head)
	return st.all.offer(head)
}

func (set subscriptions) offer(seq int64) (woken int) {
	for s := range set {
		if s.offer(seq) {
			woken++
		}
	}
	return woken
}
