package e2e_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/app"
	"biztraak.dev/vm/internal/config"
	"biztraak.dev/vm/internal/devstack/pgtest"
	"biztraak.dev/vm/internal/devstack/redistest"
	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/operation"
	"biztraak.dev/vm/internal/seal"
	"biztraak.dev/vm/internal/store"
	"biztraak.dev/vm/internal/team"
)

const (
	// bootMillis is how long simulated machines boot, unless they are to be slow.
	bootMillis = 300
	// patience bounds what happens by itself, on a busy machine.
	patience = 60 * time.Second
	// seldom is a time between sweeps that no test lives to see.
	seldom = 3600
)

// installation is what the processes of one system share: a database, a Redis
// and a sealing key, with a first team and its owner.
type installation struct {
	t      testing.TB
	dsn    string
	redis  string
	keyset string
	teamID ident.ID
	token  string
	// sql is for looking at what was recorded.
	sql *pgxpool.Pool
}

// install makes an installation on the Redis at the URL; an empty one is the
// in-process Redis.
func install(t testing.TB, redisURL string) *installation {
	t.Helper()
	if redisURL == "" {
		redisURL = redistest.InProcess(t)
	}
	i := &installation{t: t, dsn: pgtest.DSN(t), redis: redisURL, keyset: filepath.Join(t.TempDir(), "keyset.json")}
	require.NoError(t, seal.CreateKeyset(i.keyset))
	i.bootstrap()
	var err error
	i.sql, err = pgxpool.New(t.Context(), i.dsn)
	require.NoError(t, err)
	t.Cleanup(i.sql.Close)
	i.keepLedger()
	return i
}

// bootstrap makes the first team the way the command does.
func (i *installation) bootstrap() {
	i.t.Helper()
	db, err := store.Open(i.t.Context(), i.dsn, store.Options{MaxConns: 2})
	require.NoError(i.t, err)
	defer db.Close()
	teams := team.NewService(team.Deps{DB: db, Writer: operation.NewWriter(db, nobody{}, nil)})
	i.token, i.teamID, err = teams.Bootstrap(i.t.Context(), "Main", "owner@example.com")
	require.NoError(i.t, err)
}

// nobody is told of a first team, when no process runs yet.
type nobody struct{}

// Announce implements operation.Announcer.
func (nobody) Announce(context.Context, []operation.Announcement) {}

// config is how a process of this installation is set up.
func (i *installation) config() *config.Config {
	return &config.Config{
		Listen: "127.0.0.1", DatabaseURL: i.dsn, RedisURL: i.redis, KeysetFile: i.keyset,
		DeployVMEnabled: true, DatabaseConns: 20, WorkerUrgent: 8, WorkerWork: 16, WorkerFollowers: 100,
		ReconcileSeconds: seldom, LogRetentionDays: 2, LogMaxBytesPerProvider: 1 << 30,
		SimulatorBootMillis: bootMillis, LogLevel: "info",
	}
}

// env is the same for a child process.
func (i *installation) env(more map[string]string) map[string]string {
	env := map[string]string{
		"PORT": "0", "LISTEN": "127.0.0.1", "DATABASE_URL": i.dsn, "REDIS_URL": i.redis, "KEYSET_FILE": i.keyset,
		"DEPLOY_VM_ENABLED": "true", "RECONCILE_SECONDS": strconv.Itoa(seldom), "METRICS_LISTEN": "",
		"SIMULATOR_BOOT_MILLIS": strconv.Itoa(bootMillis),
	}
	for name, value := range more {
		env[name] = value
	}
	return env
}

// start starts a process of the roles inside this one. It is stopped with the
// test; stopping it before is fine.
func (i *installation) start(roles app.Roles, change ...func(*app.Options)) *process {
	i.t.Helper()
	opt := app.Options{Config: i.config(), Roles: roles, Log: slog.New(slog.NewTextHandler(testLog{i.t}, nil))}
	for _, c := range change {
		c(&opt)
	}
	p, err := app.Start(i.t.Context(), opt)
	require.NoError(i.t, err)
	out := &process{Process: p, t: i.t}
	i.t.Cleanup(out.stop)
	return out
}

// client calls the process as the owner of the team.
func (i *installation) client(p *process) *client { return newClient(i.t, p.URL(), i.token) }

// process is a running process of the system.
type process struct {
	*app.Process
	t       testing.TB
	stopped bool
}

// stop stops the process in order; for the test's own goroutine.
func (p *process) stop() {
	p.t.Helper()
	if p.stopped {
		return
	}
	p.stopped = true
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	require.NoError(p.t, p.Stop(ctx))
}

// testLog shows what processes say in the output of the test. They are stopped
// before it ends.
type testLog struct{ t testing.TB }

// Write implements io.Writer.
func (l testLog) Write(p []byte) (int, error) {
	l.t.Log(string(p[:len(p)-1]))
	return len(p), nil
}

// system is an installation with one process that does everything, an account
// with a simulated cloud and a project.
type system struct {
	*installation
	*client
	process *process
	world   *world
}

// startSystem starts the whole system in this process, on the in-process Redis.
func startSystem(t testing.TB, change ...func(*app.Options)) *system {
	t.Helper()
	i := install(t, "")
	p := i.start(app.Roles{Serve: true, Work: true}, change...)
	c := i.client(p)
	return &system{installation: i, client: c, process: p, world: newWorld(c, i)}
}
