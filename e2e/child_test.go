package e2e_test

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// childPatience bounds what a child process may take for anything at all: it
// starts beside others on a busy machine.
const childPatience = 60 * time.Second

// childOptions say what a child process is.
type childOptions struct {
	// kind is childServer or childWorker.
	kind string
	args []string
	// env is beside a few harmless variables of this process all that it gets.
	env map[string]string
}

// childProcess is this test binary, running as something else. It ends with the
// test, and with this process.
type childProcess struct {
	t       testing.TB
	cmd     *exec.Cmd
	stdout  *tee
	stderr  *tee
	points  <-chan string
	release *os.File
	exited  chan struct{}
}

// startChild starts a child process. What it says is shown when the test fails.
func startChild(t testing.TB, opt childOptions) *childProcess {
	t.Helper()
	binary, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(binary, opt.args...) // this very program; its end is asked for below
	c := &childProcess{t: t, cmd: cmd, stdout: newTee(), stderr: newTee(), exited: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = c.stdout, c.stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Env = []string{childEnv + "=" + opt.kind}
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "PG_BINDIR", "GORACE", "GOCOVERDIR"} {
		if value, there := os.LookupEnv(name); there {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	for name, value := range opt.env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	guardRead, guardWrite := pipe(t)
	reportRead, reportWrite := pipe(t)
	releaseRead, releaseWrite := pipe(t)
	cmd.ExtraFiles = []*os.File{guardRead, reportWrite, releaseRead}
	require.NoError(t, cmd.Start())
	for _, theirs := range cmd.ExtraFiles {
		require.NoError(t, theirs.Close())
	}
	c.release, c.points = releaseWrite, lines(reportRead)
	go func() {
		_ = cmd.Wait() // the state tells more
		close(c.exited)
	}()
	t.Cleanup(func() {
		c.kill()
		_, _ = guardWrite.Close(), releaseWrite.Close()
		if t.Failed() {
			t.Logf("%s %s said:\n%s%s", opt.kind, strings.Join(opt.args, " "), c.stdout, c.stderr)
		}
	})
	return c
}

func pipe(t testing.TB) (read, write *os.File) {
	t.Helper()
	read, write, err := os.Pipe()
	require.NoError(t, err)
	return read, write
}

// lines reads lines until the end of the file.
func lines(from *os.File) <-chan string {
	const room = 1024 // a child never waits for its reader
	out := make(chan string, room)
	go func() {
		defer close(out)
		defer func() { _ = from.Close() }()
		for s := bufio.NewScanner(from); s.Scan(); {
			out <- s.Text()
		}
	}()
	return out
}

// pid is the process id.
func (c *childProcess) pid() int { return c.cmd.Process.Pid }

// signal sends a signal to this one process; one that has ended gets none.
func (c *childProcess) signal(s syscall.Signal) { _ = c.cmd.Process.Signal(s) }

// kill ends the process with SIGKILL and waits for the end.
func (c *childProcess) kill() {
	c.signal(syscall.SIGKILL)
	<-c.exited
}

// exitCode waits for the process to end by itself.
func (c *childProcess) exitCode() int {
	c.t.Helper()
	select {
	case <-c.exited:
	case <-time.After(childPatience):
		require.FailNow(c.t, "the process did not end", c.cmd.Args)
	}
	return c.cmd.ProcessState.ExitCode()
}

// awaitPoint waits until the worker tells that it is at the point.
func (c *childProcess) awaitPoint(point string) {
	c.t.Helper()
	timeout := time.After(childPatience)
	for {
		select {
		case got, open := <-c.points:
			require.True(c.t, open, "the worker ended before %q", point)
			if got == point {
				return
			}
		case <-timeout:
			require.FailNow(c.t, "the worker did not come to "+point)
		}
	}
}

// runCommand runs the server's command line to its end.
func runCommand(t testing.TB, env map[string]string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	c := startChild(t, childOptions{kind: childServer, args: args, env: env})
	code = c.exitCode()
	return code, c.stdout.String(), c.stderr.String()
}

// tee keeps what is written to it, for a reader that waits for something.
type tee struct {
	mu    sync.Mutex
	text  bytes.Buffer
	grown chan struct{}
}

var _ io.Writer = (*tee)(nil)

func newTee() *tee { return &tee{grown: make(chan struct{})} }

// Write implements io.Writer.
func (w *tee) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.grown)
	w.grown = make(chan struct{})
	return w.text.Write(p)
}

// String is all that was written.
func (w *tee) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// await waits until find answers something out of the text, or the process ends.
func (c *childProcess) await(w *tee, what string, find func(text string) (string, bool)) string {
	c.t.Helper()
	timeout := time.After(childPatience)
	for {
		w.mu.Lock()
		text, grown := w.text.String(), w.grown
		w.mu.Unlock()
		if got, ok := find(text); ok {
			return got
		}
		select {
		case <-grown:
		case <-c.exited:
			require.FailNow(c.t, "the process ended before "+what, c.stderr.String())
		case <-timeout:
			require.FailNow(c.t, "timeout before "+what)
		}
	}
}
