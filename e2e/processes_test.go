package e2e_test

import (
	"encoding/json"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/devstack/redistest"
)

// readyURL waits for a server process to be ready and answers where it is.
func (c *childProcess) readyURL() string {
	c.t.Helper()
	return c.await(c.stderr, "it is ready", func(text string) (string, bool) {
		for line := range strings.Lines(text) {
			var said struct{ Msg, URL string }
			if json.Unmarshal([]byte(line), &said) == nil && said.Msg == "ready" {
				return said.URL, true
			}
		}
		return "", false
	})
}

const watchLog = `subscription($provider: ID!) { systemLogs(providerId: $provider, tail: 1000) {
	lines { seq source plainMessage } } }`

type logOf struct {
	SystemLogs struct {
		Lines []struct {
			Seq    int64
			Source string
		}
	}
}

// TestSeveralProcesses runs two servers and two workers, as the shipped command
// starts them, on one database and one Redis: whoever is connected to one sees
// what was done through the other, and a worker that is stopped is not missed.
func TestSeveralProcesses(t *testing.T) {
	t.Parallel()
	i := install(t, redistest.Real(t).URL())
	serve := func() *childProcess {
		return startChild(t, childOptions{kind: childServer, args: []string{"serve"}, env: i.env(nil)})
	}
	work := func() *childProcess {
		return startChild(t, childOptions{kind: childServer, args: []string{"worker"}, env: i.env(nil)})
	}
	one, two, first, second := serve(), serve(), work(), work()
	here := newClient(t, one.readyURL(), i.token)
	there := newWorld(newClient(t, two.readyURL(), i.token), i)
	first.readyURL()
	second.readyURL()
	vm := there.vm("web")

	conn := here.dial()
	events := follow[eventsOf](here, conn, watchEvents, map[string]any{"project": there.project})
	_, err := events.next(patience) // where the feed begins
	require.NoError(t, err)
	made := there.provision(vm)
	log := follow[logOf](here, conn, watchLog, map[string]any{"provider": made.Provider})
	awaitStatuses(events, made.Provider, "PENDING", "PROVISIONING", "RUNNING")
	awaitJournal(t, log)

	first.signal(syscall.SIGTERM)
	require.Zero(t, first.exitCode())
	there.stop(made.Provider)
	awaitStatuses(events, made.Provider, "STOPPING", "STOPPED")
	for _, p := range []*childProcess{one, two, second} {
		p.signal(syscall.SIGTERM)
	}
	for _, p := range []*childProcess{one, two, second} {
		require.Zero(t, p.exitCode())
	}
}

// awaitStatuses reads the feed until the machine has had exactly these statuses.
func awaitStatuses(f *feed[eventsOf], provider string, want ...string) {
	f.t.Helper()
	var seen []string
	for len(seen) < len(want) {
		f.until(want[len(seen)], patience, func(e eventsOf) bool {
			before := len(seen)
			for _, x := range e.ProjectEvents.Events {
				if x.Subject.ID == provider && x.Kind == "PROVIDER_STATUS_CHANGED" {
					seen = append(seen, x.Status)
				}
			}
			return len(seen) > before
		})
	}
	require.Equal(f.t, want, seen)
}

// awaitJournal reads the log until the guest itself has said something, and
// makes sure that no line is missing or doubled.
func awaitJournal(t *testing.T, log *feed[logOf]) {
	t.Helper()
	last := int64(0)
	log.until("a line of the guest's journal", patience, func(l logOf) bool {
		journal := false
		for _, line := range l.SystemLogs.Lines {
			require.Equal(t, last+1, line.Seq)
			last = line.Seq
			journal = journal || line.Source == "JOURNAL"
		}
		return journal
	})
}
