package syslog

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/hub"
	"biztraak.dev/vm/internal/page"
)

// Eight writers, some of which roll back or are slow to commit, and followers
// that come back at random: each line once and in order.
func TestEachLineOnceAndInOrder(t *testing.T) {
	const writers, batches = 8, 40
	w := newWorld(t)
	fence := w.claim(t).Fence
	var writing sync.WaitGroup
	for i := range writers {
		writing.Go(func() {
			for j := range batches {
				lines := numbered(0, 1+rand.IntN(30))
				for n := range lines {
					lines[n].Message = fmt.Sprintf("%d/%d/%d", i, j, n)
				}
				if err := w.write(t.Context(), i, fence, lines); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { writing.Wait(); close(done) }()

	filters := []Filter{{}, {}, {Contains: "/"}}
	got := make([][]Line, len(filters))
	var following sync.WaitGroup
	for i, filter := range filters {
		following.Go(func() { got[i] = w.followWithRestarts(t, filter, done) })
	}
	following.Wait()
	want := w.all(t)
	for i, l := range want {
		require.EqualValues(t, i+1, l.Seq)
	}
	for i := range filters {
		require.Equal(t, want, got[i], "follower %d", i)
	}
	requireWriterOrder(t, want)
}

// write stores lines in one of the ways in which the product does.
func (w *world) write(ctx context.Context, writer int, fence int64, lines []Line) error {
	if writer%2 == 0 {
		return w.Ingest(ctx, Batch{ProviderID: provider, Fence: fence, Lines: lines})
	}
	for {
		tx, err := w.sql.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		last, err := w.AppendTx(ctx, tx, provider, lines)
		if err != nil {
			return err
		}
		if rand.IntN(4) == 0 {
			if err := tx.Rollback(); err != nil {
				return err
			}
			continue
		}
		if err := slowCommit(ctx, tx); err != nil {
			return err
		}
		if rand.IntN(3) > 0 { // an announcement that is lost is found by the poll
			w.hub.Publish(ctx, hub.Wake{Stream: hub.LogStream(provider), Seq: last})
		}
		return nil
	}
}

// slowCommit gives others the time to overtake, if they could.
func slowCommit(ctx context.Context, tx *sql.Tx) error {
	if _, err := tx.ExecContext(ctx, `SELECT pg_sleep($1)`, rand.Float64()/100); err != nil {
		return err
	}
	return tx.Commit()
}

// followWithRestarts reads until the writers are done and everything is read,
// beginning again after the last cursor every few batches.
func (w *world) followWithRestarts(t *testing.T, filter Filter, done <-chan struct{}) (got []Line) {
	after := place{seq: 0}.cursor()
	for {
		f, err := w.Feed(t.Context(), FeedRequest{ProviderID: provider, After: &after, Filter: filter})
		if err != nil {
			t.Error(err)
			return got
		}
		for range 1 + rand.IntN(10) {
			var b FeedBatch
			if b, err = w.nextUntil(t.Context(), f, done); err != nil {
				break
			}
			got, after = append(got, b.Lines...), b.EndCursor
		}
		f.Close()
		if err != nil && t.Context().Err() == nil {
			return append(got, w.rest(t, after)...)
		}
	}
}

// nextUntil is Next, given up when the writers are done.
func (w *world) nextUntil(ctx context.Context, f *Feed, done <-chan struct{}) (FeedBatch, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-done:
			cancel()
		case <-ctx.Done():
		}
	}()
	return f.Next(ctx)
}

// rest reads the pages after a cursor.
func (w *world) rest(t *testing.T, after page.Cursor) (lines []Line) {
	for {
		p, err := w.Page(t.Context(), provider, page.Args{After: &after}, Filter{})
		if err != nil {
			t.Error(err)
			return lines
		}
		if len(p.Items) == 0 {
			return lines
		}
		lines = append(lines, p.Items...)
		after = lines[len(lines)-1].Cursor()
	}
}

// requireWriterOrder checks that the lines of each writer are in its order and
// none is there twice.
func requireWriterOrder(t *testing.T, lines []Line) {
	t.Helper()
	last := make(map[int][2]int)
	for _, l := range lines {
		var writer, batch, n int
		_, err := fmt.Sscanf(l.Message, "%d/%d/%d", &writer, &batch, &n)
		require.NoError(t, err)
		before, ok := last[writer]
		inOrder := !ok && batch == 0 && n == 0 || ok && (batch == before[0] && n == before[1]+1 || batch == before[0]+1 && n == 0)
		require.True(t, inOrder, "writer %d: %v then %d/%d", writer, before, batch, n)
		last[writer] = [2]int{batch, n}
	}
}

// Two thousand followers of one log cost one read for each batch, not each their own.
func TestManyFollowersShareReads(t *testing.T) {
	const followers, batches = 2000, 10
	w := newWorld(t)
	fence := w.claim(t).Fence
	w.append(t, numbered(0, 1)...)
	feeds := make([]*Feed, followers)
	for i := range feeds {
		feeds[i] = w.feed(t, FeedRequest{})
		nextBatch(t, feeds[i])
	}
	loads := w.ring.Stats().Loads
	for b := range batches {
		require.NoError(t, w.Ingest(t.Context(), Batch{ProviderID: provider, Fence: fence, Lines: numbered(b*10, 10)}))
		var reading sync.WaitGroup
		for _, f := range feeds {
			reading.Go(func() {
				got, err := f.Next(t.Context())
				if err != nil || len(got.Lines) != 10 || got.Lagged {
					t.Errorf("%d lines, lagged %v, error %v", len(got.Lines), got.Lagged, err)
				}
			})
		}
		reading.Wait()
	}
	require.LessOrEqual(t, w.ring.Stats().Loads-loads, int64(2*batches))
}
