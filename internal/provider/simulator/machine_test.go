package simulator_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/provider"
	"biztraak.dev/vm/internal/provider/simulator"
)

const ms = time.Millisecond

// TestStates follows machines through time. Each step lets time pass, looks, and
// then acts.
func TestStates(t *testing.T) {
	type step struct {
		after time.Duration
		want  provider.State
		do    string
		class provider.Class // of the answer
	}
	cases := []struct {
		name  string
		steps []step
	}{
		{"plain", []step{
			{0, "CREATING", "stop", provider.ClassConflict}, {1599 * ms, "CREATING", "start", ""}, {ms, "RUNNING", "stop", ""},
			{0, "STOPPING", "start", provider.ClassConflict}, {999 * ms, "STOPPING", "stop", ""}, {ms, "STOPPED", "restart", provider.ClassConflict},
			{time.Hour, "STOPPED", "start", ""}, {1599 * ms, "STARTING", "", ""}, {ms, "RUNNING", "restart", ""},
			{2599 * ms, "RESTARTING", "restart", ""}, {ms, "RUNNING", "destroy", ""},
			{499 * ms, "DELETING", "stop", provider.ClassConflict}, {0, "DELETING", "destroy", ""}, {ms, "GONE", "destroy", ""}, {0, "GONE", "stop", provider.ClassGone},
		}},
		{"stopped while starting", []step{
			{2 * time.Second, "RUNNING", "stop", ""}, {time.Second, "STOPPED", "start", ""}, {time.Second, "STARTING", "stop", ""},
			{0, "STOPPING", "", ""}, {time.Second, "STOPPED", "", ""}, {time.Hour, "STOPPED", "", ""},
		}},
		{"slow-boot", []step{{47 * time.Second, "CREATING", "", ""}, {time.Second, "RUNNING", "restart", ""}, {48 * time.Second, "RESTARTING", "", ""}, {time.Second, "RUNNING", "", ""}}},
		{"boot-crash", []step{{799 * ms, "CREATING", "", ""}, {ms, "ERROR", "stop", ""}, {time.Second, "STOPPED", "start", ""}, {800 * ms, "ERROR", "destroy", ""}, {500 * ms, "GONE", "", ""}}},
		{"lost", []step{{1600 * ms, "RUNNING", "", ""}, {4999 * ms, "RUNNING", "", ""}, {ms, "GONE", "restore", ""}, {0, "STOPPED", "start", ""}, {time.Hour, "RUNNING", "", ""}}},
		{"lost-though-stopped", []step{{1600 * ms, "RUNNING", "stop", ""}, {4 * time.Second, "STOPPED", "", ""}, {time.Second, "GONE", "start", provider.ClassGone}}},
		{"stop-fails", []step{{2 * time.Second, "RUNNING", "stop", ""}, {999 * ms, "STOPPING", "", ""}, {ms, "RUNNING", "stop", ""}, {0, "STOPPING", "destroy", ""}, {500 * ms, "GONE", "", ""}}},
		{"start-fails", []step{{2 * time.Second, "RUNNING", "stop", ""}, {time.Second, "STOPPED", "start", ""}, {799 * ms, "STARTING", "", ""}, {ms, "STOPPED", "start", ""}, {0, "STARTING", "", ""}}},
		{"locked", []step{
			{2 * time.Second, "RUNNING", "stop", provider.ClassConflict}, {1999 * ms, "RUNNING", "stop", provider.ClassConflict}, {ms, "RUNNING", "stop", ""},
			{time.Second, "STOPPED", "start", provider.ClassConflict}, {2 * time.Second, "STOPPED", "start", ""},
		}},
		{"power cut", []step{{2 * time.Second, "RUNNING", "power-off", ""}, {0, "STOPPED", "power-off", ""}, {0, "STOPPED", "power-on", ""}, {0, "STARTING", "power-on", ""}, {2 * time.Second, "RUNNING", "", ""}}},
		{"removed and back", []step{{2 * time.Second, "RUNNING", "remove", ""}, {0, "GONE", "remove", ""}, {0, "GONE", "power-off", provider.ClassGone}, {0, "GONE", "restore", ""}, {0, "STOPPED", "restore", ""}, {0, "STOPPED", "", ""}}},
		{"nothing revives what is destroyed", []step{{2 * time.Second, "RUNNING", "destroy", ""}, {0, "DELETING", "power-off", provider.ClassGone}, {0, "DELETING", "power-on", provider.ClassGone}, {500 * ms, "GONE", "restore", provider.ClassGone}, {0, "GONE", "", ""}}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(simulator.Options{})
			ref := w.create(t, strings.ReplaceAll(c.name, " ", "_"))
			for i, s := range c.steps {
				w.pass(s.after)
				require.Equal(t, s.want, w.state(t, ref), "step %d", i)
				// A second process with other settings sees the same machine.
				other := simulator.New(w.store, simulator.Options{BootTime: time.Hour, StopTime: time.Hour, Now: w.clock})
				seen, _ := other.Observe(t.Context(), w.account, ref)
				require.Equal(t, strings.TrimPrefix(string(s.want), "GONE"), string(seen.State), "step %d", i)
				if s.do != "" {
					require.Equal(t, s.class, provider.ClassOf(w.do(t.Context(), s.do, ref)), "step %d", i)
				}
			}
		})
	}
}

func (w *world) do(ctx context.Context, what string, ref provider.Ref) error {
	switch what {
	case "start":
		return w.Start(ctx, w.account, ref)
	case "stop":
		return w.Stop(ctx, w.account, ref)
	case "restart":
		return w.Restart(ctx, w.account, ref)
	case "destroy":
		return w.Destroy(ctx, w.account, ref)
	case "power-off":
		return w.PowerOffOutside(ctx, ref.InstanceID)
	case "power-on":
		return w.PowerOnOutside(ctx, ref.InstanceID)
	case "remove":
		return w.RemoveOutside(ctx, ref.InstanceID)
	case "restore":
		return w.RestoreOutside(ctx, ref.InstanceID)
	default:
		return errors.New("no such action: " + what)
	}
}

func TestFaultOfAnAcceptedChangeIsTold(t *testing.T) {
	cases := []struct {
		name, code string
		act        []string
	}{
		{"stop-fails", "STOP_FAILED", []string{"stop"}},
		{"start-fails", "START_FAILED", []string{"stop", "start"}},
		{"boot-crash", "BOOT_FAILED", nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(simulator.Options{})
			ref := w.create(t, c.name)
			require.Nil(t, w.observe(t, ref).Fault)
			w.pass(2 * time.Second)
			for _, act := range c.act {
				require.NoError(t, w.do(t.Context(), act, ref))
				require.Nil(t, w.observe(t, ref).Fault, "a new try forgets the old fault")
				w.pass(time.Second)
			}
			fault := w.observe(t, ref).Fault
			require.NotNil(t, fault)
			require.Equal(t, c.code, fault.Code)
			require.NotEmpty(t, fault.Message)
		})
	}
}

func TestAddresses(t *testing.T) {
	w := newWorld(simulator.Options{})
	ref := w.create(t, "web")
	require.Empty(t, w.observe(t, ref).Addresses, "none while it is created")
	w.pass(2 * time.Second)
	first := w.observe(t, ref)
	require.Equal(t, provider.ScopePrivate, first.Addresses[1].Scope)
	require.True(t, first.Addresses[1].IP.IsPrivate())

	require.NoError(t, w.Restart(t.Context(), w.account, ref))
	w.pass(3 * time.Second)
	require.Equal(t, first.Addresses, w.observe(t, ref).Addresses, "a restart keeps them")

	require.NoError(t, w.Stop(t.Context(), w.account, ref))
	w.pass(time.Second)
	require.Empty(t, w.observe(t, ref).Addresses, "none while it is stopped")
	require.NoError(t, w.Start(t.Context(), w.account, ref))
	w.pass(2 * time.Second)
	second := w.observe(t, ref)
	require.NotEqual(t, publicIP(t, first), publicIP(t, second), "a start brings another public one")
	require.Equal(t, first.Addresses[1], second.Addresses[1], "the private one stays")
}

func TestMachinesBelongToAnAccount(t *testing.T) {
	w := newWorld(simulator.Options{})
	ref := w.running(t, "web")
	w.account.ID = "acc_2"
	require.Equal(t, provider.State("GONE"), w.state(t, ref))
	require.Equal(t, provider.ClassGone, provider.ClassOf(w.Stop(t.Context(), w.account, ref)))
	require.NoError(t, w.Destroy(t.Context(), w.account, ref))
	w.account.ID = "acc_1"
	require.Equal(t, provider.StateRunning, w.state(t, ref), "a stranger's destroy changes nothing")
}

func TestDestroyedMachinesAreForgotten(t *testing.T) {
	w := newWorld(simulator.Options{})
	destroyed, removed := w.running(t, "one"), w.running(t, "two")
	require.NoError(t, w.Destroy(t.Context(), w.account, destroyed))
	require.NoError(t, w.RemoveOutside(t.Context(), removed.InstanceID))
	w.pass(time.Second)
	listed, err := w.List(t.Context(), w.account)
	require.NoError(t, err)
	require.Empty(t, listed)
	left, err := w.store.List(t.Context(), w.account.ID)
	require.NoError(t, err)
	require.Len(t, left, 1)
	require.Equal(t, removed.InstanceID, left[0].ID, "one that got lost may come back")
}

// TestRivalsTakeTurns starts a stopped machine from many sides at once: one start
// is made, the others find it under way.
func TestRivalsTakeTurns(t *testing.T) {
	w := newWorld(simulator.Options{})
	ref := w.running(t, "web")
	require.NoError(t, w.Stop(t.Context(), w.account, ref))
	w.pass(time.Second)
	before, err := w.store.Load(t.Context(), ref.InstanceID)
	require.NoError(t, err)

	errs := make([]error, 16)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() { errs[i] = w.Start(t.Context(), w.account, ref) })
	}
	all.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	after, err := w.store.Load(t.Context(), ref.InstanceID)
	require.NoError(t, err)
	require.Equal(t, before.Revision+1, after.Revision)
}

func TestABackwardClockKeepsTheOrder(t *testing.T) {
	w := newWorld(simulator.Options{})
	ref := w.running(t, "web")
	require.NoError(t, w.Restart(t.Context(), w.account, ref))
	w.pass(-time.Hour)
	require.Equal(t, provider.StateCreating, w.state(t, ref), "before its time it is at its beginning")
	require.NoError(t, w.PowerOffOutside(t.Context(), ref.InstanceID))
	w.pass(time.Hour - ms)
	require.Equal(t, provider.StateRunning, w.state(t, ref), "what came last in the history comes last in time")
	w.pass(ms)
	require.Equal(t, provider.StateStopped, w.state(t, ref))
}

// brokenStore fails every call.
type brokenStore struct{ simulator.MachineStore }

var errBroken = errors.New("no connection")

func (brokenStore) Insert(context.Context, simulator.Record) error { return errBroken }

func (brokenStore) Load(context.Context, string) (simulator.Record, error) {
	return simulator.Record{}, errBroken
}

func (brokenStore) List(context.Context, string) ([]simulator.Record, error) { return nil, errBroken }

func TestABrokenStoreIsAnUnclearAnswer(t *testing.T) {
	w := newWorld(simulator.Options{})
	w.Simulator = simulator.New(brokenStore{}, simulator.Options{})
	_, create := w.Create(t.Context(), w.account, w.spec("web"))
	_, find := w.FindByToken(t.Context(), w.account, "op_1")
	for name, err := range map[string]error{"create": create, "find": find, "stop": w.Stop(t.Context(), w.account, provider.Ref{InstanceID: "sim-a"})} {
		require.ErrorIs(t, err, errBroken, name)
		require.Equal(t, provider.ClassUnclear, provider.ClassOf(err), name)
	}
}

// calls collects what a Recorder sees.
type calls struct{ seen []simulator.Call }

func (c *calls) Record(_ context.Context, call simulator.Call) { c.seen = append(c.seen, call) }

func TestRecorderSeesEachCall(t *testing.T) {
	recorder := &calls{}
	w := newWorld(simulator.Options{Recorder: recorder})
	at := w.clock()
	ref := w.create(t, "web")
	require.Error(t, w.Stop(t.Context(), w.account, ref))
	_, err := w.FindByToken(t.Context(), w.account, "op_web")
	require.NoError(t, err)
	require.Equal(t, []simulator.Call{
		{Op: simulator.OpCreate, AccountID: "acc_1", Token: "op_web", At: at},
		{Op: simulator.OpStop, AccountID: "acc_1", InstanceID: ref.InstanceID, At: at},
		{Op: simulator.OpFindByToken, AccountID: "acc_1", Token: "op_web", At: at},
	}, recorder.seen)
}
