package child

import (
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"syscall"
)

// watchdog starts a shell that waits for the end of its standard input, which
// comes when this process dies in whatever way, and then signals pid. It is the
// portable stand-in for a parent-death signal. The returned function ends the
// shell without the signal.
func watchdog(pid int, sig syscall.Signal) (release func(), err error) {
	cmd, hold, err := startWatchdog(pid, sig)
	if err != nil {
		return nil, err
	}
	// Killed before the pipe is closed: the other way round the shell would signal
	// a process id that may be somebody else's by now.
	return func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = hold.Close()
	}, nil
}

func startWatchdog(pid int, sig syscall.Signal) (*exec.Cmd, io.Closer, error) {
	const script = `read -r _; kill "-$2" "$1"`
	cmd := exec.Command("/bin/sh", "-c", script, "watchdog", strconv.Itoa(pid), strconv.Itoa(int(sig))) //nolint:gosec,noctx // two numbers; outlives any context
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}                                               // Ctrl-C is not for it
	hold, err := cmd.StdinPipe()
	if err != nil {
		return nil, nil, fmt.Errorf("watchdog pipe: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, fmt.Errorf("watchdog: %w", err)
	}
	return cmd, hold, nil
}
