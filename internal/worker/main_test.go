package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"biztraak.dev/vm/internal/devstack/pgtest"
	"biztraak.dev/vm/internal/guest"
	"biztraak.dev/vm/internal/hub"
	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/operation"
	"biztraak.dev/vm/internal/store"
	"biztraak.dev/vm/internal/syslog"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(cluster{m},
		// While Redis is away go-redis dials once a second in the background, and
		// notices up to a second late that its client was closed.
		goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
}

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

// patience is how long a test waits for what must happen.
const patience = 40 * time.Second

// world is a database with a project, and what a worker needs.
type world struct {
	t        *testing.T
	db       *store.DB
	writer   *operation.Writer
	registry operation.Registry
	logs     *syslog.Store
	clouds   *clouds
	team     ident.ID
	project  ident.ID
}

type silent struct{}

func (silent) Announce(context.Context, []operation.Announcement) {}

// clouds stands for the reconciler and for the way into guests.
type clouds struct {
	mu       sync.Mutex
	accounts []ident.ID
	looks    map[ident.ID]int
	guest    guest.Guest
}

func (c *clouds) AccountsInUse(context.Context) ([]ident.ID, error) { return c.accounts, nil }

func (c *clouds) Reconcile(_ context.Context, id ident.ID) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.looks[id]++
	return errors.New("the cloud is away")
}

func (c *clouds) JournalOf(_ context.Context, id ident.ID) (guest.Guest, guest.Target, bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.guest, guest.Target{InstanceID: string(id)}, c.guest != nil, nil
}

func newWorld(t *testing.T, steps ...operation.StepDef) *world {
	t.Helper()
	db, err := store.Open(t.Context(), pgtest.DSN(t), store.Options{MaxConns: 20})
	require.NoError(t, err)
	t.Cleanup(db.Close)
	w := &world{
		t: t, db: db, team: ident.New(ident.Team), project: ident.New(ident.Project),
		clouds: &clouds{looks: map[ident.ID]int{}},
	}
	w.writer = operation.NewWriter(db, silent{}, nil)
	w.registry, err = operation.NewRegistry(operation.Handler{
		Kind: "WORK", Steps: steps,
		Lock: func(tx *operation.Tx, target ident.ID) error {
			return tx.Exec("SELECT pg_advisory_xact_lock(hashtext(?))", target).Error
		},
		Begin: func(*operation.Tx, *operation.Work) error { return nil },
		End:   func(*operation.Tx, *operation.Work, operation.Status, *operation.Error) error { return nil },
	})
	require.NoError(t, err)
	h, err := hub.New(hub.Config{Log: discard(), Heads: hub.Sources{
		hub.KindLog: func(ctx context.Context, ids []string) (map[string]int64, error) { return w.logs.Heads(ctx, ids) },
	}})
	require.NoError(t, err)
	w.logs = syslog.New(db.Pool(), h)
	require.NoError(t, h.Start(t.Context()))
	t.Cleanup(func() { require.NoError(t, h.Stop(context.Background())) })
	keeper, err := syslog.NewKeeper(db.Pool(), syslog.Limits{RetentionDays: 7, MaxBytes: 1 << 30}, discard())
	require.NoError(t, err)
	require.NoError(t, keeper.Maintain(t.Context()))
	w.exec("INSERT INTO team (id, name, created_at) VALUES (?, 'Acme', app_now())", w.team)
	w.exec("INSERT INTO project (id, team_id, name, slug, created_at) VALUES (?, ?, 'web', 'web', app_now())", w.project, w.team)
	return w
}

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

func (w *world) exec(sql string, args ...any) {
	w.t.Helper()
	require.NoError(w.t, w.db.Gorm(w.t.Context()).Exec(sql, args...).Error)
}

func query[T any](w *world, sql string, args ...any) T {
	w.t.Helper()
	var out T
	require.NoError(w.t, w.db.Gorm(w.t.Context()).Raw(sql, args...).Scan(&out).Error)
	return out
}

// worker makes a worker on the Redis at the URL.
func (w *world) worker(redisURL string) *Worker {
	w.t.Helper()
	redis, err := asynq.ParseRedisURI(redisURL)
	require.NoError(w.t, err)
	return New(Config{Redis: redis, Urgent: 2, Work: 2, Followers: 10, ReconcileEvery: 50 * time.Millisecond}, Deps{
		Pool: w.db.Pool(), Writer: w.writer, Engine: operation.NewEngine(w.writer, w.registry, discard(), nil),
		Logs: w.logs, Reconciler: w.clouds, Journals: w.clouds, Log: discard(),
	})
}

// started starts a worker, which stops with the test if not before.
func (w *world) started(redisURL string) *Worker {
	w.t.Helper()
	k := w.worker(redisURL)
	require.NoError(w.t, k.Start(w.t.Context()))
	var once sync.Once
	w.t.Cleanup(func() { once.Do(func() { w.stop(k) }) })
	return k
}

func (w *world) stop(k *Worker) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	require.NoError(w.t, k.Stop(ctx))
}

func (w *world) enqueue(urgent bool) ident.ID {
	w.t.Helper()
	var id ident.ID
	require.NoError(w.t, w.writer.Write(w.t.Context(), func(tx *operation.Tx) (err error) {
		id, err = tx.Enqueue(operation.New{
			Kind: "WORK", TeamID: w.team, ProjectID: w.project, TargetID: ident.New(ident.Provider), Urgent: urgent,
			Steps: w.registry["WORK"].StepNames(),
		})
		return err
	}))
	return id
}

func (w *world) becomes(id ident.ID, status operation.Status) {
	w.t.Helper()
	require.Eventually(w.t, func() bool {
		return query[operation.Status](w, "SELECT status FROM operation WHERE id = ?", id) == status
	}, patience, 5*time.Millisecond, "operation %s does not become %s", id, status)
}
