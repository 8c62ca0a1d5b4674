package syslog

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/page"
)

// tables lists the tables of lines, attached or not.
func (w *world) tables(t testing.TB) []string {
	t.Helper()
	conn, err := w.pool.Acquire(t.Context())
	require.NoError(t, err)
	defer conn.Release()
	found, err := partitions(t.Context(), conn.Conn())
	require.NoError(t, err)
	var names []string
	for _, p := range found {
		names = append(names, p.Name)
	}
	slices.Sort(names)
	return names
}

func days(from time.Time, n int) (names []string) {
	for i := range n {
		names = append(names, partitionName(from.AddDate(0, 0, i)))
	}
	return names
}

func TestPartitionsAreMade(t *testing.T) {
	w := newWorld(t)
	now, err := today(t.Context(), w.pool)
	require.NoError(t, err)
	require.Equal(t, days(now, 8), w.tables(t))
	k := w.keeper(t, Limits{RetentionDays: 7, MaxBytes: 1 << 30})
	require.NoError(t, k.Maintain(t.Context()))
	require.Equal(t, days(now, 8), w.tables(t))
	w.passDays(t, 3)
	require.Equal(t, days(now, 11), w.tables(t))
}

func TestRetention(t *testing.T) {
	w := threeDays(t)
	lines := w.all(t)
	k := w.keeper(t, Limits{RetentionDays: 1, MaxBytes: 1 << 30})
	require.NoError(t, k.Maintain(t.Context()))
	require.Equal(t, []int64{5, 6, 7, 8, 9, 10, 11, 12}, seqs(w.all(t)))
	require.Equal(t, days(lines[4].Day, 9), w.tables(t))

	expired := func(err error) page.Cursor {
		t.Helper()
		var e *CursorExpiredError
		require.ErrorAs(t, err, &e)
		return e.First
	}
	c := lines[2].Cursor()
	_, err := w.Page(t.Context(), provider, page.Args{After: &c}, Filter{})
	first := expired(err)
	_, err = w.Page(t.Context(), provider, page.Args{Last: new(5), Before: &c}, Filter{})
	require.Equal(t, first, expired(err))
	_, err = w.Feed(t.Context(), FeedRequest{ProviderID: provider, After: &c})
	require.Equal(t, first, expired(err))

	got, err := w.Page(t.Context(), provider, page.Args{After: &first}, Filter{})
	require.NoError(t, err)
	require.Equal(t, []int64{5, 6, 7, 8, 9, 10, 11, 12}, seqs(got.Items))
	c = lines[3].Cursor() // the line is gone, those after it are not
	_, err = w.Page(t.Context(), provider, page.Args{After: &c}, Filter{})
	require.NoError(t, err)

	t.Run("of everything", func(t *testing.T) {
		w.passDays(t, 7)
		require.NoError(t, k.Maintain(t.Context()))
		require.Empty(t, w.all(t))
		_, err = w.Page(t.Context(), provider, page.Args{After: &first}, Filter{})
		end := expired(err)
		w.append(t, numbered(13, 1)...)
		got, err := w.Page(t.Context(), provider, page.Args{After: &end}, Filter{})
		require.NoError(t, err)
		require.Equal(t, []int64{13}, seqs(got.Items))
	})
}

func TestRetentionOvertakesAFeed(t *testing.T) {
	for name, filter := range map[string]Filter{"all": {}, "filtered": {Contains: "line"}} {
		t.Run(name, func(t *testing.T) {
			w := threeDays(t)
			lines := w.all(t)
			c := lines[1].Cursor()
			f := w.feed(t, FeedRequest{After: &c, Filter: filter})
			require.NoError(t, w.keeper(t, Limits{RetentionDays: 1, MaxBytes: 1 << 30}).Maintain(t.Context()))
			_, err := f.Next(t.Context())
			var e *CursorExpiredError
			require.ErrorAs(t, err, &e)
			require.Equal(t, place{day: lines[4].Day, seq: 4}.cursor(), e.First)
		})
	}
}

// A server may die at any point of dropping a partition.
func TestRetentionIsTakenUp(t *testing.T) {
	limits := Limits{RetentionDays: 1, MaxBytes: 1 << 30}
	t.Run("detached and not dropped", func(t *testing.T) {
		w := threeDays(t)
		old := partitionName(w.all(t)[0].Day)
		w.exec(t, "ALTER TABLE log_line DETACH PARTITION "+old)
		require.NoError(t, w.keeper(t, limits).Maintain(t.Context()))
		require.NotContains(t, w.tables(t), old)
	})
	t.Run("half detached", func(t *testing.T) {
		w := threeDays(t)
		old := partitionName(w.all(t)[0].Day)
		w.halfDetach(t, old)
		require.NoError(t, w.keeper(t, limits).Maintain(t.Context()))
		require.NotContains(t, w.tables(t), old)
		require.Equal(t, []int64{5, 6, 7, 8, 9, 10, 11, 12}, seqs(w.all(t)))
	})
	t.Run("another server is at it", func(t *testing.T) {
		w := threeDays(t)
		before := w.tables(t)
		conn, err := pgx.Connect(t.Context(), w.pool.Config().ConnString())
		require.NoError(t, err)
		defer func() { require.NoError(t, conn.Close(context.Background())) }()
		_, err = conn.Exec(t.Context(), `SELECT pg_advisory_lock($1)`, dropLock)
		require.NoError(t, err)
		require.NoError(t, w.keeper(t, limits).Maintain(t.Context()))
		require.Equal(t, before, w.tables(t))
	})
}

// halfDetach leaves a partition as an interrupted DETACH … CONCURRENTLY does: it
// waits for a reader, and its backend is ended.
func (w *world) halfDetach(t testing.TB, name string) {
	t.Helper()
	reader, err := w.pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = reader.Exec(t.Context(), "SELECT 1 FROM "+name)
	require.NoError(t, err)
	conn, err := pgx.Connect(t.Context(), w.pool.Config().ConnString())
	require.NoError(t, err)
	detached := make(chan error, 1)
	go func() {
		_, err := conn.Exec(t.Context(), "ALTER TABLE log_line DETACH PARTITION "+name+" CONCURRENTLY")
		detached <- err
	}()
	require.Eventually(t, func() bool {
		var pending bool
		err := w.pool.QueryRow(t.Context(), `SELECT bool_or(inhdetachpending) FROM pg_inherits`).Scan(&pending)
		return err == nil && pending
	}, patience, 5*time.Millisecond)
	w.exec(t, `SELECT pg_terminate_backend($1, 10000)`, conn.PgConn().PID())
	require.Error(t, <-detached)
	require.NoError(t, reader.Rollback(t.Context()))
}

func TestQuota(t *testing.T) {
	big := func(n int) []Line {
		lines := numbered(1, n)
		for i := range lines {
			lines[i].Message = strings.Repeat("x", 1000)
		}
		return lines
	}
	bytes := func(w *world) (n int64) {
		require.NoError(t, w.pool.QueryRow(t.Context(), `SELECT COALESCE(sum(bytes), 0) FROM log_day`).Scan(&n))
		return n
	}
	stored := func(w *world) (n int64) {
		for _, l := range w.all(t) {
			n += int64(l.size())
		}
		return n
	}
	tests := []struct {
		name     string
		perDay   []int
		maxBytes int64
		want     func(t *testing.T, first int64)
	}{
		{"within the limit", []int{10, 10}, 1 << 20, func(t *testing.T, first int64) { require.EqualValues(t, 1, first) }},
		{"the oldest day goes as a whole", []int{10, 10, 10}, 25_000, func(t *testing.T, first int64) { require.EqualValues(t, 11, first) }},
		{"two days go", []int{10, 10, 10}, 15_000, func(t *testing.T, first int64) { require.EqualValues(t, 21, first) }},
		{"of the newest day the oldest lines go", []int{100}, 50_000, func(t *testing.T, first int64) {
			require.Greater(t, first, int64(50))
			require.Less(t, first, int64(70))
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			for day, n := range tt.perDay {
				if day > 0 {
					w.passDays(t, 1)
				}
				w.append(t, big(n)...)
			}
			require.Equal(t, stored(w), bytes(w))
			require.NoError(t, w.keeper(t, Limits{RetentionDays: 30, MaxBytes: tt.maxBytes}).Maintain(t.Context()))
			require.LessOrEqual(t, bytes(w), tt.maxBytes)
			require.Equal(t, stored(w), bytes(w))
			first := w.all(t)[0].Seq
			tt.want(t, first)
			b, err := w.bounds(t.Context(), provider)
			require.NoError(t, err)
			require.Equal(t, first, b.first)
		})
	}
}

func TestKeeperRuns(t *testing.T) {
	w := threeDays(t)
	old := partitionName(w.all(t)[0].Day)
	k := w.keeper(t, Limits{RetentionDays: 1, MaxBytes: 1 << 30})
	require.NoError(t, k.Start(t.Context()))
	require.Error(t, k.Start(t.Context()))
	require.Eventually(t, func() bool { return !slices.Contains(w.tables(t), old) }, patience, 5*time.Millisecond)
	require.NoError(t, k.Stop(t.Context()))
	require.NoError(t, k.Stop(t.Context()))
	_, err := NewKeeper(w.pool, Limits{}, discard())
	require.Error(t, err)
}
