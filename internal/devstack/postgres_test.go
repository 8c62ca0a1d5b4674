package devstack

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// dataDir is t.TempDir with a path that an unprivileged cluster owner may enter.
func dataDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "devstack-test-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	if os.Getuid() == 0 {
		require.NoError(t, os.Chmod(dir, 0o711))
	}
	return dir
}

func start(t *testing.T, opts PostgresOptions) *Postgres {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	p, err := StartPostgres(ctx, opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, stop(p)) })
	return p
}

func stop(p *Postgres) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	return p.Stop(ctx)
}

func queryText(t *testing.T, dsn, sql string) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(context.Background())) }()
	var text string
	require.NoError(t, conn.QueryRow(t.Context(), sql).Scan(&text))
	return text
}

func TestPostgresFirstAndSecondStart(t *testing.T) {
	dir := dataDir(t)
	t.Setenv("PGPORT", "7") // must change nothing
	first := start(t, PostgresOptions{DataDir: dir, MaxConnections: 23})
	require.Equal(t, "23", queryText(t, first.DSN("postgres"), "SHOW max_connections"))
	require.Equal(t, "on", queryText(t, first.DSN("postgres"), "SHOW fsync"))
	require.Equal(t, "", queryText(t, first.DSN("postgres"), "SHOW listen_addresses"))
	for range 2 {
		require.NoError(t, first.EnsureDatabase(t.Context(), `odd "name"`))
	}
	require.Equal(t, `odd "name"`, queryText(t, first.DSN(`odd "name"`), "SELECT current_database()"))
	socketDir := first.socketDir
	require.NoError(t, stop(first))
	require.NoError(t, first.Err(), "a stop that was asked for is no error")
	require.NoDirExists(t, socketDir)

	second := start(t, PostgresOptions{DataDir: dir})
	require.Equal(t, `odd "name"`, queryText(t, second.DSN(`odd "name"`), "SELECT current_database()"))
	require.Equal(t, first.Version(), second.Version())
}

func TestPostgresRunsAsUnprivilegedUserBehindPrivateFolder(t *testing.T) {
	p := start(t, PostgresOptions{DataDir: dataDir(t), Fast: true})
	own, err := clusterOwner(os.Getuid(), user.Lookup)
	require.NoError(t, err)
	want := os.Getuid()
	if own.cred != nil {
		want = int(own.cred.Uid)
	}
	require.NotZero(t, want)
	for _, path := range []string{p.cluster.dir, p.socketDir, filepath.Join(p.socketDir, ".s.PGSQL.5432")} {
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o700), info.Mode().Perm(), path)
		require.Equal(t, want, int(info.Sys().(*syscall.Stat_t).Uid), path)
	}
}

func TestPostgresNoticesWhenTheServerDies(t *testing.T) {
	var log lockedBuffer
	p := start(t, PostgresOptions{DataDir: dataDir(t), Fast: true, Output: &log})
	require.NoError(t, p.Err())
	require.NoError(t, syscall.Kill(p.PID(), syscall.SIGQUIT))
	select {
	case <-p.Done():
	case <-time.After(20 * time.Second):
		t.Fatal("Done was not closed")
	}
	require.ErrorContains(t, p.Err(), "ended on its own")
	require.Contains(t, log.String(), "immediate shutdown")
}

func TestStartFailureQuotesTheServer(t *testing.T) {
	dir := dataDir(t)
	p := start(t, PostgresOptions{DataDir: dir, Fast: true})
	require.NoError(t, stop(p))
	require.NoError(t, os.Remove(filepath.Join(p.cluster.dir, "postgresql.conf")))
	_, err := StartPostgres(t.Context(), PostgresOptions{DataDir: dir})
	require.ErrorContains(t, err, "postgresql.conf")
}

func TestCanceledStartLeavesNothing(t *testing.T) {
	t.Run("before it begins", func(t *testing.T) {
		dir := dataDir(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := StartPostgres(ctx, PostgresOptions{DataDir: dir})
		require.ErrorIs(t, err, context.Canceled)
		requireEmpty(t, dir)
	})
	t.Run("in the middle of initdb", func(t *testing.T) {
		dir, bin := dataDir(t), dataDir(t)
		fakeProgram(t, bin, "postgres", "echo 'postgres (PostgreSQL) 17.2'")
		fakeProgram(t, bin, "initdb", `echo 17 >"$2/PG_VERSION"; exec sleep 600`)
		ctx, cancel := context.WithCancel(t.Context())
		result := make(chan error, 1)
		go func() {
			_, err := StartPostgres(ctx, PostgresOptions{DataDir: dir, BinDir: bin})
			result <- err
		}()
		require.Eventually(t, func() bool {
			begun, err := filepath.Glob(filepath.Join(dir, "pg17.new-*", "PG_VERSION"))
			return err == nil && len(begun) == 1
		}, 20*time.Second, 10*time.Millisecond)
		cancel()
		require.ErrorIs(t, <-result, context.Canceled)
		requireEmpty(t, dir)
	})
}

func requireEmpty(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, entries)
}

// fakeProgram writes a shell script that anybody may run.
func fakeProgram(t *testing.T, dir, name, script string) {
	t.Helper()
	path := filepath.Join(dir, name)
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o600))
	require.NoError(t, os.Chmod(path, 0o755))
}

func TestClusterSurvivesKillOfItsParent(t *testing.T) {
	dir := dataDir(t)
	victim := exec.Command(os.Args[0])
	victim.Env = append(os.Environ(), victimEnv+"="+dir)
	var stderr lockedBuffer
	victim.Stderr = &stderr
	out, err := victim.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, victim.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err, stderr.String())
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	require.NoError(t, err)
	require.True(t, alive(pid))

	require.NoError(t, victim.Process.Kill())
	require.Error(t, victim.Wait())
	// Straight away: the next start has to wait for the old server by itself.
	p := start(t, PostgresOptions{DataDir: dir, Fast: true})
	require.Equal(t, "committed", queryText(t, p.DSN("postgres"), "SELECT note FROM kept"))
	require.Eventually(t, func() bool { return !isPostmaster(t.Context(), pid, dir) || !alive(pid) },
		10*time.Second, 20*time.Millisecond, "the old server is still there")
}

func TestSecondStartOnALiveClusterIsRefused(t *testing.T) {
	p := start(t, PostgresOptions{DataDir: dataDir(t), Fast: true})
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	err := p.cluster.awaitRelease(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestPIDFileOfAnotherProcessIsStale(t *testing.T) {
	own, err := clusterOwner(os.Getuid(), user.Lookup)
	require.NoError(t, err)
	bystander := exec.Command("sleep", "600")
	bystander.SysProcAttr = own.attr() // of the user that would make postgres refuse
	require.NoError(t, bystander.Start())
	t.Cleanup(func() {
		require.NoError(t, bystander.Process.Kill())
		require.Error(t, bystander.Wait())
	})
	dir := dataDir(t)
	first := start(t, PostgresOptions{DataDir: dir, Fast: true})
	pidFile := filepath.Join(first.cluster.dir, "postmaster.pid")
	text, err := os.ReadFile(pidFile)
	require.NoError(t, err)
	require.NoError(t, stop(first))
	_, rest, _ := strings.Cut(string(text), "\n")
	require.NoError(t, os.WriteFile(pidFile, []byte(strconv.Itoa(bystander.Process.Pid)+"\n"+rest), 0o600))
	require.NoError(t, own.give(pidFile))

	second := start(t, PostgresOptions{DataDir: dir, Fast: true})
	require.NoError(t, second.ping(t.Context()))
}

func TestTemporaryClusterIsFastAndRemoved(t *testing.T) {
	p, err := StartTemporaryPostgres(t.Context(), PostgresOptions{})
	require.NoError(t, err)
	require.Equal(t, "off", queryText(t, p.DSN("postgres"), "SHOW fsync"))
	require.NoError(t, stop(p))
	require.NoError(t, stop(p), "a second stop changes nothing")
	require.NoDirExists(t, filepath.Dir(p.cluster.dir))
}

func TestTemporariesOfDeadProcessesAreRemoved(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	old := time.Now().Add(-2 * abandonedAfter)
	make := func(name string) string {
		dir := filepath.Join(temporaryRoot(), temporaryPrefix+name)
		require.NoError(t, os.Mkdir(dir, 0o700))
		return dir
	}
	dead, held, young := make("dead"), make("held"), make("young")
	lock, err := LockDataDir(held)
	require.NoError(t, err)
	defer func() { require.NoError(t, lock.Unlock()) }()
	require.NoError(t, os.Chtimes(dead, old, old))
	require.NoError(t, os.Chtimes(held, old, old))

	removeTemporaries(t.Context())
	require.NoDirExists(t, dead)
	require.DirExists(t, held)
	require.DirExists(t, young)
}

// lockedBuffer is written by the server's log reader and read by a test.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
