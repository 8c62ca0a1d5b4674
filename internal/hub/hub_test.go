package hub

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

const project = "project:prj_1"

func TestTopics(t *testing.T) {
	tests := []struct {
		name   string
		topics []string
		wake   Wake
		woken  bool
	}{
		{"no topic hears all", nil, Wake{Stream: project, Seq: 1, Topics: []string{"a"}}, true},
		{"its topic", []string{"a"}, Wake{Stream: project, Seq: 1, Topics: []string{"a"}}, true},
		{"one of its topics", []string{"a", "b"}, Wake{Stream: project, Seq: 1, Topics: []string{"b", "c"}}, true},
		{"another topic", []string{"a"}, Wake{Stream: project, Seq: 1, Topics: []string{"b"}}, false},
		{"a wake for all", []string{"a"}, Wake{Stream: project, Seq: 1}, true},
		{"another stream", nil, Wake{Stream: "project:prj_2", Seq: 1}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newHub(t, Config{})
			s := h.Subscribe(project, tt.topics...)
			defer s.Close()
			h.Publish(t.Context(), tt.wake)
			w, ok := s.Take()
			require.Equal(t, tt.woken, ok)
			if ok {
				require.Equal(t, Wake{Stream: project, Seq: 1}, w)
			}
			quiet(t, s)
		})
	}
}

func TestSlotKeepsTheNewest(t *testing.T) {
	h := newHub(t, Config{})
	s := h.Subscribe(project)
	defer s.Close()
	for _, seq := range []int64{1, 3, 2} {
		h.Publish(t.Context(), Wake{Stream: project, Seq: seq})
	}
	require.EqualValues(t, 3, next(t, s))
	quiet(t, s)
	h.Publish(t.Context(), Wake{Stream: project, Seq: 3})
	quiet(t, s)
	h.Publish(t.Context(), Wake{Stream: project, Seq: 4})
	<-s.C()
	w, ok := s.Take()
	require.True(t, ok)
	require.EqualValues(t, 4, w.Seq)
}

func TestSkip(t *testing.T) {
	h := newHub(t, Config{})
	s := h.Subscribe(project)
	defer s.Close()
	h.Publish(t.Context(), Wake{Stream: project, Seq: 4})
	s.Skip(5)
	quiet(t, s)
	h.Publish(t.Context(), Wake{Stream: project, Seq: 5})
	quiet(t, s)
	h.Publish(t.Context(), Wake{Stream: project, Seq: 6})
	s.Skip(5)
	require.EqualValues(t, 6, next(t, s))
}

func TestWaitEnds(t *testing.T) {
	h := newHub(t, Config{})
	t.Run("by its context", func(t *testing.T) {
		s := h.Subscribe(project)
		defer s.Close()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := s.Wait(ctx)
		require.ErrorIs(t, err, context.Canceled)
	})
	t.Run("by close", func(t *testing.T) {
		s := h.Subscribe(project)
		got := make(chan error)
		go func() { _, err := s.Wait(context.Background()); got <- err }()
		s.Close()
		s.Close()
		require.ErrorIs(t, <-got, ErrClosed)
		require.Zero(t, h.Stats().Streams)
	})
	t.Run("by stop, also for later ones", func(t *testing.T) {
		s := h.Subscribe(project)
		require.NoError(t, h.Stop(t.Context()))
		_, err := s.Wait(t.Context())
		require.ErrorIs(t, err, ErrClosed)
		_, err = h.Subscribe(project).Wait(t.Context())
		require.ErrorIs(t, err, ErrClosed)
		require.Error(t, h.Start(t.Context()))
	})
}

// The poll is what stays when every wake is lost.
func TestPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		heads := newTable()
		h := started(t, Config{Heads: heads})
		heads.set(project, 7)
		read, unread := h.Subscribe(project, "a"), h.Subscribe(project, "b")
		defer read.Close()
		defer unread.Close()
		read.Skip(7)

		begin := time.Now()
		require.EqualValues(t, 7, next(t, unread))
		require.LessOrEqual(t, time.Since(begin), DefaultPoll)
		quiet(t, read) // it knew

		heads.set(project, 8)
		begin = time.Now()
		require.EqualValues(t, 8, next(t, read))
		require.EqualValues(t, 8, next(t, unread))
		require.LessOrEqual(t, time.Since(begin), DefaultPoll)
		require.EqualValues(t, 3, h.Stats().Found)
	})
}

// A wake that arrives must not hide an earlier one that was lost.
func TestPollFindsWhatIsMissingInBetween(t *testing.T) {
	tests := []struct {
		name  string
		wakes []Wake
		woken bool // whether the poll has to wake the subscriber of b
	}{
		{"5 is lost", []Wake{{Stream: project, Seq: 6, Topics: []string{"a"}}}, true},
		{"none is lost", []Wake{
			{Stream: project, Seq: 5, Topics: []string{"a"}}, {Stream: project, Seq: 6, Topics: []string{"a"}},
		}, false},
		{"none is lost, out of order", []Wake{
			{Stream: project, Seq: 6, Topics: []string{"a"}}, {Stream: project, Seq: 5, Topics: []string{"a"}},
		}, false},
		{"one wake for both", []Wake{{Stream: project, From: 5, Seq: 6, Topics: []string{"a"}}}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			heads := newTable()
			heads.set(project, 4)
			h := newHub(t, Config{Heads: heads})
			a, b := h.Subscribe(project, "a"), h.Subscribe(project, "b")
			defer a.Close()
			defer b.Close()
			require.NoError(t, h.askHeads(t.Context()))
			require.EqualValues(t, 4, next(t, a))
			require.EqualValues(t, 4, next(t, b))

			h.Publish(t.Context(), tt.wakes...)
			heads.set(project, 6)
			require.EqualValues(t, 6, next(t, a))
			quiet(t, b)
			require.NoError(t, h.askHeads(t.Context()))
			quiet(t, a)
			w, ok := b.Take()
			require.Equal(t, tt.woken, ok)
			if ok {
				require.EqualValues(t, 6, w.Seq)
			}
		})
	}
}

// A number that does not exist must not silence a stream for ever.
func TestMadeUpNumberIsTakenBack(t *testing.T) {
	heads := newTable()
	heads.set(project, 4)
	h := newHub(t, Config{Heads: heads})
	s := h.Subscribe(project)
	defer s.Close()
	h.Publish(t.Context(), Wake{Stream: project, Seq: 1 << 40})
	require.EqualValues(t, 1<<40, next(t, s))
	require.NoError(t, h.askHeads(t.Context()))
	require.EqualValues(t, 4, next(t, s))
	h.Publish(t.Context(), Wake{Stream: project, Seq: 5})
	require.EqualValues(t, 5, next(t, s))
}

func TestSources(t *testing.T) {
	broken := errors.New("broken")
	s := Sources{
		KindLog: func(_ context.Context, ids []string) (map[string]int64, error) {
			require.ElementsMatch(t, []string{"vmp_1", "vmp_2"}, ids)
			return map[string]int64{"vmp_1": 1}, nil
		},
		KindAccess: func(_ context.Context, ids []string) (map[string]int64, error) {
			require.Equal(t, []string{"team_1/user_1"}, ids)
			return map[string]int64{"team_1/user_1": 2}, nil
		},
		KindProject: func(context.Context, []string) (map[string]int64, error) { return nil, broken },
	}
	heads, err := s.Heads(t.Context(), []string{
		LogStream("vmp_1"), LogStream("vmp_2"), AccessStream("team_1", "user_1"), ProjectStream("prj_1"), TokenStream("tok_1"),
	})
	require.ErrorIs(t, err, broken)
	require.ErrorContains(t, err, `"token"`)
	require.Equal(t, map[string]int64{"log:vmp_1": 1, "access:team_1/user_1": 2}, heads)
}

// Publishers race; every subscriber must end with the newest number of its
// topic, and a subscriber that never reads must hold up nobody.
func TestManySubscribersManyPublishers(t *testing.T) {
	const publishers, subscribers, rounds = 8, 2000, 200
	h := newHub(t, Config{})
	asleep := h.Subscribe(project)
	defer asleep.Close()
	var readers sync.WaitGroup
	for i := range subscribers {
		topic := fmt.Sprintf("t%d", i%publishers)
		newest := int64((rounds-1)*publishers + i%publishers + 1)
		s := h.Subscribe(project, topic)
		readers.Go(func() {
			defer s.Close()
			ctx, cancel := context.WithTimeout(t.Context(), 6*patience)
			defer cancel()
			for last := int64(0); last < newest; {
				w, err := s.Wait(ctx)
				if err != nil || w.Seq <= last {
					t.Errorf("after %d: wake %v, error %v", last, w, err)
					return
				}
				last = w.Seq
			}
		})
	}
	var writers sync.WaitGroup
	for p := range publishers {
		writers.Go(func() {
			for r := range rounds {
				h.Publish(t.Context(), Wake{Stream: project, Seq: int64(r*publishers + p + 1), Topics: []string{fmt.Sprintf("t%d", p)}})
			}
		})
	}
	writers.Wait()
	readers.Wait()
	require.EqualValues(t, publishers*rounds, next(t, asleep))
	require.EqualValues(t, 1, h.Stats().Subscriptions)
}

func BenchmarkPublishToOneTopicOf2000(b *testing.B) {
	h, err := New(Config{Heads: newTable(), Log: discard()})
	require.NoError(b, err)
	for i := range 2000 {
		h.Subscribe(project, fmt.Sprintf("t%d", i))
	}
	seq := int64(0)
	for b.Loop() {
		seq++
		h.Publish(b.Context(), Wake{Stream: project, Seq: seq, Topics: []string{"t7"}})
	}
}
