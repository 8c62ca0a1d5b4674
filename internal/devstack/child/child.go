package child

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// keptLines is how many of the last output lines an error quotes: enough for
// the FATAL line and the hint under it.
const keptLines = 12

// killGrace is how long a process gets to die of SIGKILL or of its last chance
// signal before Stop gives up waiting.
const killGrace = 5 * time.Second

// Spec says what to run and how it is ended.
type Spec struct {
	// Cmd is not started yet; its Stdout, Stderr and process group are set here.
	Cmd *exec.Cmd
	// Graceful asks the process to end in order (postgres: SIGINT, redis: SIGTERM).
	// It is also what the process gets when this process dies.
	Graceful syscall.Signal
	// Urgent is sent when the context of Stop is over before the process is.
	Urgent syscall.Signal
	// Output receives what the process writes, a line at a time; nil drops it.
	Output io.Writer
}

// Process is a running child. Its methods are safe for concurrent use.
type Process struct {
	spec Spec
	done chan struct{}

	mu       sync.Mutex
	stopping bool
	err      error
	tail     []string
}

// Start runs the command in a process group of its own, so that Ctrl-C on the
// terminal reaches only this process, which then ends the child in order.
func Start(spec Spec) (*Process, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("output pipe: %w", err)
	}
	// An *os.File is handed to the child as it is. With any other writer exec
	// would wait for every grandchild to close its end before Wait returns.
	spec.Cmd.Stdout, spec.Cmd.Stderr = write, write
	if spec.Cmd.SysProcAttr == nil {
		spec.Cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	spec.Cmd.SysProcAttr.Setpgid = true
	setDeathSignal(spec.Cmd.SysProcAttr, spec.Graceful)

	p := &Process{spec: spec, done: make(chan struct{})}
	started := make(chan error)
	go p.run(started, write)
	if err := <-started; err != nil {
		return nil, errors.Join(err, read.Close())
	}
	go p.collect(read)
	return p, nil
}

// run starts the process and waits for it on one and the same locked thread:
// Linux sends the parent-death signal when the *thread* that forked ends, and
// the Go runtime ends idle threads as it likes.
func (p *Process) run(started chan<- error, write *os.File) {
	runtime.LockOSThread()
	err := p.spec.Cmd.Start()
	closeErr := write.Close() // the child has its own copy
	if err == nil && closeErr != nil {
		err = errors.Join(closeErr, p.spec.Cmd.Process.Kill(), p.spec.Cmd.Wait())
	}
	if err != nil {
		started <- err
		return
	}
	release, err := guard(p.spec.Cmd.Process.Pid, p.spec.Graceful)
	if err != nil {
		started <- errors.Join(err, p.spec.Cmd.Process.Kill(), p.spec.Cmd.Wait())
		return
	}
	started <- nil

	err = p.spec.Cmd.Wait()
	release()
	p.mu.Lock()
	if !p.stopping {
		p.err = exitError(p.spec.Cmd.Path, err)
	}
	p.mu.Unlock()
	close(p.done)
}

func exitError(path string, err error) error {
	if err == nil {
		return fmt.Errorf("%s ended on its own", path)
	}
	return fmt.Errorf("%s ended on its own: %w", path, err)
}

// collect keeps the last lines and passes every line on. It ends with the last
// process that holds the pipe.
func (p *Process) collect(read *os.File) {
	lines := bufio.NewReader(read)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			p.keep(line)
		}
		if err != nil {
			break
		}
	}
	_ = read.Close() // a pipe that is at its end has nothing left to lose
}

func (p *Process) keep(line string) {
	if p.spec.Output != nil {
		_, _ = io.WriteString(p.spec.Output, line) // a full log must not stop a database
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tail = append(p.tail, strings.TrimRight(line, "\r\n"))
	if len(p.tail) > keptLines {
		p.tail = p.tail[len(p.tail)-keptLines:]
	}
}

// PID is the process id of the child.
func (p *Process) PID() int { return p.spec.Cmd.Process.Pid }

// Done is closed when the process has ended, for whatever reason.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err is nil while the process runs and after Stop or Kill; else it says how the
// process ended on its own.
func (p *Process) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// Tail is the end of what the process wrote, at most a dozen lines.
func (p *Process) Tail() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.tail, "\n")
}

// Stop asks the process to end and waits for it. When ctx is over first, it
// sends the urgent signal, then SIGKILL, and returns the context's error.
// Stopping a process that has ended is no error.
func (p *Process) Stop(ctx context.Context) error {
	p.markStopping()
	p.signal(p.spec.Graceful)
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
	}
	for _, last := range []syscall.Signal{p.spec.Urgent, syscall.SIGKILL} {
		p.signal(last)
		if p.wait(killGrace) {
			break
		}
	}
	return fmt.Errorf("stop %s in order: %w", p.spec.Cmd.Path, context.Cause(ctx))
}

// Kill ends the process at once, as a crash would, and waits for its end.
func (p *Process) Kill() {
	p.markStopping()
	p.signal(syscall.SIGKILL)
	p.wait(killGrace)
}

func (p *Process) markStopping() {
	p.mu.Lock()
	p.stopping = true
	p.mu.Unlock()
}

// signal ignores the one error there is: the process has ended already.
func (p *Process) signal(s syscall.Signal) { _ = p.spec.Cmd.Process.Signal(s) }

func (p *Process) wait(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-p.done:
		return true
	case <-timer.C:
		return false
	}
}
