package devstack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"biztraak.dev/vm/internal/devstack/child"
)

// defaultMaxConnections serves one development server and a psql or two.
const defaultMaxConnections = 60

// PostgresOptions says where a private cluster lives and how it runs.
type PostgresOptions struct {
	// DataDir holds the cluster in a folder pg<major>; created if absent.
	DataDir string
	// BinDir is the folder of initdb and postgres; empty means PG_BINDIR, and
	// without that a search (see FindBinaries).
	BinDir string
	// Log gets a line about each step; nil is silent.
	Log *slog.Logger
	// Output gets the server's own log, a line at a time; nil drops it.
	Output io.Writer
	// MaxConnections is 60 when it is 0.
	MaxConnections int
	// Fast trades crash safety for speed: for clusters that are thrown away.
	Fast bool
}

// Postgres is a running private cluster. It ends with this process, even when
// this process is killed.
type Postgres struct {
	cluster   cluster
	socketDir string
	process   *child.Process
	log       *slog.Logger
	cleanup   func() error
}

// StartPostgres creates the cluster on the first start, starts the server and
// returns when it answers. As root the server runs as the system user postgres,
// else nobody. It listens on a Unix socket only. An existing cluster is never
// replaced: data of a major version that is not installed are an error, and so
// is a server that still runs on them after 10 seconds. ErrNoPostgres is in the
// chain when there is nothing to run.
func StartPostgres(ctx context.Context, opts PostgresOptions) (*Postgres, error) {
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	if opts.MaxConnections == 0 {
		opts.MaxConnections = defaultMaxConnections
	}
	c, err := prepareCluster(ctx, opts)
	if err != nil {
		return nil, fmt.Errorf("private PostgreSQL: %w", err)
	}
	p, err := c.start(ctx, opts)
	if err != nil {
		return nil, fmt.Errorf("private PostgreSQL: %w", err)
	}
	return p, nil
}

func prepareCluster(ctx context.Context, opts PostgresOptions) (cluster, error) {
	dataDir, err := filepath.Abs(opts.DataDir)
	if err != nil {
		return cluster{}, fmt.Errorf("data folder: %w", err)
	}
	if err := makeDataDir(dataDir); err != nil {
		return cluster{}, fmt.Errorf("data folder: %w", err)
	}
	installed, err := FindBinaries(ctx, opts.BinDir)
	if err != nil {
		return cluster{}, err
	}
	own, err := clusterOwner(os.Getuid(), user.Lookup)
	if err != nil {
		return cluster{}, err
	}
	c, err := chooseCluster(installed, dataDir, own)
	if err != nil {
		return cluster{}, err
	}
	begin := time.Now()
	if err := c.create(ctx, !opts.Fast); err != nil {
		return cluster{}, err
	}
	opts.Log.DebugContext(ctx, "cluster ready to start", "major", c.bin.Major, "binaries", c.bin.Dir, "data", c.dir, "took", time.Since(begin))
	return c, c.awaitRelease(ctx)
}

func (c cluster) start(ctx context.Context, opts PostgresOptions) (*Postgres, error) {
	socketDir, err := makeSocketDir(c.owner)
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	cmd := exec.Command(filepath.Join(c.bin.Dir, "postgres"), c.args(socketDir, opts)...) //nolint:gosec,noctx // lives longer than ctx
	cmd.SysProcAttr = c.owner.attr()
	cmd.Dir, cmd.Env = c.dir, serverEnv()
	process, err := child.Start(child.Spec{
		Cmd: cmd, Output: opts.Output,
		Graceful: syscall.SIGINT,  // "fast": roll back, write a checkpoint, end
		Urgent:   syscall.SIGQUIT, // "immediate": end now, recover at the next start
	})
	if err != nil {
		return nil, errors.Join(c.owner.explain(err, filepath.Dir(c.dir)), os.Remove(socketDir))
	}
	p := &Postgres{cluster: c, socketDir: socketDir, process: process, log: opts.Log, cleanup: func() error { return nil }}
	if err := p.awaitReady(ctx); err != nil {
		// ctx may be over; the server still gets its time to end.
		stopCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownWait)
		defer cancel()
		return nil, errors.Join(err, p.Stop(stopCtx))
	}
	opts.Log.InfoContext(ctx, "private PostgreSQL is ready", "major", c.bin.Major, "data", c.dir, "took", time.Since(begin).Round(time.Millisecond))
	return p, nil
}

func (c cluster) args(socketDir string, opts PostgresOptions) []string {
	args := []string{"-D", c.dir, "-k", socketDir, "-p", strconv.Itoa(socketPort), "-N", strconv.Itoa(opts.MaxConnections)}
	settings := []string{
		"listen_addresses=", "unix_socket_permissions=0700", "shared_buffers=32MB",
		"logging_collector=off", "log_destination=stderr", "log_min_messages=warning",
		"timezone=UTC", "log_timezone=UTC",
	}
	if opts.Fast {
		settings = append(settings, "fsync=off", "synchronous_commit=off", "full_page_writes=off", "max_wal_size=2GB", "shared_buffers=128MB")
	}
	for _, s := range settings {
		args = append(args, "-c", s)
	}
	return args
}

// awaitReady asks until the server lets a session in. Crash recovery may take as
// long as it takes, so only ctx and the end of the server end the wait.
func (p *Postgres) awaitReady(ctx context.Context) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := p.ping(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-p.Done():
			return fmt.Errorf("start server: %w\n%s", p.process.Err(), p.process.Tail())
		case <-ctx.Done():
			return fmt.Errorf("wait for the server: %w (it last said: %w)", context.Cause(ctx), err)
		case <-tick.C:
		}
	}
}

func (p *Postgres) ping(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, p.DSN("postgres"))
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}

// Version is the major version of the server, such as 17.
func (p *Postgres) Version() int { return p.cluster.bin.Major }

// PID is the process id of the postmaster.
func (p *Postgres) PID() int { return p.process.PID() }

// Done is closed when the server has ended, stopped or on its own.
func (p *Postgres) Done() <-chan struct{} { return p.process.Done() }

// Err is nil while the server runs and after Stop; else it says how the server
// ended on its own, with the end of its log.
func (p *Postgres) Err() error {
	if err := p.process.Err(); err != nil {
		return fmt.Errorf("private PostgreSQL: %w\n%s", err, p.process.Tail())
	}
	return nil
}

// Stop ends open transactions, has the server write its checkpoint and waits for
// its end. When ctx is over before that, the server is ended the hard way, which
// costs a recovery at the next start and no data, and the error says so.
func (p *Postgres) Stop(ctx context.Context) error {
	err := p.process.Stop(ctx)
	if rmErr := os.RemoveAll(p.socketDir); rmErr != nil {
		err = errors.Join(err, fmt.Errorf("socket folder: %w", rmErr))
	}
	return errors.Join(err, p.cleanup())
}
