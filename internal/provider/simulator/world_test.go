package simulator_test

import (
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/guest"
	"biztraak.dev/vm/internal/provider"
	"biztraak.dev/vm/internal/provider/simulator"
)

// world is a simulated cloud with a clock that moves when told to.
type world struct {
	*simulator.Simulator
	store   *simulator.MemoryStore
	account provider.Account

	mu  sync.Mutex
	now time.Time
}

func newWorld(options simulator.Options) *world {
	w := &world{
		store:   simulator.NewMemoryStore(),
		account: provider.Account{ID: "acc_1", Credentials: provider.NewSecret([]byte("key"))},
		now:     time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
	}
	options.Now = w.clock
	w.Simulator = simulator.New(w.store, options)
	return w
}

func (w *world) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *world) pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

func (w *world) spec(name string) provider.Spec {
	return provider.Spec{
		ClientToken: "op_" + name, Owner: "vmp_1", Name: name,
		Region: simulator.RegionNorth, Size: simulator.SizeMedium, Image: "debian-12",
	}
}

func (w *world) create(t *testing.T, name string) provider.Ref {
	t.Helper()
	created, err := w.Create(t.Context(), w.account, w.spec(name))
	require.NoError(t, err)
	return created.Ref()
}

// running creates a machine and lets it boot.
func (w *world) running(t *testing.T, name string) provider.Ref {
	t.Helper()
	ref := w.create(t, name)
	w.pass(2 * time.Second)
	require.Equal(t, provider.StateRunning, w.state(t, ref))
	return ref
}

// state is what the cloud shows; "GONE" when there is no such machine.
func (w *world) state(t *testing.T, ref provider.Ref) provider.State {
	t.Helper()
	seen, err := w.Observe(t.Context(), w.account, ref)
	if provider.ClassOf(err) == provider.ClassGone {
		return "GONE"
	}
	require.NoError(t, err)
	return seen.State
}

func (w *world) observe(t *testing.T, ref provider.Ref) provider.Observation {
	t.Helper()
	seen, err := w.Observe(t.Context(), w.account, ref)
	require.NoError(t, err)
	return seen
}

func (w *world) target(ref provider.Ref) guest.Target {
	return guest.Target{InstanceID: ref.InstanceID}
}

// readAll follows the journal to its live end in small batches.
func (w *world) readAll(t *testing.T, ref provider.Ref, after string) []guest.JournalEntry {
	t.Helper()
	var all []guest.JournalEntry
	for {
		batch, err := w.ReadJournal(t.Context(), w.target(ref), guest.JournalRequest{After: after, Max: 3})
		require.NoError(t, err)
		require.Nil(t, batch.Gap)
		require.LessOrEqual(t, len(batch.Entries), 3)
		if len(batch.Entries) == 0 {
			require.Equal(t, after, batch.Next)
			return all
		}
		all, after = append(all, batch.Entries...), batch.Next
	}
}

func publicIP(t *testing.T, o provider.Observation) netip.Addr {
	t.Helper()
	require.Len(t, o.Addresses, 2)
	require.Equal(t, provider.ScopePublic, o.Addresses[0].Scope)
	return o.Addresses[0].IP
}
