package hub

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/devstack/redistest"
)

func options(t *testing.T, url string) *redis.Options {
	t.Helper()
	o, err := redis.ParseURL(url)
	require.NoError(t, err)
	return o
}

// never is a poll that does not come, so that only Redis can wake.
const never = time.Hour

// connected makes a started hub that listens to Redis.
func connected(t *testing.T, c Config) *Hub {
	t.Helper()
	c.Channel = "wakes"
	h := started(t, c)
	eventually(t, func() bool { return h.Stats().Connected })
	return h
}

func eventually(t *testing.T, condition func() bool) {
	t.Helper()
	require.Eventually(t, condition, patience, time.Millisecond)
}

func TestWakesCrossProcesses(t *testing.T) {
	redistest.Each(t, func(t *testing.T, url string) {
		a := connected(t, Config{Redis: options(t, url), Poll: never})
		b := connected(t, Config{Redis: options(t, url), Poll: never})
		here, there := a.Subscribe(project, "x"), b.Subscribe(project, "x")
		other := b.Subscribe(project, "y")
		defer here.Close()
		defer there.Close()
		defer other.Close()
		a.Publish(t.Context(), Wake{Stream: project, Seq: 3, Topics: []string{"x"}})
		require.EqualValues(t, 3, next(t, here))
		require.EqualValues(t, 3, next(t, there))
		quiet(t, other)
		require.Zero(t, a.Stats().Received, "a process hears itself directly")
		require.EqualValues(t, 1, b.Stats().Received)
	})
}

func TestNewestCrossesUnderLoad(t *testing.T) {
	const publishers, rounds = 8, 300
	redistest.Each(t, func(t *testing.T, url string) {
		a := connected(t, Config{Redis: options(t, url), Poll: never})
		b := connected(t, Config{Redis: options(t, url), Poll: never})
		asleep := b.Subscribe(project)
		defer asleep.Close()
		subs := make([]*Subscription, publishers)
		var writing sync.WaitGroup
		for p := range publishers {
			topic := fmt.Sprint("t", p)
			subs[p] = b.Subscribe(project, topic)
			defer subs[p].Close()
			writing.Go(func() {
				for r := range rounds {
					a.Publish(t.Context(), Wake{Stream: project, Seq: int64(r*publishers + p + 1), Topics: []string{topic}})
				}
			})
		}
		writing.Wait()
		for p, s := range subs {
			newest := int64((rounds-1)*publishers + p + 1)
			for seq := next(t, s); seq < newest; seq = next(t, s) {
			}
		}
	})
}

// A flush takes nothing away: wakes are not kept in Redis.
func TestFlushAll(t *testing.T) {
	redistest.Each(t, func(t *testing.T, url string) {
		a := connected(t, Config{Redis: options(t, url), Poll: never})
		b := connected(t, Config{Redis: options(t, url), Poll: never})
		s := b.Subscribe(project)
		defer s.Close()
		client := redis.NewClient(options(t, url))
		defer func() { require.NoError(t, client.Close()) }()
		require.NoError(t, client.FlushAll(t.Context()).Err())
		a.Publish(t.Context(), Wake{Stream: project, Seq: 1})
		require.EqualValues(t, 1, next(t, s))
	})
}

func TestStrangeMessages(t *testing.T) {
	redistest.Each(t, func(t *testing.T, url string) {
		h := connected(t, Config{Redis: options(t, url), Poll: never})
		s := h.Subscribe(project)
		defer s.Close()
		client := redis.NewClient(options(t, url))
		defer func() { require.NoError(t, client.Close()) }()
		for _, body := range []string{
			"", "{", `{"w":7}`, // malformed
			`{"w":[{"s":"project:prj_1","n":-5}]}`, `{"w":[{"n":9}]}`, `{"w":[{"s":"project:prj_1","n":1}]}`,
		} {
			require.NoError(t, client.Publish(t.Context(), "wakes", body).Err())
		}
		require.EqualValues(t, 1, next(t, s))
		require.EqualValues(t, 3, h.Stats().Malformed)
	})
}

func TestOutageAndRecovery(t *testing.T) {
	server := redistest.Real(t)
	heads := newTable()
	var lines safeBuffer
	c := Config{Redis: options(t, server.URL()), Heads: heads, Poll: 50 * time.Millisecond, Log: slog.New(slog.NewTextHandler(&lines, nil))}
	a, b := connected(t, c), connected(t, c)
	here, there := a.Subscribe(project), b.Subscribe(project)
	defer here.Close()
	defer there.Close()
	publish := func(seq int64) {
		heads.set(project, seq)
		begin := time.Now()
		a.Publish(t.Context(), Wake{Stream: project, Seq: seq})
		require.Less(t, time.Since(begin), time.Second, "publish waits for nothing")
	}
	publish(1)
	require.EqualValues(t, 1, next(t, here))
	require.EqualValues(t, 1, next(t, there))

	server.Kill()
	eventually(t, func() bool { return !a.Stats().Connected && !b.Stats().Connected })
	for seq := int64(2); seq < 30; seq++ {
		publish(seq)
		require.EqualValues(t, seq, next(t, here))
		require.EqualValues(t, seq, next(t, there), "found by the poll")
	}
	require.Positive(t, b.Stats().Found)

	server.Start()
	eventually(t, func() bool { return a.Stats().Connected && b.Stats().Connected })
	received := b.Stats().Received
	for seq := int64(30); b.Stats().Received == received; seq++ { // the writer may still pause
		publish(seq)
		require.EqualValues(t, seq, next(t, there))
	}
	require.Equal(t, 2, strings.Count(lines.String(), "cannot be listened to"), "once for each hub:\n%s", lines.String())
	require.LessOrEqual(t, strings.Count(lines.String(), "do not reach"), 2)
}

func TestStartsWithoutRedis(t *testing.T) {
	heads := newTable()
	o := &redis.Options{Addr: "127.0.0.1:1"}
	h := started(t, Config{Redis: o, Channel: "wakes", Heads: heads, Poll: 10 * time.Millisecond})
	s := h.Subscribe(project)
	defer s.Close()
	h.Publish(t.Context(), Wake{Stream: project, Seq: 1})
	require.EqualValues(t, 1, next(t, s))
	heads.set(project, 2)
	require.EqualValues(t, 2, next(t, s))
	_, err := New(Config{Redis: o, Heads: heads, Log: discard()})
	require.ErrorContains(t, err, "channel")
	_, err = New(Config{})
	require.Error(t, err)
}

func TestMerge(t *testing.T) {
	topics := func(n int) (many []string) {
		for i := range n {
			many = append(many, fmt.Sprintf("t%03d", i))
		}
		return many
	}
	wake := func(from, seq int64, topics ...string) Wake { return Wake{From: from, Seq: seq, Topics: topics} }
	tests := []struct {
		name       string
		a, b, want Wake
	}{
		{"neighbors", wake(4, 4, "x"), wake(5, 5, "y"), wake(4, 5, "x", "y")},
		{"in the other order", wake(4, 5, "x"), wake(2, 3, "x"), wake(2, 5, "x")},
		{"a hole stays a hole", wake(3, 3, "x"), wake(5, 5, "x"), wake(5, 5, "x")},
		{"for all", wake(4, 4), wake(5, 5, "x"), wake(4, 5)},
		{"too many topics", wake(4, 4, topics(maxTopics)...), wake(5, 5, "x"), wake(4, 5)},
		{"the same topics", wake(4, 4, topics(maxTopics)...), wake(5, 5, topics(3)...), wake(4, 5, topics(maxTopics)...)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { require.Equal(t, tt.want, merge(tt.a, tt.b)) })
	}
}

func TestWaitingWakesAreBounded(t *testing.T) {
	b := newBus(&redis.Options{}, "wakes", discard(), nil, nil)
	defer b.close()
	for i := range maxWaiting + 10 {
		b.send([]Wake{{Stream: fmt.Sprint("project:", i), Seq: 1}})
	}
	b.send([]Wake{{Stream: "project:0", Seq: 2}})
	require.EqualValues(t, 10, b.dropped.Load())
	messages, count := b.take()
	require.EqualValues(t, maxWaiting, count)
	require.Len(t, messages, maxWaiting/maxMessage)
	messages, count = b.take()
	require.Empty(t, messages)
	require.Zero(t, count)
}

// safeBuffer collects the log of several goroutines.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}
