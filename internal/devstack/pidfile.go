package devstack

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// shutdownWait is how long a start waits for the postmaster of a parent that was
// killed: it got its signal then, and writes its last checkpoint.
const shutdownWait = 10 * time.Second

// awaitRelease returns when no postmaster runs on the data directory. A pid file
// that names somebody else's process (a number used again after a reboot or in a
// new container) is removed: PostgreSQL itself would refuse to start for ever.
func (c cluster) awaitRelease(ctx context.Context) error {
	path := filepath.Join(c.dir, "postmaster.pid")
	limit := time.NewTimer(shutdownWait)
	defer limit.Stop()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		pid, err := readPIDFile(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return fmt.Errorf("pid file: %w", err)
		case !alive(pid):
			return nil // postgres replaces the file of a dead process itself
		case !isPostmaster(ctx, pid, c.dir):
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("stale pid file: %w", err)
			}
			return nil
		}
		select {
		case <-tick.C:
		case <-limit.C:
			return fmt.Errorf("a PostgreSQL server (process %d) still runs on %s: end it with 'kill -INT %d', then start again", pid, c.dir, pid)
		case <-ctx.Done():
			return fmt.Errorf("wait for the last server on %s: %w", c.dir, context.Cause(ctx))
		}
	}
}

// readPIDFile reads the first line of a postmaster.pid. An empty file, caught
// between its creation and the first write, counts as absent.
func readPIDFile(path string) (int, error) {
	text, err := os.ReadFile(path) //nolint:gosec // below the operator's own folder
	if err != nil {
		return 0, err
	}
	line, _, _ := strings.Cut(string(text), "\n")
	if line = strings.TrimSpace(line); line == "" {
		return 0, fs.ErrNotExist
	}
	pid, err := strconv.Atoi(line)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	return pid, nil
}

func alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// isPostmaster tells by the command line: the postmaster keeps the one it was
// started with, and ours names the data directory. When that cannot be read, the
// answer is yes, so that the doubt costs a wait and no data.
func isPostmaster(ctx context.Context, pid int, dir string) bool {
	args, err := commandLine(ctx, pid)
	if err != nil {
		return alive(pid)
	}
	return strings.Contains(args, "postgres") && strings.Contains(args, dir)
}

func commandLine(ctx context.Context, pid int) (string, error) {
	if runtime.GOOS == "linux" { // slim images have no ps
		text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
		return string(text), err
	}
	out, err := exec.CommandContext(ctx, "ps", "-ww", "-o", "args=", "-p", strconv.Itoa(pid)).Output() //nolint:gosec // a number
	return string(out), err
}
