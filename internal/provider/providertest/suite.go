package providertest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/provider"
)

// Run runs the whole suite.
func Run(t *testing.T, h Harness) {
	t.Helper()
	h.check(t)
	cases := []struct {
		name string
		run  func(t *testing.T, h Harness)
	}{
		{"traits and offerings", offerings},
		{"life cycle", lifeCycle},
		{"start, stop and destroy are idempotent", idempotentActions},
		{"one instance however often it is asked for", createdOnce},
		{"a repeated create", repeatedCreate},
		{"an instance whose answer was lost is adopted", adopted},
		{"listed until it is destroyed", listed},
		{"stopped outside", stoppedOutside},
		{"removed outside", removedOutside},
		{"absent", absent},
		{"refused with a time to wait", retryAfter},
		{"refused for capacity", refused("Capacity", provider.ClassCapacity, func(f Faults) func(*testing.T) Case { return f.Capacity })},
		{"refused for quota", refused("Quota", provider.ClassQuota, func(f Faults) func(*testing.T) Case { return f.Quota })},
		{"refused for credentials", refused("Credentials", provider.ClassCredentials, func(f Faults) func(*testing.T) Case { return f.Credentials })},
		{"refused as nonsense", nonsense},
		{"busy", locked},
		{"an ended context is heard", canceled},
		{"credentials are not printed", secrecy},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { c.run(t, h) })
	}
}

// eventually polls until done says so, and fails the test with what it said last
// when patience runs out.
func (h Harness) eventually(t *testing.T, what string, done func() (ok bool, seen string)) {
	t.Helper()
	deadline := time.NewTimer(h.Patience)
	defer deadline.Stop()
	tick := time.NewTicker(h.Tick)
	defer tick.Stop()
	for {
		ok, seen := done()
		if ok {
			return
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("%s: not within %s; last seen: %s", what, h.Patience, seen)
		}
	}
}

// reach waits for a state and returns the observation.
func (h Harness) reach(t *testing.T, account provider.Account, ref provider.Ref, want provider.State) provider.Observation {
	t.Helper()
	var last provider.Observation
	h.eventually(t, "wait for "+string(want), func() (bool, string) {
		var err error
		last, err = h.Driver.Observe(t.Context(), account, ref)
		return err == nil && last.State == want, fmt.Sprintf("%s, error %v", last.State, err)
	})
	return last
}

// reachGone waits until there is no such instance.
func (h Harness) reachGone(t *testing.T, account provider.Account, ref provider.Ref) {
	t.Helper()
	h.eventually(t, "wait until gone", func() (bool, string) {
		seen, err := h.Driver.Observe(t.Context(), account, ref)
		return provider.ClassOf(err) == provider.ClassGone, fmt.Sprintf("%s, error %v", seen.State, err)
	})
}

// ledger keeps the books of one creation, as an operation row does.
type ledger struct {
	firstTry bool
	recorded *provider.Ref
}

func (l *ledger) save(_ context.Context, ref provider.Ref) error {
	l.recorded = &ref
	return nil
}

// ensure runs EnsureCreated against the ledger.
func (h Harness) ensure(t *testing.T, account provider.Account, spec provider.Spec, books *ledger) (provider.Created, error) {
	t.Helper()
	return provider.EnsureCreated(t.Context(), provider.Creation{
		Driver: h.Driver, Account: account, Spec: spec, Recorded: books.recorded, FirstTry: books.firstTry,
		Guard: func(context.Context) error { return nil }, Save: books.save,
	})
}

// running makes an instance, waits until it runs, and removes it after the test.
func (h Harness) running(t *testing.T, account provider.Account, spec provider.Spec) provider.Observation {
	t.Helper()
	h.cleanUp(t, account, spec.ClientToken)
	created, err := h.ensure(t, account, spec, &ledger{firstTry: true})
	require.NoError(t, err)
	return h.reach(t, account, created.Observation.Ref(), provider.StateRunning)
}

// cleanUp destroys whatever has the token when the test ends, and insists: with
// some clouds a forgotten instance costs money.
func (h Harness) cleanUp(t *testing.T, account provider.Account, token string) {
	t.Helper()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), h.Patience)
		defer cancel()
		h.eventually(t, "clean up (instances of this test may be left over)", func() (bool, string) {
			found, err := h.Driver.FindByToken(ctx, account, token)
			for _, o := range found {
				err = errors.Join(err, h.Driver.Destroy(ctx, account, o.Ref()))
			}
			return err == nil, fmt.Sprint(err)
		})
	})
}

// alive lists the instances with a token that are not on their way out.
func (h Harness) alive(t *testing.T, account provider.Account, token string) []provider.Ref {
	t.Helper()
	found, err := h.Driver.FindByToken(t.Context(), account, token)
	require.NoError(t, err)
	var refs []provider.Ref
	for _, o := range found {
		require.Equal(t, token, o.Token)
		if o.State != provider.StateDeleting {
			refs = append(refs, o.Ref())
		}
	}
	return refs
}
