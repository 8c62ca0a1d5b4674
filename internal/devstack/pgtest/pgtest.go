// Package pgtest gives each test a PostgreSQL database of its own: migrated (DSN)
// or empty (Empty), dropped when the test is over.
//
// Databases are copied from one template, which is made once per cluster and set
// of migrations. The cluster is the one that TEST_DATABASE_URL names, as its
// superuser, or else a private one that this process starts at the first call and
// that ends with the process. Main ends it in order.
//
// Only tests import this package. It must not know any table.
package pgtest

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"biztraak.dev/vm/internal/devstack"
)

// urlEnv names a running cluster to use, by the URL or keyword DSN of its superuser.
const urlEnv = "TEST_DATABASE_URL"

// patience covers the first start of a cluster on a busy machine.
const patience = 2 * time.Minute

// shared is the one cluster of a test process: go test gives a package's tests
// nothing else to keep it in.
var shared cluster

type cluster struct {
	mu       sync.Mutex
	server   *devstack.Postgres // nil when the cluster is not ours
	dsn      string
	template string
}

// Main is for a TestMain that has nothing else to do: it runs the tests and ends
// the private cluster, if one was started.
func Main(m *testing.M) {
	code := m.Run()
	if err := Stop(); err != nil {
		fmt.Fprintln(os.Stderr, "pgtest:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// Stop ends the private cluster, if one was started, for a TestMain that does
// more than Main.
func Stop() error {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.server == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	err := shared.server.Stop(ctx)
	shared.server, shared.dsn, shared.template = nil, "", ""
	return err
}

// Goleak lists what a private cluster leaves running between tests: the two
// goroutines that watch its process.
func Goleak() []goleak.Option {
	const process = "biztraak.dev/vm/internal/devstack/child.(*Process)"
	return []goleak.Option{
		goleak.IgnoreAnyFunction(process + ".run"),
		goleak.IgnoreAnyFunction(process + ".collect"),
	}
}

// DSN creates a database with every migration applied and returns its connection
// string. It is dropped, with whatever sessions are left, after the cleanups that
// t registers later.
func DSN(t testing.TB) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	admin, template, err := shared.ready(ctx, true)
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	return create(ctx, t, admin, template)
}

// Empty creates a database without any migration and returns its connection
// string.
func Empty(t testing.TB) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	admin, _, err := shared.ready(ctx, false)
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	return create(ctx, t, admin, "template0")
}

// ready starts the cluster at the first call, and makes the template at the first
// that wants it. A failure is tried again by the next test.
func (c *cluster) ready(ctx context.Context, withTemplate bool) (dsn, template string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dsn == "" {
		if dsn := os.Getenv(urlEnv); dsn != "" {
			c.dsn = dsn
		} else if err := c.startPrivate(ctx); err != nil {
			return "", "", err
		}
	}
	if withTemplate && c.template == "" {
		if c.template, err = makeTemplate(ctx, c.dsn, "template_"); err != nil {
			return "", "", fmt.Errorf("make the template database: %w", err)
		}
	}
	return c.dsn, c.template, nil
}

func (c *cluster) startPrivate(ctx context.Context) error {
	server, err := devstack.StartTemporaryPostgres(ctx, devstack.PostgresOptions{})
	if err != nil {
		return fmt.Errorf("%w\nOr name a running cluster, as its superuser, in %s", err, urlEnv)
	}
	c.server, c.dsn = server, server.DSN("postgres")
	return nil
}

func create(ctx context.Context, t testing.TB, admin, template string) string {
	t.Helper()
	name := "test_" + strings.ToLower(rand.Text())
	// Copying files takes a third of the time of writing the copy to the log: the
	// checkpoints it needs are nearly free without fsync.
	if err := execute(ctx, admin, "CREATE DATABASE "+name+" TEMPLATE "+template+" STRATEGY FILE_COPY"); err != nil {
		t.Fatalf("pgtest: create a database: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := execute(ctx, admin, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)"); err != nil {
			t.Errorf("pgtest: drop the database of this test: %v", err)
		}
	})
	dsn, err := withDatabase(admin, name)
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	return dsn
}

// execute runs statements on a connection of their own, one after the other.
func execute(ctx context.Context, dsn string, statements ...string) error {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // the work is done or its error is known
	for _, sql := range statements {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return err
		}
	}
	return nil
}
