// Command testcluster runs a command with a throw-away PostgreSQL cluster, named
// to it by TEST_DATABASE_URL, and passes its exit code through:
//
//	testcluster [-bindir folder] -- go test ./...
//
// One cluster, and one template database, then serve all packages of a test run.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"biztraak.dev/vm/internal/devstack"
)

// stopTimeout bounds the end of a cluster whose data nobody wants.
const stopTimeout = 20 * time.Second

func main() {
	binDir := flag.String("bindir", "", "folder of initdb and postgres; default: PG_BINDIR, else the newest that is found")
	flag.Parse()
	if flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "usage: testcluster [-bindir folder] -- command [argument ...]")
		os.Exit(2)
	}
	code, err := run(*binDir, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "testcluster:", err)
	}
	os.Exit(code)
}

func run(binDir string, command []string) (code int, err error) {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	begin := time.Now()
	cluster, err := devstack.StartTemporaryPostgres(ctx, devstack.PostgresOptions{BinDir: binDir})
	if err != nil {
		return 1, err
	}
	defer func() {
		stopCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		if stopErr := cluster.Stop(stopCtx); stopErr != nil {
			code, err = max(code, 1), errors.Join(err, stopErr)
		}
	}()
	fmt.Printf("testcluster: PostgreSQL %d is up after %v\n", cluster.Version(), time.Since(begin).Round(time.Millisecond))
	dsn, release := stableName(cluster)
	defer release()
	code, err = runCommand(ctx, command, dsn)
	return code, errors.Join(err, cluster.Err())
}

// stableName answers a DSN of the cluster that is the same in each run, so that
// the go command can tell that nothing has changed since a package passed. When
// another run has the name, the cluster's own is answered.
func stableName(cluster *devstack.Postgres) (string, func()) {
	own := cluster.DSN("postgres")
	nothing := func() {}
	u, err := url.Parse(own)
	if err != nil {
		return own, nothing
	}
	q := u.Query()
	name := filepath.Join(os.TempDir(), fmt.Sprintf("vmpg-test-%d-%d", os.Getuid(), cluster.Version()))
	lock, err := os.OpenFile(name+".lock", os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // our own name
	if err != nil {
		return own, nothing
	}
	release := func() { _ = lock.Close() }
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		release()
		return own, nothing
	}
	if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
		release()
		return own, nothing
	}
	if err := os.Symlink(q.Get("host"), name); err != nil {
		release()
		return own, nothing
	}
	q.Set("host", name)
	u.RawQuery = q.Encode()
	return u.String(), func() {
		_ = os.Remove(name) // the next run would, too
		release()
	}
}

// runCommand hands a signal on as SIGTERM and waits: the command cleans up while
// the cluster is still there.
func runCommand(ctx context.Context, command []string, dsn string) (int, error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...) //nolint:gosec // running it is the purpose
	cmd.Env = append(os.Environ(), "TEST_DATABASE_URL="+dsn)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopTimeout
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.ExitCode() > 0:
		return exit.ExitCode(), nil
	case err != nil:
		return 1, fmt.Errorf("%s: %w", command[0], err)
	}
	return 0, nil
}
