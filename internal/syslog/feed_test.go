package syslog

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/hub"
	"biztraak.dev/vm/internal/page"
)

func (w *world) feed(t testing.TB, r FeedRequest) *Feed {
	t.Helper()
	r.ProviderID = provider
	f, err := w.Feed(t.Context(), r)
	require.NoError(t, err)
	t.Cleanup(f.Close)
	return f
}

func nextBatch(t testing.TB, f *Feed) FeedBatch {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	b, err := f.Next(ctx)
	require.NoError(t, err)
	return b
}

func TestFeedBegins(t *testing.T) {
	w := threeDays(t)
	lines := w.all(t)
	at := func(seq int) *page.Cursor { c := lines[seq-1].Cursor(); return &c }
	start := place{day: lines[0].Day, seq: 0}.cursor()
	tests := []struct {
		name    string
		request FeedRequest
		want    []int64
	}{
		{"tail", FeedRequest{Tail: 5}, []int64{8, 9, 10, 11, 12}},
		{"tail longer than the log", FeedRequest{Tail: 100}, []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}},
		{"no tail", FeedRequest{}, []int64{}},
		{"tail of what fits", FeedRequest{Tail: 2, Filter: Filter{Contains: "line 1"}}, []int64{11, 12}},
		{"longer tail of what fits", FeedRequest{Tail: 9, Filter: Filter{Contains: "line 1"}}, []int64{1, 10, 11, 12}},
		{"nothing fits", FeedRequest{Tail: 9, Filter: Filter{Contains: "none"}}, []int64{}},
		{"after a cursor", FeedRequest{After: at(6)}, []int64{7, 8, 9, 10, 11, 12}},
		{"after the last", FeedRequest{After: at(12)}, []int64{}},
		{"from the start", FeedRequest{After: &start, Filter: Filter{Contains: "line 7"}}, []int64{7}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := w.feed(t, tt.request)
			b := nextBatch(t, f)
			require.Equal(t, tt.want, seqs(b.Lines))
			require.Equal(t, lines[11].Cursor(), b.EndCursor)
			require.False(t, b.Lagged)
		})
	}
	t.Run("of a log without lines", func(t *testing.T) {
		f, err := w.Feed(t.Context(), FeedRequest{ProviderID: "vmp_none", Tail: 10})
		require.NoError(t, err)
		defer f.Close()
		b := nextBatch(t, f)
		require.Empty(t, b.Lines)
		_, err = w.Feed(t.Context(), FeedRequest{ProviderID: "vmp_none", After: &b.EndCursor})
		require.NoError(t, err)
	})
}

func TestFeedRefuses(t *testing.T) {
	w := threeDays(t)
	malformed, beyond := page.Cursor("?"), place{day: time.Now(), seq: 13}.cursor()
	tests := []struct {
		name    string
		request FeedRequest
	}{
		{"malformed cursor", FeedRequest{After: &malformed}},
		{"cursor beyond the end", FeedRequest{After: &beyond}},
		{"negative tail", FeedRequest{Tail: -1}},
		{"endless tail", FeedRequest{Tail: MaxTail + 1}},
		{"bad filter", FeedRequest{Filter: Filter{MinPriority: new(-1)}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.request.ProviderID = provider
			_, err := w.Feed(t.Context(), tt.request)
			badRequest(t, err)
		})
	}
	require.Zero(t, w.hub.Stats().Subscriptions)
}

func TestFeedFollows(t *testing.T) {
	w := newWorld(t)
	f := w.feed(t, FeedRequest{})
	filtered := w.feed(t, FeedRequest{Filter: Filter{Contains: "line 3"}})
	require.Empty(t, nextBatch(t, f).Lines)
	require.Empty(t, nextBatch(t, filtered).Lines)
	w.append(t, numbered(1, 2)...)
	require.Equal(t, []int64{1, 2}, seqs(nextBatch(t, f).Lines))
	w.append(t, numbered(3, 1)...)
	b := nextBatch(t, f)
	require.Equal(t, []int64{3}, seqs(b.Lines))
	require.Equal(t, b.Lines[0].Cursor(), b.EndCursor)
	require.Equal(t, []int64{3}, seqs(nextBatch(t, filtered).Lines))

	resumed := w.feed(t, FeedRequest{After: &b.EndCursor})
	require.Empty(t, nextBatch(t, resumed).Lines)
	w.append(t, numbered(4, 1)...)
	require.Equal(t, []int64{4}, seqs(nextBatch(t, resumed).Lines))
}

func TestFeedCatchesUp(t *testing.T) {
	w := newWorld(t)
	w.append(t, numbered(1, 450)...)
	start := place{day: time.Unix(0, 0), seq: 0}.cursor()
	f := w.feed(t, FeedRequest{After: &start})
	for _, want := range []struct {
		lines  int
		lagged bool
	}{{200, true}, {200, false}, {50, false}} { // the second read is that of the live end
		b := nextBatch(t, f)
		require.Len(t, b.Lines, want.lines)
		require.Equal(t, want.lagged, b.Lagged)
	}
}

// Far behind, the database filters, and the cursor moves without a match.
func TestFilteredFeedTellsItsCursor(t *testing.T) {
	w := newWorld(t)
	follow := w.claim(t)
	for i := range 5 {
		require.NoError(t, w.Ingest(t.Context(), Batch{ProviderID: provider, Fence: follow.Fence, Lines: numbered(i*5000+1, 5000)}))
	}
	start := place{day: time.Unix(0, 0), seq: 0}.cursor()
	rest := func(b FeedBatch) int64 {
		p, err := parsePlace(&b.EndCursor)
		require.NoError(t, err)
		return 25000 - p.seq
	}
	t.Run("nothing fits", func(t *testing.T) {
		f := w.feed(t, FeedRequest{After: &start, Filter: Filter{Contains: "none"}})
		for _, want := range []int64{15000, 5000} {
			b := nextBatch(t, f)
			require.Empty(t, b.Lines)
			require.True(t, b.Lagged)
			require.Equal(t, want, rest(b))
		}
		w.beat = time.Millisecond
		require.EqualValues(t, 0, rest(nextBatch(t, f)))
	})
	t.Run("some fit", func(t *testing.T) {
		f := w.feed(t, FeedRequest{After: &start, Filter: Filter{Contains: "00"}})
		var got []Line
		for end := int64(25000); end > 0; {
			b := nextBatch(t, f)
			require.LessOrEqual(t, len(b.Lines), feedLines)
			got, end = append(got, b.Lines...), rest(b)
		}
		var want []int64
		for _, l := range w.all(t) {
			if (Filter{Contains: "00"}).match(l) {
				want = append(want, l.Seq)
			}
		}
		require.Equal(t, want, seqs(got))
	})
}

func TestFilteredFeedBeats(t *testing.T) {
	w := newWorld(t)
	w.beat = 50 * time.Millisecond
	f := w.feed(t, FeedRequest{Filter: Filter{Contains: "none"}})
	require.Empty(t, nextBatch(t, f).Lines)
	w.append(t, numbered(1, 3)...)
	b := nextBatch(t, f)
	require.Empty(t, b.Lines)
	require.Equal(t, w.all(t)[2].Cursor(), b.EndCursor)
	ctx, cancel := context.WithTimeout(t.Context(), 4*w.beat)
	defer cancel()
	_, err := f.Next(ctx) // nothing has moved, so there is nothing to tell
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestFeedEnds(t *testing.T) {
	w := newWorld(t)
	f := w.feed(t, FeedRequest{})
	nextBatch(t, f)
	f.Close()
	_, err := f.Next(t.Context())
	require.ErrorIs(t, err, hub.ErrClosed)
}

// An announcement of lines that do not exist must not make a feed pass over
// those that come.
func TestFeedDoesNotBelieveAnnouncements(t *testing.T) {
	for name, filter := range map[string]Filter{"all": {}, "filtered": {Contains: "line"}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			f := w.feed(t, FeedRequest{Filter: filter})
			nextBatch(t, f)
			w.hub.Publish(t.Context(), hub.Wake{Stream: hub.LogStream(provider), Seq: 1 << 40})
			got := make(chan FeedBatch)
			go func() {
				b, err := f.Next(t.Context())
				if err != nil {
					t.Error(err)
				}
				got <- b
			}()
			w.append(t, numbered(1, 1)...)
			require.Equal(t, []int64{1}, seqs((<-got).Lines))
		})
	}
}
