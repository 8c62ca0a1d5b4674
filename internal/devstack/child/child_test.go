package child

import (
	"context"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

const patience = 20 * time.Second

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// lines is an Output that tells when a line arrives.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	l <- strings.TrimSpace(string(p))
	return len(p), nil
}

func shell(t *testing.T, script string) (*Process, lines) {
	t.Helper()
	out := make(lines, 100)
	p, err := Start(Spec{
		Cmd: exec.Command("/bin/sh", "-c", script), Output: out,
		Graceful: syscall.SIGTERM, Urgent: syscall.SIGQUIT,
	})
	require.NoError(t, err)
	t.Cleanup(p.Kill)
	return p, out
}

func requireClosed(t *testing.T, done <-chan struct{}) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatal("the process did not end")
	}
}

func TestEndOnItsOwnIsAnError(t *testing.T) {
	p, _ := shell(t, `for i in $(seq 30); do echo "line $i"; done; exit 3`)
	requireClosed(t, p.Done())
	require.ErrorContains(t, p.Err(), "exit status 3")
	require.Eventually(t, func() bool { return strings.HasSuffix(p.Tail(), "line 30") }, patience, time.Millisecond)
	require.Len(t, strings.Split(p.Tail(), "\n"), keptLines)
	require.NoError(t, p.Stop(t.Context()), "stopping what has ended is fine")
	require.Error(t, p.Err(), "and hides nothing")
}

func TestStopSignals(t *testing.T) {
	tests := []struct {
		name    string
		script  string
		says    string
		timeout time.Duration
		wantErr error
	}{
		{name: "in order", script: `trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.01; done`, says: "bye", timeout: patience},
		{name: "urgent when time is up", script: `trap '' TERM; trap 'echo ouch; exit 1' QUIT; echo up; while :; do sleep 0.01; done`, says: "ouch", timeout: 50 * time.Millisecond, wantErr: context.DeadlineExceeded},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p, out := shell(t, test.script)
			require.Equal(t, "up", <-out)
			ctx, cancel := context.WithTimeout(t.Context(), test.timeout)
			defer cancel()
			require.ErrorIs(t, p.Stop(ctx), test.wantErr)
			requireClosed(t, p.Done())
			require.NoError(t, p.Err())
			require.Equal(t, test.says, <-out)
		})
	}
}

func TestChildIsOutOfReachOfCtrlC(t *testing.T) {
	p, _ := shell(t, "exec sleep 600")
	group, err := syscall.Getpgid(p.PID())
	require.NoError(t, err)
	require.NotEqual(t, syscall.Getpgrp(), group)
}

func TestStartOfNothingFails(t *testing.T) {
	_, err := Start(Spec{Cmd: exec.Command("/no/such/program"), Graceful: syscall.SIGTERM, Urgent: syscall.SIGQUIT})
	require.Error(t, err)
}

// The watchdog serves systems without a parent-death signal, and works on all.
func TestWatchdog(t *testing.T) {
	victim := func(t *testing.T) (*exec.Cmd, <-chan error) {
		cmd := exec.Command("sleep", "600")
		require.NoError(t, cmd.Start())
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		t.Cleanup(func() { _ = cmd.Process.Kill() })
		return cmd, ended
	}
	t.Run("signals when the parent's end of the pipe closes", func(t *testing.T) {
		cmd, ended := victim(t)
		dog, hold, err := startWatchdog(cmd.Process.Pid, syscall.SIGINT)
		require.NoError(t, err)
		require.NoError(t, hold.Close()) // what the kernel does when the parent dies
		require.EqualError(t, <-ended, "signal: interrupt")
		require.NoError(t, dog.Wait())
	})
	t.Run("does nothing once released", func(t *testing.T) {
		cmd, ended := victim(t)
		release, err := watchdog(cmd.Process.Pid, syscall.SIGINT)
		require.NoError(t, err)
		release()
		require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
		require.EqualError(t, <-ended, "signal: terminated", "a released watchdog would have interrupted it first")
	})
}
