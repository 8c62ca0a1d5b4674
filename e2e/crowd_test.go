package e2e_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/app"
	"biztraak.dev/vm/internal/provider/simulator"
)

// atOnce runs n calls that begin together, and answers what each came to.
func atOnce(t *testing.T, n int, call func() (payload, error)) []work {
	t.Helper()
	payloads, errs, begin := make([]payload, n), make([]error, n), make(chan struct{})
	var all sync.WaitGroup
	for k := range n {
		all.Go(func() {
			<-begin
			payloads[k], errs[k] = call()
		})
	}
	close(begin)
	all.Wait()
	out := make([]work, n)
	for k := range n {
		require.NoError(t, errs[k])
		out[k] = workOf(payloads[k])
	}
	return out
}

// TestTwinCalls has many callers ask for the same thing at once: it is done
// once, and all are told of the same work.
func TestTwinCalls(t *testing.T) {
	t.Parallel()
	calls := &recorder{}
	s := startSystem(t, func(o *app.Options) { o.Hooks.Driver = calls })
	w := s.world
	vm := w.vm("web")

	made := atOnce(t, 50, func() (payload, error) {
		return w.send(t.Context(), provisionVM, map[string]any{"vm": vm, "account": w.account, "key": "once"})
	})
	fresh := 0
	for _, m := range made {
		require.Equal(t, made[0].Operation, m.Operation)
		require.Equal(t, made[0].Provider, m.Provider)
		if !m.Replayed {
			fresh++
		}
	}
	require.NotEmpty(t, made[0].Operation)
	require.Equal(t, 1, fresh, "calls that were not told of an earlier one")
	s.awaitEnd(made[0].Operation)
	require.Len(t, calls.of(simulator.OpCreate), 1)

	provider := made[0].Provider
	s.awaitEnd(w.stop(provider).Operation)
	started := atOnce(t, 10, func() (payload, error) {
		return w.send(t.Context(), fmt.Sprintf(actOnProvider, "startVirtualMachine"), map[string]any{"provider": provider})
	})
	for _, m := range started {
		require.Equal(t, started[0].Operation, m.Operation)
	}
	s.awaitEnd(started[0].Operation)
	require.Equal(t, "RUNNING", w.status(provider))
	require.Len(t, calls.of(simulator.OpStart), 1)
}

// TestStopOvertakesSlowBoots stops a machine while thirty others boot as slowly
// as they can: waiting holds up nobody, so the stop reaches the cloud at once. It
// runs beside no other test of this package, because it measures one second.
func TestStopOvertakesSlowBoots(t *testing.T) {
	const within = time.Second
	calls := &recorder{}
	s := startSystem(t, func(o *app.Options) { o.Hooks.Driver = calls })
	w := s.world
	running := w.running(w.vm("web"), 1)[0]
	slow := w.vm("web-slow-boot")
	for range 30 {
		w.provision(slow)
	}
	// All are made, and wait for their machines: at least one of them at work.
	awaitValue(s.installation, 30, `SELECT count(*)::int FROM operation WHERE kind = 'PROVISION' AND step = 1`)

	asked := time.Now()
	s.awaitEnd(w.stop(running).Operation)
	stops := calls.of(simulator.OpStop)
	require.Len(t, stops, 1)
	require.Less(t, stops[0].At.Sub(asked), within)
	require.Equal(t, "STOPPED", w.status(running))
	require.Equal(t, 30, value[int](s.installation, `SELECT count(*)::int FROM operation
		WHERE kind = 'PROVISION' AND finished_at IS NULL`), "the slow ones are still under way")
}
