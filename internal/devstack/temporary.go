package devstack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

const temporaryPrefix = "vmpgdata-"

// testMaxConnections is enough for some packages tested side by side, each with
// parallel tests that have a pool of their own.
const testMaxConnections = 300

// StartTemporaryPostgres starts a fast cluster in a new temporary folder, which
// Stop removes. DataDir and Fast of the options are set here. What earlier runs
// left behind because they were killed is removed first.
func StartTemporaryPostgres(ctx context.Context, opts PostgresOptions) (*Postgres, error) {
	removeTemporaries(ctx)
	dir, err := os.MkdirTemp(temporaryRoot(), temporaryPrefix)
	if err != nil {
		return nil, fmt.Errorf("temporary PostgreSQL: %w", err)
	}
	if os.Getuid() == 0 {
		err = os.Chmod(dir, 0o711) //nolint:gosec // the cluster's owner passes through
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("temporary PostgreSQL: %w", err), os.RemoveAll(dir))
	}
	lock, err := LockDataDir(dir)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	cleanup := sync.OnceValue(func() error { return errors.Join(os.RemoveAll(dir), lock.Unlock()) })
	opts.DataDir, opts.Fast = dir, true
	if opts.MaxConnections == 0 {
		opts.MaxConnections = testMaxConnections
	}
	p, err := StartPostgres(ctx, opts)
	if err != nil {
		return nil, errors.Join(err, cleanup())
	}
	p.cleanup = cleanup
	return p, nil
}

// removeTemporaries removes the folders whose process is gone, which the free
// lock shows, and whose server is too. The age keeps it from a folder that is
// made at this moment and not locked yet.
func removeTemporaries(ctx context.Context) {
	removeOld := func(dir string) error {
		lock, err := LockDataDir(dir)
		if err != nil {
			return err
		}
		files, err := filepath.Glob(filepath.Join(dir, "pg*", "postmaster.pid"))
		for _, file := range files {
			pid, readErr := readPIDFile(file)
			if readErr == nil && alive(pid) && isPostmaster(ctx, pid, dir) {
				err = errors.New("a server still runs here")
			}
		}
		if err == nil {
			err = os.RemoveAll(dir)
		}
		return errors.Join(err, lock.Unlock())
	}
	removeAbandoned(filepath.Join(temporaryRoot(), temporaryPrefix+"*"), removeOld)
}

// temporaryRoot is where throw-away clusters live: in memory where there is
// plenty, because tests make and drop hundreds of small databases, and copying
// their files is most of what that costs. TMPDIR, if set, decides instead.
func temporaryRoot() string {
	const (
		memory = "/dev/shm"
		plenty = 4 << 30
	)
	var fs syscall.Statfs_t
	if os.Getenv("TMPDIR") != "" {
		return os.TempDir()
	}
	if syscall.Statfs(memory, &fs) != nil || uint64(fs.Bavail)*uint64(fs.Bsize) < plenty { //nolint:unconvert // sizes are positive, and of another type on each system
		return os.TempDir()
	}
	return memory
}
