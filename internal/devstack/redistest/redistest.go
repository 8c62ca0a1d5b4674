// Package redistest gives tests a Redis: the in-process one of development, and a
// real redis-server that can be stopped, killed and started again.
//
// Whatever uses Redis is tested on both (Each), because the in-process one only
// imitates. Only tests import this package. It must not know any key.
package redistest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"biztraak.dev/vm/internal/devstack"
	"biztraak.dev/vm/internal/devstack/child"
)

// patience bounds each start and stop.
const patience = 30 * time.Second

// portAttempts is how many free ports are tried: between the choice of one and
// the server's bind another process may take it.
const portAttempts = 5

const missing = `redis-server is not installed, and tests of what uses Redis need the real one:
  Debian, Ubuntu    sudo apt-get install --no-install-recommends redis-server
  macOS             brew install redis
'make test' installs it where it can`

// Each runs a test on the in-process Redis and on a real one, as subtests.
func Each(t *testing.T, test func(t *testing.T, url string)) {
	t.Helper()
	t.Run("in-process", func(t *testing.T) { test(t, InProcess(t)) })
	t.Run("redis-server", func(t *testing.T) { test(t, Real(t).URL()) })
}

// InProcess starts the Redis of development and returns its URL. It is stopped
// after the cleanups that t registers later.
func InProcess(t testing.TB) string {
	t.Helper()
	server, err := devstack.StartRedis(t.Context())
	if err != nil {
		t.Fatalf("redistest: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := server.Stop(ctx); err != nil {
			t.Errorf("redistest: %v", err)
		}
	})
	return server.URL()
}

// Server is a real redis-server on one port of 127.0.0.1. It keeps nothing on
// disk: a server that is started again is empty. Its methods end the test when
// they fail, and are for the test's own goroutine.
type Server struct {
	t       testing.TB
	binary  string
	port    int
	process *child.Process // nil while stopped
}

// Real starts a redis-server of this test's own. It is stopped after the cleanups
// that t registers later. Without the program the test fails and says how to get
// it.
func Real(t testing.TB) *Server {
	t.Helper()
	binary, err := exec.LookPath("redis-server")
	if err != nil {
		t.Fatalf("redistest: %s", missing)
	}
	s := &Server{t: t, binary: binary}
	for range portAttempts {
		if s.port, err = freePort(); err == nil {
			err = s.start()
		}
		if err == nil {
			t.Cleanup(s.Stop)
			return s
		}
	}
	t.Fatalf("redistest: %v", err)
	return nil
}

// URL is the same before and after an outage: redis://127.0.0.1:port/0.
func (s *Server) URL() string { return fmt.Sprintf("redis://127.0.0.1:%d/0", s.port) }

// Start brings a stopped or killed server back, empty, on the same port.
func (s *Server) Start() {
	s.t.Helper()
	if s.process != nil {
		s.t.Fatal("redistest: the server runs already")
	}
	if err := s.start(); err != nil {
		s.t.Fatalf("redistest: %v", err)
	}
}

// Stop shuts the server down in order. Stopping a stopped one changes nothing.
func (s *Server) Stop() {
	s.t.Helper()
	if s.process == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	err := s.process.Stop(ctx)
	s.process = nil
	if err != nil {
		s.t.Fatalf("redistest: %v", err)
	}
}

// Kill ends the server with SIGKILL, as a crash of its machine would.
func (s *Server) Kill() {
	s.t.Helper()
	if s.process == nil {
		s.t.Fatal("redistest: the server does not run")
	}
	s.process.Kill()
	s.process = nil
}

func (s *Server) start() error {
	cmd := exec.Command(s.binary, //nolint:gosec,noctx // found on PATH; lives longer than any context
		"--bind", "127.0.0.1", "--port", strconv.Itoa(s.port), "--daemonize", "no",
		"--save", "", "--appendonly", "no", "--maxmemory-policy", "noeviction", "--dir", s.t.TempDir())
	process, err := child.Start(child.Spec{Cmd: cmd, Graceful: syscall.SIGTERM, Urgent: syscall.SIGKILL})
	if err != nil {
		return fmt.Errorf("start redis-server: %w", err)
	}
	if err := s.awaitReady(process); err != nil {
		process.Kill()
		return fmt.Errorf("start redis-server: %w\n%s", err, process.Tail())
	}
	s.process = process
	return nil
}

// awaitReady asks until the server that answers is the one that was started, and
// not somebody else's on a port that was lost to it.
func (s *Server) awaitReady(process *child.Process) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	client := redis.NewClient(&redis.Options{Addr: net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)), MaxRetries: -1, PoolSize: 1})
	defer client.Close() //nolint:errcheck // nothing is written
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		info, err := client.Info(ctx, "server").Result()
		if err == nil && strings.Contains(info, fmt.Sprintf("process_id:%d\r\n", process.PID())) {
			return nil
		}
		if err == nil {
			err = errors.New("another server has the port")
		}
		select {
		case <-process.Done():
			return process.Err()
		case <-ctx.Done():
			return err
		case <-tick.C:
		}
	}
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	port := l.Addr().(*net.TCPAddr).Port //nolint:forcetypeassert // of a TCP listener
	if err := l.Close(); err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	return port, nil
}
