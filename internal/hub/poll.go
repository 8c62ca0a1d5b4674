package hub

import (
	"context"
	"log/slog"
	"time"
)

// pollTimeout bounds one question for the heads. It is longer than the poll
// itself: a slow database is asked less often, not more.
const pollTimeout = 5 * time.Second

// pollHeads asks for the heads at every tick, and at once when Redis came back.
func (h *Hub) pollHeads(ctx context.Context) {
	tick := time.NewTicker(h.poll)
	defer tick.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-h.pollNow:
		}
		err := h.askHeads(ctx)
		if ctx.Err() != nil {
			return
		}
		switch {
		case err != nil && !failing:
			h.log.WarnContext(ctx, "heads of streams cannot be read; changes may arrive late", slog.Any("error", err))
		case err == nil && failing:
			h.log.InfoContext(ctx, "heads of streams can be read again")
		}
		failing = err != nil
	}
}

// askNow makes the poll happen without waiting for its tick.
func (h *Hub) askNow() {
	select {
	case h.pollNow <- struct{}{}:
	default:
	}
}

// askHeads asks once for all subscribed streams and settles each.
func (h *Hub) askHeads(ctx context.Context) error {
	names, newest := h.subscribed()
	if len(names) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()
	h.counters.polls.Add(1)
	heads, err := h.heads.Heads(ctx, names)
	if err != nil {
		h.counters.pollErrors.Add(1)
	}
	for i, name := range names {
		head, ok := heads[name]
		if !ok {
			continue
		}
		sh := h.shardOf(name)
		sh.mu.Lock()
		if st, ok := sh.streams[name]; ok {
			h.counters.found.Add(int64(st.settle(head, newest[i])))
		}
		sh.mu.Unlock()
	}
	return err
}

// subscribed lists the subscribed streams and the newest number seen of each.
func (h *Hub) subscribed() (names []string, newest []int64) {
	for i := range h.shards {
		sh := &h.shards[i]
		sh.mu.Lock()
		for name, st := range sh.streams {
			names, newest = append(names, name), append(newest, st.newest)
		}
		sh.mu.Unlock()
	}
	return names, newest
}
