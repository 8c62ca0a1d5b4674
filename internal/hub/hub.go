package hub

import (
	"context"
	"errors"
	"hash/maphash"
	"log/slog"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// shardCount spreads the streams over as many mutexes.
const shardCount = 32

// DefaultPoll is how often the heads are asked for: with no Redis a change
// arrives within this time and one query.
const DefaultPoll = time.Second

// Config is what a Hub is made of.
type Config struct {
	// Redis says how to reach Redis; nil means this process is alone and only
	// local and polled wakes exist.
	Redis *redis.Options
	// Channel is the Redis channel, the same for all processes of one
	// installation. Installations that share a Redis need different ones.
	Channel string
	// Heads is asked for the heads of all subscribed streams.
	Heads Heads
	// Poll is the time between two such questions; 0 means DefaultPoll.
	Poll time.Duration
	// Log gets one line for each beginning and end of an outage.
	Log *slog.Logger
}

// Hub is the fan-out of one process. Make it with New.
type Hub struct {
	heads   Heads
	poll    time.Duration
	log     *slog.Logger
	bus     *bus // nil without Redis
	pollNow chan struct{}

	seed   maphash.Seed
	shards [shardCount]shard

	mu      sync.Mutex // guards started, stop
	started bool
	stop    context.CancelFunc
	running sync.WaitGroup

	counters counters
}

type shard struct {
	mu      sync.Mutex
	closed  bool
	streams map[string]*stream
}

// New makes a hub. Subscribe and local wakes work at once; Redis and the poll
// begin with Start.
func New(c Config) (*Hub, error) {
	if c.Heads == nil || c.Log == nil {
		return nil, errors.New("hub: heads and log are required")
	}
	h := &Hub{
		heads: c.Heads, poll: c.Poll, log: c.Log,
		pollNow: make(chan struct{}, 1), seed: maphash.MakeSeed(),
	}
	if h.poll <= 0 {
		h.poll = DefaultPoll
	}
	for i := range h.shards {
		h.shards[i].streams = make(map[string]*stream)
	}
	if c.Redis != nil {
		if c.Channel == "" {
			return nil, errors.New("hub: a channel is required with redis")
		}
		h.bus = newBus(c.Redis, c.Channel, c.Log, h.deliver, h.askNow)
	}
	return h, nil
}

// Start begins to poll and to listen to Redis, which need not be there. It
// returns at once; the context gives values only, Stop ends the work.
func (h *Hub) Start(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.started {
		return errors.New("hub: already started")
	}
	h.started = true
	ctx, h.stop = context.WithCancel(context.WithoutCancel(ctx))
	h.running.Go(func() { h.pollHeads(ctx) })
	if h.bus != nil {
		h.running.Go(func() { h.bus.write(ctx) })
		h.running.Go(func() { h.bus.read(ctx) })
	}
	return nil
}

// Stop closes every subscription, ends the work and closes the connections. It
// waits for that as long as the context allows.
func (h *Hub) Stop(ctx context.Context) error {
	h.closeSubscriptions()
	h.mu.Lock()
	stop := h.stop
	h.started = true // too late to start now
	h.mu.Unlock()
	if stop != nil {
		stop()
	}
	stopped := make(chan struct{})
	go func() {
		h.running.Wait()
		if h.bus != nil {
			h.bus.close()
		}
		close(stopped)
	}()
	select {
	case <-stopped:
		return nil
	case <-ctx.Done():
		return errors.Join(errors.New("hub: still running"), ctx.Err())
	}
}

// Publish tells the subscribers of this process directly and those of the
// others through Redis. Call it after the commit. It never waits for Redis nor
// for a subscriber, and cannot fail: what Redis loses, the poll finds.
func (h *Hub) Publish(_ context.Context, wakes ...Wake) {
	h.counters.published.Add(int64(len(wakes)))
	h.deliver(wakes)
	if h.bus != nil {
		h.bus.send(wakes)
	}
}

// Subscribe registers for the wakes of a stream that name at least one of the
// topics, or for all of its wakes when no topic is given. Subscribe first and
// read second: what changes in between is then a wake. Close the subscription
// after use.
func (h *Hub) Subscribe(streamName string, topics ...string) *Subscription {
	s := newSubscription(h, streamName, topics)
	sh := h.shardOf(streamName)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.closed {
		s.close()
		return s
	}
	st, ok := sh.streams[streamName]
	if !ok {
		st = newStream()
		sh.streams[streamName] = st
	}
	st.add(s)
	return s
}

func (h *Hub) unsubscribe(s *Subscription) {
	sh := h.shardOf(s.stream)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	st, ok := sh.streams[s.stream]
	if !ok {
		return
	}
	st.remove(s)
	if len(st.all) == 0 {
		delete(sh.streams, s.stream)
	}
}

// deliver wakes the subscribers of this process.
func (h *Hub) deliver(wakes []Wake) {
	for _, w := range wakes {
		sh := h.shardOf(w.Stream)
		sh.mu.Lock()
		if st, ok := sh.streams[w.Stream]; ok {
			h.counters.woken.Add(int64(st.wake(w)))
		}
		sh.mu.Unlock()
	}
}

func (h *Hub) shardOf(streamName string) *shard {
	return &h.shards[maphash.String(h.seed, streamName)%shardCount]
}

func (h *Hub) closeSubscriptions() {
	for i := range h.shards {
		sh := &h.shards[i]
		sh.mu.Lock()
		sh.closed = true
		for _, st := range sh.streams {
			for s := range st.all {
				s.close()
			}
		}
		clear(sh.streams)
		sh.mu.Unlock()
	}
}
