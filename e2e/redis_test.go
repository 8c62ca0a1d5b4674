package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/app"
	"biztraak.dev/vm/internal/devstack/redistest"
	"biztraak.dev/vm/internal/operation"
	"biztraak.dev/vm/internal/provider/simulator"
)

// TestRedisFlushedWithQueuedWork empties Redis while five operations wait in its
// queue: each is carried out all the same, and once.
func TestRedisFlushedWithQueuedWork(t *testing.T) {
	t.Parallel()
	server := redistest.Real(t)
	i := install(t, server.URL())
	calls, gate := &recorder{}, make(chan struct{})
	var busy sync.Once
	begun := make(chan struct{})
	p := i.start(app.Roles{Serve: true, Work: true}, func(o *app.Options) {
		o.Config.WorkerWork = 1
		o.Hooks.Driver = calls
		o.Hooks.Probe = func(context.Context, operation.Kind, string, operation.Point) {
			busy.Do(func() { close(begun) })
			<-gate
		}
	})
	w := newWorld(i.client(p), i)
	vm := w.vm("web")
	operations := []string{w.provision(vm).Operation} // keeps the only worker busy
	<-begun
	for range 5 {
		operations = append(operations, w.provision(vm).Operation)
	}
	client := redis.NewClient(&redis.Options{Addr: redisAddress(t, server)})
	defer func() { require.NoError(t, client.Close()) }()
	require.Eventually(t, func() bool { return client.LLen(t.Context(), "asynq:{work}:pending").Val() == 5 },
		patience, 10*time.Millisecond, "five tasks in the queue")
	require.NoError(t, client.FlushAll(t.Context()).Err())
	close(gate)

	i.awaitEnd(operations...)
	creates := map[string]int{}
	for _, c := range calls.of(simulator.OpCreate) {
		creates[c.Token]++
	}
	for _, o := range operations {
		end := ends(i.moves(o))
		require.Len(t, end, 1)
		require.Equal(t, "SUCCEEDED", end[0].Status)
		require.Equal(t, 1, creates[o+"-0"], "creates of %s among %v", o, creates)
	}
	require.Len(t, creates, len(operations))
}

func redisAddress(t *testing.T, server *redistest.Server) string {
	t.Helper()
	opt, err := redis.ParseURL(server.URL())
	require.NoError(t, err)
	return opt.Addr
}

// vmName is what the subscription to a VM answers here.
type vmName struct{ VirtualMachine struct{ Name string } }

// eventsOf is what the feed of a project answers here.
type eventsOf struct {
	ProjectEvents struct {
		Events []struct {
			Seq     int64
			Kind    string
			Subject struct{ ID string }
			Status  string
		}
	}
}

const (
	watchVM     = `subscription($vm: ID!) { virtualMachine(id: $vm) { name } }`
	watchEvents = `subscription($project: ID!) { projectEvents(projectId: $project) { events { seq kind subject { id }
		... on ProviderStatusEvent { status } } } }`
)

// has says whether the batch has an event of the kind about the subject.
func (e eventsOf) has(kind, subject string) bool {
	for _, x := range e.ProjectEvents.Events {
		if x.Kind == kind && x.Subject.ID == subject {
			return true
		}
	}
	return false
}

// statusOf is the newest status of the machine that the batch tells of.
func (e eventsOf) statusOf(provider string) string {
	last := ""
	for _, x := range e.ProjectEvents.Events {
		if x.Subject.ID == provider && x.Status != "" {
			last = x.Status
		}
	}
	return last
}

// TestRedisAway takes Redis away for a while. Changes made through another
// process are seen within two seconds all the while, mutations answer, and
// everything that was accepted is done when Redis is back, without a restart.
func TestRedisAway(t *testing.T) {
	t.Parallel()
	const (
		away  = time.Minute
		seeIn = 2 * time.Second
	)
	server := redistest.Real(t)
	i := install(t, server.URL())
	here := i.client(i.start(app.Roles{Serve: true, Work: true}))
	w := newWorld(here, i)
	there := w.through(i.client(i.start(app.Roles{Serve: true})))
	vm := w.vm("web")
	conn := here.dial()
	state := follow[vmName](here, conn, watchVM, map[string]any{"vm": vm})
	events := follow[eventsOf](here, conn, watchEvents, map[string]any{"project": w.project})
	_, err := state.next(patience) // the snapshot
	require.NoError(t, err)
	_, err = events.next(patience) // where the feed begins
	require.NoError(t, err)

	server.Kill()
	outage := time.NewTimer(away)
	defer outage.Stop()
	awaitReadiness(t, here, map[string]string{"status": "degraded", "redis": "down"})
	made := there.provision(vm)
	require.Equal(t, "PENDING", w.status(made.Provider))
	events.until("the provision", patience, func(e eventsOf) bool { return e.has("OPERATION_QUEUED", made.Operation) })
	for n, over := 0, false; !over; n++ {
		name := fmt.Sprintf("web %d", n)
		there.mutate(renameVM, map[string]any{"vm": vm, "name": name})
		changed := time.Now()
		state.until("the state of "+name, patience, func(v vmName) bool { return v.VirtualMachine.Name == name })
		events.until("the event of "+name, patience, func(e eventsOf) bool { return e.has("COMPONENT_UPDATED", vm) })
		require.Less(t, time.Since(changed), seeIn)
		select {
		case <-outage.C:
			over = true
		default:
		}
	}
	require.Equal(t, "PENDING", w.status(made.Provider), "there was no queue to carry it")

	server.Start()
	events.until("RUNNING", patience, func(e eventsOf) bool { return e.statusOf(made.Provider) == "RUNNING" })
	i.awaitEnd(made.Operation)
	require.Len(t, ends(i.moves(made.Operation)), 1)
	awaitReadiness(t, here, map[string]string{"status": "ok"})
}

// awaitReadiness waits until /readyz answers 200 and exactly this.
func awaitReadiness(t *testing.T, c *client, want map[string]string) {
	t.Helper()
	require.Eventually(t, func() bool {
		status, body := c.get("/readyz")
		var got map[string]string
		return status == http.StatusOK && json.Unmarshal([]byte(body), &got) == nil && maps.Equal(got, want)
	}, patience, 50*time.Millisecond, "%v from /readyz", want)
}
