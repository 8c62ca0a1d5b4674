package operation_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/operation"
	"biztraak.dev/vm/internal/page"
)

// A transaction that has numbered its events and not yet committed holds the
// next one up: nobody can see the later number without the earlier.
func TestALateCommitIsNotMissed(t *testing.T) {
	w := newWorld(t)
	slow, err := w.db.Pool().Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = slow.Rollback(context.WithoutCancel(t.Context())) }()
	_, err = slow.Exec(t.Context(), `UPDATE project SET event_seq = event_seq + 1 WHERE id = $1`, w.project)
	require.NoError(t, err)
	_, err = slow.Exec(t.Context(), `INSERT INTO event (project_id, seq, kind, occurred_at, subject_id, topics)
		VALUES ($1, 1, 'PROJECT_UPDATED', app_now(), 'early', '{}')`, w.project)
	require.NoError(t, err)

	second := make(chan error, 1)
	go func() { second <- w.emit(t.Context(), "late") }()
	require.Eventually(t, func() bool {
		return query[int](w, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`) == 1
	}, patience, time.Millisecond, "the second transaction does not wait for the first")
	seen, err := w.ops.EventsAfter(t.Context(), w.project, 0, 10)
	require.NoError(t, err)
	require.Empty(t, seen)

	require.NoError(t, slow.Commit(t.Context()))
	require.NoError(t, <-second)
	seen, err = w.ops.EventsAfter(t.Context(), w.project, 0, 10)
	require.NoError(t, err)
	require.Equal(t, []string{"1 early", "2 late"}, words(seen))
}

func (w *world) emit(ctx context.Context, subjects ...string) error {
	return w.writer.Write(ctx, func(tx *operation.Tx) error {
		for _, s := range subjects {
			tx.Emit(operation.Event{ProjectID: w.project, Kind: operation.ProjectUpdated, SubjectID: ident.ID(s)})
		}
		return nil
	})
}

func words(events []operation.Event) []string {
	out := make([]string, len(events))
	for i, e := range events {
		out[i] = fmt.Sprintf("%d %s", e.Seq, e.SubjectID)
	}
	return out
}

func TestEachEventOnceWhateverTheFollowerDoes(t *testing.T) {
	const writers, perWriter = 8, 1250
	w := newWorld(t)
	var writing sync.WaitGroup
	failed := make(chan error, writers)
	for n := range writers {
		writing.Go(func() {
			for i := 0; i < perWriter; {
				var batch []string
				for range 1 + rand.IntN(20) {
					if i < perWriter {
						batch = append(batch, fmt.Sprintf("w%d-%d", n, i))
						i++
					}
				}
				if err := w.emit(t.Context(), batch...); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	next := map[byte]int{}
	var cursor int64 // what a follower that restarts still has
	deadline := time.After(2 * time.Minute)
	for cursor < writers*perWriter {
		for at := cursor; rand.IntN(10) > 0; { // each life of the follower
			got, err := w.ops.EventsAfter(t.Context(), w.project, at, 1+rand.IntN(400))
			require.NoError(t, err)
			for _, e := range got {
				require.Equal(t, at+1, e.Seq, "a gap or a repetition")
				at = e.Seq
				require.Equal(t, fmt.Sprintf("w%c-%d", e.SubjectID[1], next[e.SubjectID[1]]), string(e.SubjectID))
				next[e.SubjectID[1]]++
			}
			cursor = at
			if len(got) == 0 {
				break
			}
		}
		select {
		case err := <-failed:
			require.NoError(t, err)
		case <-deadline:
			require.Fail(t, "the follower does not get to the end", "at %d", cursor)
		default:
		}
	}
	writing.Wait()
	require.Len(t, next, writers)
	heads, err := w.ops.ProjectHeads(t.Context(), []string{string(w.project), "prj_gone"})
	require.NoError(t, err)
	require.Equal(t, map[string]int64{string(w.project): writers * perWriter}, heads)
}

// The transaction is run again after a deadlock; what the first run wanted to
// tell must not be told.
func TestARepeatedTransactionTellsOnce(t *testing.T) {
	w := newWorld(t)
	runs := 0
	err := w.writer.Write(t.Context(), func(tx *operation.Tx) error {
		runs++
		tx.Emit(operation.Event{ProjectID: w.project, Kind: operation.ProjectUpdated, SubjectID: "once"})
		if runs < 3 {
			return fmt.Errorf("work: %w", &pgconn.PgError{Code: "40P01"})
		}
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, 3, runs)
	seen, err := w.ops.EventsAfter(t.Context(), w.project, 0, 10)
	require.NoError(t, err)
	require.Equal(t, []string{"1 once"}, words(seen))
	require.Equal(t, []operation.Announcement{{
		Stream: operation.ProjectStream(w.project), From: 1, Seq: 1, Topics: []string{"once"},
	}}, w.said.all)
}

func TestWhatIsRolledBackIsNotTold(t *testing.T) {
	w := newWorld(t)
	broken := errors.New("broken")
	err := w.writer.Write(t.Context(), func(tx *operation.Tx) error {
		tx.Emit(operation.Event{ProjectID: w.project, Kind: operation.ProjectUpdated, SubjectID: "never"})
		return broken
	})
	require.ErrorIs(t, err, broken)
	require.Empty(t, w.said.all)
	require.Zero(t, query[int64](w, "SELECT event_seq FROM project WHERE id = ?", w.project))
}

func TestAnEventListsItsTopics(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, w.writer.Write(t.Context(), func(tx *operation.Tx) error {
		tx.Emit(operation.Event{
			ProjectID: w.project, Kind: operation.ProviderStatus, SubjectID: "vmp_x", Above: []ident.ID{"vm_y", w.project},
			OperationID: "op_z", Status: "RUNNING",
		})
		return nil
	}))
	want := []string{"op_z", string(w.project), "vm_y", "vmp_x"}
	require.Equal(t, want, w.said.all[0].Topics)
	require.Equal(t, "{"+want[0]+","+want[1]+","+want[2]+","+want[3]+"}", query[string](w, "SELECT topics::text FROM event"))
}

func TestEventPagesOf(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, w.emit(t.Context(), "a", "b", "c"))
	none := ident.New(ident.Project)
	first, err := w.ops.EventPagesOf(t.Context(), []ident.ID{none, w.project}, page.Args{First: ptr(2)})
	require.NoError(t, err)
	require.Len(t, first, 2)
	require.Empty(t, first[0].Items)
	require.Equal(t, []string{"1 a", "2 b"}, words(first[1].Items))
	require.True(t, first[1].HasNext)
	after := operation.EventCursor(2)
	rest, err := w.ops.EventPagesOf(t.Context(), []ident.ID{w.project}, page.Args{First: ptr(2), After: &after})
	require.NoError(t, err)
	require.Equal(t, []string{"3 c"}, words(rest[0].Items))
	require.False(t, rest[0].HasNext)
	for _, bad := range []page.Cursor{"", "rubbish", page.NewCursor("event"), page.NewCursor("log", "1"), page.NewCursor("event", "-1")} {
		_, err := w.ops.EventPagesOf(t.Context(), []ident.ID{w.project}, page.Args{After: &bad})
		require.ErrorContains(t, err, "BAD_REQUEST", "cursor %q", bad)
	}
}
