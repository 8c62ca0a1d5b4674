package e2e_test

import (
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"biztraak.dev/vm/internal/devstack/pgtest"
	"biztraak.dev/vm/internal/devstack/redistest"
)

// composeFile is what this test understands of the compose file.
type composeFile struct {
	Services map[string]composeService
}

type composeService struct {
	Image       string
	Command     []string
	Environment map[string]string
	Ports       []string
	DependsOn   map[string]struct{ Condition string } `yaml:"depends_on"`
	Healthcheck struct{ Test []string }
	Restart     string
}

// stack is the compose file, run as processes of this machine: the database and
// Redis are replaced, ports are free ones, folders are the test's.
type stack struct {
	t        testing.TB
	file     composeFile
	database string
	redis    string
	folder   string
	// ports are those that stand in for the ones of the file.
	ports map[string]string
}

func readCompose(t testing.TB) *stack {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "docker-compose.yml"))
	require.NoError(t, err)
	s := &stack{
		t: t, database: pgtest.Empty(t), redis: redistest.Real(t).URL(), folder: t.TempDir(), ports: map[string]string{},
	}
	require.NoError(t, yaml.Unmarshal(raw, &s.file))
	return s
}

// port is a free port that stands in for one of the file.
func (s *stack) port(written string) string {
	s.t.Helper()
	if s.ports[written] == "" {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(s.t, err)
		_, s.ports[written], err = net.SplitHostPort(l.Addr().String())
		require.NoError(s.t, err)
		require.NoError(s.t, l.Close())
	}
	return s.ports[written]
}

// env is the environment of a service, with what only exists between containers
// replaced.
func (s *stack) env(service string) map[string]string {
	s.t.Helper()
	out := map[string]string{}
	for name, value := range s.file.Services[service].Environment {
		switch name {
		case "DATABASE_URL":
			s.requireHost(value, "postgres")
			value = s.database
		case "REDIS_URL":
			s.requireHost(value, "redis")
			value = s.redis
		case "KEYSET_FILE":
			value = filepath.Join(s.folder, value)
		case "PORT":
			value = s.port(value)
		case "LISTEN":
			value = "127.0.0.1"
		case "METRICS_LISTEN":
			host, port, err := net.SplitHostPort(value)
			require.NoError(s.t, err)
			value = net.JoinHostPort(host, s.port(port))
		}
		out[name] = value
	}
	return out
}

// requireHost makes sure that a URL names a service of the file.
func (s *stack) requireHost(raw, want string) {
	s.t.Helper()
	u, err := url.Parse(raw)
	require.NoError(s.t, err)
	require.Equal(s.t, want, u.Hostname())
	require.Contains(s.t, s.file.Services, want)
}

// run runs a one-shot service to its end.
func (s *stack) run(service string) string {
	s.t.Helper()
	require.Equal(s.t, "no", s.file.Services[service].Restart, service)
	code, out, errOut := runCommand(s.t, s.env(service), s.file.Services[service].Command...)
	require.Zero(s.t, code, "%s: %s%s", service, out, errOut)
	return out
}

// start starts a service that stays, and answers its process.
func (s *stack) start(service string) *childProcess {
	s.t.Helper()
	return startChild(s.t, childOptions{kind: childServer, args: s.file.Services[service].Command, env: s.env(service)})
}

// awaitHealth does what the health check of the file does until it succeeds.
func (s *stack) awaitHealth(service string) {
	s.t.Helper()
	check := s.file.Services[service].Healthcheck.Test
	require.Equal(s.t, []string{"CMD", "wget", "-q", "-O", "/dev/null"}, check[:5], "a check that this test can do")
	u, err := url.Parse(check[5])
	require.NoError(s.t, err)
	u.Host = net.JoinHostPort(u.Hostname(), s.port(u.Port()))
	awaitPage(s.t, u.String())
}

// TestComposeFile starts what the compose file starts, in its order, and runs
// the demo against it with the token that bootstrap has printed.
func TestComposeFile(t *testing.T) {
	t.Parallel()
	s := readCompose(t)
	require.Len(t, s.file.Services, 6)
	for name, x := range s.file.Services {
		for _, p := range x.Ports {
			require.True(t, strings.HasPrefix(p, "127.0.0.1:"), "%s publishes %s to everybody", name, p)
		}
		for on, how := range x.DependsOn {
			require.Contains(t, s.file.Services, on)
			// Bootstrap refuses the second time, so nobody may wait for its success.
			require.False(t, on == "bootstrap" && how.Condition == "service_completed_successfully", name)
		}
	}

	s.run("migrate")
	s.refusesWithoutKey("serve") // docker starts it again until bootstrap is through
	told := s.run("bootstrap")
	token := regexp.MustCompile(`(?m)^token (\S+)$`).FindStringSubmatch(told)
	require.NotNil(t, token, told)
	serve, worker := s.start("serve"), s.start("worker")
	s.awaitHealth("serve")
	s.awaitHealth("worker")

	code, out, errOut := runCommand(t, map[string]string{"DATA_DIR": t.TempDir()},
		"demo", "--url", serve.readyURL(), "--token", token[1])
	require.Zero(t, code, "%s%s", out, errOut)
	checkDemo(t, out)
	for _, p := range []*childProcess{serve, worker} {
		p.signal(syscall.SIGTERM) // what docker compose stop sends
		require.Zero(t, p.exitCode())
	}
}

// refusesWithoutKey starts a service too early.
func (s *stack) refusesWithoutKey(service string) {
	s.t.Helper()
	require.Equal(s.t, "unless-stopped", s.file.Services[service].Restart)
	require.Equal(s.t, 1, s.start(service).exitCode())
}

// awaitPage waits until the page answers 200.
func awaitPage(t testing.TB, page string) {
	t.Helper()
	c := newClient(t, page, "")
	require.Eventually(t, func() bool {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, page, nil)
		if err != nil {
			return false
		}
		res, err := c.http.Do(req)
		return err == nil && res.Body.Close() == nil && res.StatusCode == http.StatusOK
	}, patience, 50*time.Millisecond, page)
}
