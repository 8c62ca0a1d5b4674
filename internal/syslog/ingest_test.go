package syslog

import (
	"database/sql"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/page"
)

// all reads the whole log.
func (w *world) all(t testing.TB) []Line {
	t.Helper()
	lines, err := w.load(t.Context(), provider, 0, 1<<30)
	require.NoError(t, err)
	return lines
}

func TestIngest(t *testing.T) {
	w := newWorld(t)
	follow := w.claim(t)
	require.Empty(t, follow.JournalCursor)
	at := time.Date(2024, 2, 29, 10, 0, 0, 123456000, time.UTC)
	require.NoError(t, w.Ingest(t.Context(), Batch{
		ProviderID: provider, Fence: follow.Fence, NextCursor: "c1",
		Lines: []Line{
			{Time: at, Source: Journal, Unit: "caddy.service", Priority: 3, Message: "\x1b[31mdown\x1b[0m"},
			{Time: at.Add(-time.Hour), Source: Journal, Priority: 6, Message: strings.Repeat("x", MaxMessage+1)},
		},
	}))
	lines := w.all(t)
	require.Len(t, lines, 2)
	today := lines[0].Day
	require.WithinDuration(t, time.Now(), today, 25*time.Hour)
	require.Equal(t, Line{
		Seq: 1, Day: today, Time: at, Source: Journal, Unit: "caddy.service", Priority: 3,
		Message: "\x1b[31mdown\x1b[0m", PlainMessage: "down",
	}, lines[0])
	require.EqualValues(t, 2, lines[1].Seq)
	require.True(t, lines[1].Truncated)
	require.Equal(t, lines[1].Message, lines[1].PlainMessage)
	heads, err := w.Heads(t.Context(), []string{provider, "vmp_none"})
	require.NoError(t, err)
	require.Equal(t, map[string]int64{provider: 2}, heads)
}

func TestIngestOnce(t *testing.T) {
	w := newWorld(t)
	follow := w.claim(t)
	batch := func(expect, next string, lines ...Line) Batch {
		return Batch{ProviderID: provider, Fence: follow.Fence, ExpectCursor: expect, NextCursor: next, Lines: lines}
	}
	require.NoError(t, w.Ingest(t.Context(), batch("", "c1", numbered(1, 2)...)))
	steps := []struct {
		name  string
		batch Batch
		err   error
		lines int // stored in all afterwards
	}{
		{"the same again, its answer was lost", batch("", "c1", numbered(1, 2)...), nil, 2},
		{"from an old place", batch("", "c9", numbered(1, 2)...), ErrCursorMoved, 2},
		{"the next", batch("c1", "c2", numbered(3, 1)...), nil, 3},
		{"only the cursor", batch("c2", "c3"), nil, 3},
		{"lines without a cursor", batch("", "", numbered(4, 1)...), nil, 4},
		{"after the cursor that stayed", batch("c3", "c4", numbered(5, 1)...), nil, 5},
		{"too many lines", batch("c4", "c5", make([]Line, MaxBatch+1)...), ErrBatchTooLarge, 5},
	}
	for _, s := range steps {
		err := w.Ingest(t.Context(), s.batch)
		require.ErrorIs(t, err, s.err, s.name)
		require.Len(t, w.all(t), s.lines, s.name)
	}
	require.Equal(t, messages(numbered(1, 5)), messages(w.all(t)))
}

func TestIngestIsFenced(t *testing.T) {
	w := newWorld(t)
	old := w.claim(t)
	w.session(t, "worker", -time.Second)
	w.session(t, "heir", time.Hour)
	taken, err := w.Claim(t.Context(), "heir", 9)
	require.NoError(t, err)
	require.Equal(t, []Follow{{ProviderID: provider, Fence: old.Fence + 1}}, taken)
	batch := Batch{ProviderID: provider, Fence: old.Fence, NextCursor: "c1", Lines: numbered(1, 1)}
	require.ErrorIs(t, w.Ingest(t.Context(), batch), ErrFenced)
	batch.Fence++
	require.NoError(t, w.Ingest(t.Context(), batch))
	batch.ProviderID = "vmp_none"
	require.ErrorIs(t, w.Ingest(t.Context(), batch), ErrFenced)
	require.Len(t, w.all(t), 1)
}

func TestAppendTx(t *testing.T) {
	w := newWorld(t)
	lines := []Line{
		{Source: Platform, Unit: "step", Priority: 6, Message: "a \"quoted\" <line> \x00\x1b[1mbold", Time: time.Unix(1e9, 5000)},
		{Source: Platform, Priority: 4, Message: "second"},
	}
	w.tx(t, func(tx *sql.Tx) {
		last, err := w.AppendTx(t.Context(), tx, provider, lines)
		require.NoError(t, err)
		require.EqualValues(t, 2, last)
		last, err = w.AppendTx(t.Context(), tx, provider, lines[1:])
		require.NoError(t, err)
		require.EqualValues(t, 3, last)
	})
	got := w.all(t)
	require.Equal(t, []int64{1, 2, 3}, seqs(got))
	require.Equal(t, "a \"quoted\" <line> \x1b[1mbold", got[0].Message)
	require.Equal(t, "a \"quoted\" <line> bold", got[0].PlainMessage)
	require.Equal(t, time.Unix(1e9, 5000).UTC(), got[0].Time)
	require.Equal(t, Platform, got[0].Source)

	t.Run("a rollback leaves no hole", func(t *testing.T) {
		tx, err := w.sql.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		_, err = w.AppendTx(t.Context(), tx, provider, lines)
		require.NoError(t, err)
		require.NoError(t, tx.Rollback())
		w.append(t, lines[1])
		require.Equal(t, []int64{1, 2, 3, 4}, seqs(w.all(t)))
	})
	t.Run("too many lines", func(t *testing.T) {
		w.tx(t, func(tx *sql.Tx) {
			_, err := w.AppendTx(t.Context(), tx, provider, make([]Line, MaxBatch+1))
			require.ErrorIs(t, err, ErrBatchTooLarge)
		})
	})
}

// The day is part of the key and of the cursor, so it must follow the numbers
// even when the clock does not.
func TestDayNeverGoesBack(t *testing.T) {
	w := newWorld(t)
	w.passDays(t, 2)
	w.append(t, numbered(1, 1)...)
	w.passDays(t, -1)
	w.append(t, numbered(2, 1)...)
	follow := w.claim(t)
	require.NoError(t, w.Ingest(t.Context(), Batch{ProviderID: provider, Fence: follow.Fence, NextCursor: "c", Lines: numbered(3, 1)}))
	lines := w.all(t)
	require.Equal(t, []int64{1, 2, 3}, seqs(lines))
	require.Equal(t, lines[0].Day, lines[1].Day)
	require.Equal(t, lines[0].Day, lines[2].Day)
	first := lines[0].Cursor()
	got, err := w.Page(t.Context(), provider, page.Args{After: &first}, Filter{})
	require.NoError(t, err)
	require.Equal(t, messages(numbered(2, 2)), messages(got.Items))
}
