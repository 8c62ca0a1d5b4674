package syslog

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"biztraak.dev/vm/internal/devstack/pgtest"
	"biztraak.dev/vm/internal/hub"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(cluster{m}) }

// cluster ends the database server of the tests before leaks are looked for.
type cluster struct{ m *testing.M }

func (c cluster) Run() int {
	code := c.m.Run()
	if err := pgtest.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return max(code, 1)
	}
	return code
}

const (
	provider = "vmp_1"
	// patience is how long a test waits for what must happen.
	patience = 30 * time.Second
)

// world is a database with partitions for today, a store over it and the hub
// that wakes its feeds.
type world struct {
	*Store
	pool *pgxpool.Pool
	sql  *sql.DB
}

func newWorld(t testing.TB) *world {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), pgtest.DSN(t))
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	w := &world{pool: pool, sql: stdlib.OpenDBFromPool(pool)}
	t.Cleanup(func() { require.NoError(t, w.sql.Close()) })
	h, err := hub.New(hub.Config{
		Heads: hub.Sources{hub.KindLog: func(ctx context.Context, ids []string) (map[string]int64, error) { return w.Heads(ctx, ids) }},
		Poll:  20 * time.Millisecond, Log: discard(),
	})
	require.NoError(t, err)
	w.Store = New(pool, h)
	require.NoError(t, h.Start(t.Context()))
	t.Cleanup(func() { require.NoError(t, h.Stop(context.Background())) })
	require.NoError(t, w.keeper(t, Limits{RetentionDays: 7, MaxBytes: 1 << 30}).create(t.Context()))
	return w
}

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

func (w *world) keeper(t testing.TB, limits Limits) *Keeper {
	t.Helper()
	k, err := NewKeeper(w.pool, limits, discard())
	require.NoError(t, err)
	return k
}

// session makes a worker session that lives as long as is said.
func (w *world) session(t testing.TB, id string, lives time.Duration) {
	t.Helper()
	w.exec(t, `INSERT INTO worker_session (id, started_at, expires_at) VALUES ($1, app_now(), app_now() + $2)
		ON CONFLICT (id) DO UPDATE SET expires_at = excluded.expires_at`, id, lives)
}

// want says that providers are to be followed, or not.
func (w *world) want(t testing.TB, wanted bool, providerIDs ...string) {
	t.Helper()
	w.tx(t, func(tx *sql.Tx) {
		for _, id := range providerIDs {
			require.NoError(t, w.WantTx(t.Context(), tx, id, wanted))
		}
	})
}

// claim makes the provider wanted and followed by a new session.
func (w *world) claim(t testing.TB) Follow {
	t.Helper()
	w.want(t, true, provider)
	w.session(t, "worker", time.Hour)
	taken, err := w.Claim(t.Context(), "worker", 1)
	require.NoError(t, err)
	require.Len(t, taken, 1)
	return taken[0]
}

func (w *world) tx(t testing.TB, do func(tx *sql.Tx)) {
	t.Helper()
	tx, err := w.sql.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	do(tx)
	require.NoError(t, tx.Commit())
}

// append stores platform lines in a transaction of their own and announces them.
func (w *world) append(t testing.TB, lines ...Line) {
	t.Helper()
	var last int64
	w.tx(t, func(tx *sql.Tx) {
		var err error
		last, err = w.AppendTx(t.Context(), tx, provider, lines)
		require.NoError(t, err)
	})
	w.hub.Publish(t.Context(), hub.Wake{Stream: hub.LogStream(provider), Seq: last})
}

func (w *world) exec(t testing.TB, statement string, args ...any) {
	t.Helper()
	_, err := w.pool.Exec(t.Context(), statement, args...)
	require.NoError(t, err)
}

// passDays moves the clock of the database, and makes the partitions of then.
func (w *world) passDays(t testing.TB, days int) {
	t.Helper()
	w.exec(t, `UPDATE clock_offset SET value = value + make_interval(days => $1)`, days)
	require.NoError(t, w.keeper(t, Limits{RetentionDays: 7, MaxBytes: 1}).create(t.Context()))
}

// numbered makes lines whose messages are "line <from>" and so on.
func numbered(from, n int) []Line {
	lines := make([]Line, n)
	for i := range lines {
		lines[i] = Line{Source: Platform, Unit: "platform", Priority: 6, Message: fmt.Sprintf("line %d", from+i)}
	}
	return lines
}

func messages(lines []Line) []string {
	texts := make([]string, len(lines))
	for i, l := range lines {
		texts[i] = l.Message
	}
	return texts
}

func seqs(lines []Line) []int64 {
	numbers := make([]int64, len(lines))
	for i, l := range lines {
		numbers[i] = l.Seq
	}
	return numbers
}
