package pgtest

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// victimEnv makes the test binary a test process that is killed by a test.
const victimEnv = "PGTEST_TEST_VICTIM"

func TestMain(m *testing.M) {
	if os.Getenv(victimEnv) == "" {
		Main(m)
		return
	}
	if _, _, err := shared.ready(context.Background(), false); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(shared.server.PID())
	<-shared.server.Done()
}

func query[T any](t *testing.T, dsn, sql string, args ...any) T {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(context.Background())) }()
	var value T
	require.NoError(t, conn.QueryRow(t.Context(), sql, args...).Scan(&value))
	return value
}

const (
	countTables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"
	isThere     = "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)"
	thisOne     = "SELECT current_database()::text"
)

func TestDatabases(t *testing.T) {
	t.Run("migrated", func(t *testing.T) { require.NotZero(t, query[int](t, DSN(t), countTables)) })
	t.Run("empty", func(t *testing.T) { require.Zero(t, query[int](t, Empty(t), countTables)) })
	t.Run("each test its own", func(t *testing.T) { require.NotEqual(t, DSN(t), DSN(t)) })
	t.Run("in parallel", func(t *testing.T) {
		for i := range 8 {
			t.Run(strconv.Itoa(i), func(t *testing.T) {
				t.Parallel()
				require.NotZero(t, query[int](t, DSN(t), countTables))
			})
		}
	})
}

func TestDatabaseIsDroppedThoughSessionsAreLeft(t *testing.T) {
	var name string
	var conn *pgx.Conn
	t.Run("a test that forgets to close", func(t *testing.T) {
		dsn := DSN(t)
		name = query[string](t, dsn, thisOne)
		var err error
		conn, err = pgx.Connect(context.Background(), dsn)
		require.NoError(t, err)
	})
	require.Error(t, conn.Ping(t.Context()))
	require.False(t, query[bool](t, Empty(t), isThere, name))
}

func TestTemplateIsMadeOnceByConcurrentProcesses(t *testing.T) {
	ctx := t.Context()
	admin, _, err := shared.ready(ctx, false)
	require.NoError(t, err)
	digest, err := migrationsDigest()
	require.NoError(t, err)
	const prefix = "pgtest_template_"
	want, half := prefix+digest, prefix+digest+"_building"
	remove := func() {
		require.NoError(t, execute(context.Background(), admin, "DROP DATABASE IF EXISTS "+want, "DROP DATABASE IF EXISTS "+half))
	}
	remove()
	t.Cleanup(remove)
	require.NoError(t, execute(ctx, admin, "CREATE DATABASE "+half)) // what a killed process leaves

	errs := make([]error, 4)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() { _, errs[i] = makeTemplate(ctx, admin, prefix) })
	}
	all.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	require.True(t, query[bool](t, admin, isThere, want))
	require.False(t, query[bool](t, admin, isThere, half))
}

func TestWithDatabase(t *testing.T) {
	tests := []struct{ name, dsn, want string }{
		{"url", "postgres://u:p@h:1/postgres?sslmode=disable", "postgres://u:p@h:1/other?sslmode=disable"},
		{"socket url", "postgres://u@/a?host=%2Ftmp%2Fx", "postgres://u@/other?host=%2Ftmp%2Fx"},
		{"keywords", "host=/tmp/x user=u dbname=a", "host=/tmp/x user=u dbname=a dbname=other"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := withDatabase(test.dsn, "other")
			require.NoError(t, err)
			require.Equal(t, test.want, got)
			cfg, err := pgx.ParseConfig(got)
			require.NoError(t, err)
			require.Equal(t, "other", cfg.Database)
		})
	}
	_, err := withDatabase("postgres://u:secret@h:port/x", "other")
	require.Error(t, err)
	require.NotContains(t, err.Error(), "secret")
}

func TestClusterEndsWithAKilledTestProcess(t *testing.T) {
	victim := exec.Command(os.Args[0])
	victim.Env = append(os.Environ(), victimEnv+"=1", urlEnv+"=")
	out, err := victim.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, victim.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(pid, 0))

	require.NoError(t, victim.Process.Kill())
	require.Error(t, victim.Wait())
	require.Eventually(t, func() bool { return syscall.Kill(pid, 0) != nil }, 20*time.Second, 20*time.Millisecond)
}
