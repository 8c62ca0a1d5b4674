package e2e_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/provider"
	"biztraak.dev/vm/internal/provider/simulator"
	"biztraak.dev/vm/internal/store"
)

// cloud is the simulated cloud as its own console shows it: the same machines,
// through another door than the product's.
type cloud struct {
	*simulator.Simulator
	t       testing.TB
	account provider.Account
}

func newCloud(w *world) *cloud {
	w.t.Helper()
	machines, err := store.OpenMachines(w.t.Context(), w.sql.dsn)
	require.NoError(w.t, err)
	w.t.Cleanup(machines.Close)
	return &cloud{
		Simulator: simulator.New(machines, simulator.Options{BootTime: bootMillis * time.Millisecond}),
		t:         w.t, account: provider.Account{ID: w.account},
	}
}

// byOwner lists the machines that exist, by the VM provider that they carry as
// their tag. Those on their way out are left out.
func (c *cloud) byOwner() map[string][]provider.Observation {
	c.t.Helper()
	all, err := c.List(c.t.Context(), c.account)
	require.NoError(c.t, err)
	out := map[string][]provider.Observation{}
	for _, o := range all {
		if o.State != provider.StateDeleting {
			out[o.Owner] = append(out[o.Owner], o)
		}
	}
	return out
}

// awaitMachines waits until so many machines carry the tag of the VM provider.
func (c *cloud) awaitMachines(providerID string, n int) {
	c.t.Helper()
	require.Eventually(c.t, func() bool { return len(c.byOwner()[providerID]) == n }, patience, 100*time.Millisecond,
		"machines of %s", providerID)
}

// recorder counts the calls that reach the cloud.
type recorder struct {
	mu    sync.Mutex
	calls []simulator.Call
}

// Record implements simulator.Recorder.
func (r *recorder) Record(_ context.Context, call simulator.Call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, call)
}

// of lists the calls of one kind.
func (r *recorder) of(op simulator.Op) []simulator.Call {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []simulator.Call
	for _, c := range r.calls {
		if c.Op == op {
			out = append(out, c)
		}
	}
	return out
}
