package hub

import (
	"crypto/rand"
	"encoding/json"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

const (
	// listenBlock bounds each blocking read: go-redis does not hear a context
	// while it reads (https://github.com/redis/go-redis/issues/2556).
	listenBlock = 2 * time.Second
	// writeTimeout bounds a PUBLISH, dialTimeout a connection attempt.
	writeTimeout = 2 * time.Second
	dialTimeout  = 2 * time.Second
	// maxWaiting bounds the streams that wait to be sent, maxMessage the wakes
	// of one message, maxTopics the topics of one wake: beyond it the wake is
	// for everybody.
	maxWaiting = 4096
	maxMessage = 256
	maxTopics  = 64
	// minRetry and maxRetry bound the back-off while Redis is away.
	minRetry = 100 * time.Millisecond
	maxRetry = 5 * time.Second
)

// message is what goes over the channel, as JSON.
type message struct {
	// Origin is the process that sent it, which has already told its own
	// subscribers.
	Origin string `json:"o"`
	Wakes  []Wake `json:"w"`
}

// bus carries wakes between processes over one Redis channel. Publish/subscribe
// keeps nothing, which is right for wakes: what is lost is found by the poll,
// and nothing has to be trimmed.
type bus struct {
	channel, origin string
	log             *slog.Logger
	deliver         func([]Wake)
	resync          func()

	// The reader has a client of its own: a blocked read holds its connection.
	reader, writer *redis.Client

	kick    chan struct{}
	mu      sync.Mutex
	waiting map[string]Wake // one for each stream

	connected                          atomic.Bool
	sent, received, dropped, malformed atomic.Int64
}

func newBus(o *redis.Options, channel string, log *slog.Logger, deliver func([]Wake), resync func()) *bus {
	return &bus{
		channel: channel, origin: rand.Text(), log: log, deliver: deliver, resync: resync,
		reader: redis.NewClient(clientOptions(o)), writer: redis.NewClient(clientOptions(o)),
		kick: make(chan struct{}, 1), waiting: make(map[string]Wake),
	}
}

// clientOptions are the caller's with limits that fit one goroutine, which
// retries by itself.
func clientOptions(o *redis.Options) *redis.Options {
	c := *o
	c.PoolSize, c.MinIdleConns, c.MaxIdleConns = 1, 0, 1
	c.MaxRetries, c.DialerRetries = -1, 1
	c.DialTimeout, c.WriteTimeout, c.ReadTimeout = dialTimeout, writeTimeout, writeTimeout
	c.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return &c
}

// close ends both clients. Read and write have returned.
func (b *bus) close() {
	if err := b.reader.Close(); err != nil {
		b.log.Debug("close redis reader", slog.Any("error", err))
	}
	if err := b.writer.Close(); err != nil {
		b.log.Debug("close redis writer", slog.Any("error", err))
	}
}

// send puts wakes where the writer finds them. Those of one stream become one.
func (b *bus) send(wakes []Wake) {
	b.mu.Lock()
	for _, w := range wakes {
		b.put(w)
	}
	b.mu.Unlock()
	select {
	case b.kick <- struct{}{}:
	default:
	}
}

// put merges a wake into the one that already waits for its stream.
func (b *bus) put(w Wake) {
	old, ok := b.waiting[w.Stream]
	switch {
	case !ok && len(b.waiting) >= maxWaiting:
		b.dropped.Add(1)
	case !ok:
		b.waiting[w.Stream] = w
	default:
		b.waiting[w.Stream] = merge(old, w)
	}
}

// merge makes one wake of two of the same stream. Only neighbors are claimed
// as a whole: a hole between the two has to stay visible to the receiver.
func merge(a, b Wake) Wake {
	if a.Seq > b.Seq {
		a, b = b, a
	}
	m := Wake{Stream: b.Stream, Seq: b.Seq, From: b.first()}
	if a.Seq >= b.first()-1 {
		m.From = min(a.first(), b.first())
	}
	if len(a.Topics) == 0 || len(b.Topics) == 0 {
		return m
	}
	topics := slices.Concat(a.Topics, b.Topics)
	slices.Sort(topics)
	if topics = slices.Compact(topics); len(topics) <= maxTopics {
		m.Topics = topics
	}
	return m
}

// take empties what waits into messages of bounded size, and counts the wakes.
func (b *bus) take() (messages [][]byte, count int64) {
	b.mu.Lock()
	wakes := make([]Wake, 0, len(b.waiting))
	for _, w := range b.waiting {
		wakes = append(wakes, w)
	}
	clear(b.waiting)
	b.mu.Unlock()
	for part := range slices.Chunk(wakes, maxMessage) {
		body, err := json.Marshal(message{Origin: b.origin, Wakes: part})
		if err != nil { // strings and numbers always have a JSON form
			b.log.Error("encode wakes", slog.Any("error", err))
			continue
		}
		messages = append(messages, body)
	}
	return messages, int64(len(wakes))
}

func newRetry() *backoff.ExponentialBackOff {
	retry := backoff.NewExponentialBackOff()
	retry.InitialInterval, retry.MaxInterval = minRetry, maxRetry
	return retry
}
