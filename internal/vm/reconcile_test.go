package vm_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/operation"
	"biztraak.dev/vm/internal/provider"
	"biztraak.dev/vm/internal/provider/simulator"
	"biztraak.dev/vm/internal/vm"
)

func (w *world) reconcile() {
	w.t.Helper()
	require.NoError(w.t, w.Reconcile(w.t.Context(), w.account))
}

func TestReconcileStoresWhatHappenedOutside(t *testing.T) {
	w := newWorld(t)
	id := w.running()
	instance, ctx := w.provider(id).InstanceID, t.Context()
	for _, c := range []struct {
		name    string
		outside func() error
		wait    time.Duration
		want    vm.Status
	}{
		{"nothing", func() error { return nil }, 0, vm.Running},
		{"powered off", func() error { return w.sim.PowerOffOutside(ctx, instance) }, 0, vm.Stopped},
		{"powered on, still booting", func() error { return w.sim.PowerOnOutside(ctx, instance) }, 0, vm.Stopped},
		{"powered on", func() error { return nil }, bootTime, vm.Running},
		{"removed", func() error { return w.sim.RemoveOutside(ctx, instance) }, 0, vm.Lost},
		{"still gone", func() error { return nil }, time.Hour, vm.Lost},
		{"came back, powered off", func() error { return w.sim.RestoreOutside(ctx, instance) }, 0, vm.Stopped},
		{"on again", func() error { return w.sim.PowerOnOutside(ctx, instance) }, bootTime, vm.Running},
		{"removed again", func() error { return w.sim.RemoveOutside(ctx, instance) }, 0, vm.Lost},
		{"came back and runs", func() error {
			require.NoError(t, w.sim.RestoreOutside(ctx, instance))
			return w.sim.PowerOnOutside(ctx, instance)
		}, bootTime, vm.Running},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.NoError(t, c.outside())
			w.later(c.wait)
			w.reconcile()
			p := w.provider(id)
			require.Equal(t, c.want, p.Status)
			if c.want == vm.Running {
				require.NotNil(t, p.Address)
				require.Equal(t, w.instances(id)[0].Addresses[0].IP.String(), *p.Address)
			}
			w.reconcile()
			require.Equal(t, p.Version, w.provider(id).Version, "a look that finds nothing new changes nothing")
		})
	}
	require.Equal(t, []string{"RUNNING", "STOPPED", "RUNNING", "LOST", "STOPPED", "RUNNING", "LOST", "RUNNING"}, w.statuses(id)[2:])
	require.Contains(t, w.journals.lines[id], "the cloud shows the machine as LOST, which was not our doing")
}

func TestReconcileLeavesWhatIsWorkedOn(t *testing.T) {
	w := newWorld(t)
	id := w.stopped()
	start := w.mustStart(id)
	w.deliver()
	require.NoError(t, w.sim.RemoveOutside(t.Context(), w.provider(id).InstanceID))
	before := w.provider(id)
	w.reconcile()
	require.Equal(t, before, w.provider(id))
	w.finish(start)
	require.Equal(t, vm.Lost, w.provider(id).Status)
}

// listing hooks into the moment at which the cloud is asked what it has.
func (w *world) listing(fn func()) {
	w.called = func(c simulator.Call) {
		if c.Op == simulator.OpList {
			fn()
		}
	}
}

// A provider that was worked on between the look at our rows and the look at the
// cloud is left for the next time.
func TestReconcileChecksTheVersion(t *testing.T) {
	w := newWorld(t)
	id := w.running()
	require.NoError(t, w.sim.PowerOffOutside(t.Context(), w.provider(id).InstanceID))
	once := true
	w.listing(func() {
		if once {
			once = false
			w.exec("UPDATE vm_provider SET version = version + 1 WHERE id = ?", id)
		}
	})
	w.reconcile()
	require.False(t, once)
	require.Equal(t, vm.Running, w.provider(id).Status)
	w.reconcile()
	require.Equal(t, vm.Stopped, w.provider(id).Status)
}

// orphan makes an instance with our tag that nobody has on record.
func (w *world) orphan(owner string) provider.Observation {
	w.t.Helper()
	o, err := w.sim.Create(w.t.Context(), provider.Account{ID: string(w.account)}, provider.Spec{
		ClientToken: string(ident.New(ident.Operation)), Owner: owner, Name: "orphan",
		Region: simulator.RegionNorth, Size: simulator.SizeSmall,
	})
	require.NoError(w.t, err)
	return o
}

func (w *world) audited(id ident.ID) int {
	return query[int](w, "SELECT count(*) FROM audit_event WHERE action = 'instance.destroyed' AND object_id = ?", id)
}

func TestReconcileDestroysOrphans(t *testing.T) {
	w := newWorld(t)
	id := w.running()
	kept := w.provider(id).InstanceID
	orphan := w.orphan(string(id))
	stranger := w.orphan("vmp_of_another_installation")
	gone := w.running()
	w.finish(w.mustDestroy(gone))
	late := w.orphan(string(gone))
	w.reconcile()
	require.Equal(t, 1, w.audited(id))
	require.Equal(t, 1, w.audited(gone), "an answer that came after the end")
	w.later(stopTime)
	var left []string
	for _, o := range w.instances("") {
		left = append(left, o.InstanceID)
	}
	require.ElementsMatch(t, []string{kept, stranger.InstanceID}, left)
	require.NotContains(t, left, orphan.InstanceID)
	require.NotContains(t, left, late.InstanceID)
	require.Equal(t, vm.Running, w.provider(id).Status)
	w.reconcile()
	require.Equal(t, 1, w.audited(id), "told once")
}

// The VM is deleted and with it every row about the machine; an instance of it
// that shows up afterwards is still known to be ours.
func TestReconcileDestroysOrphansOfDeletedVMs(t *testing.T) {
	w := newWorld(t)
	work := w.provision()
	w.finish(work.Operation.ID)
	w.finish(w.mustDestroy(work.Provider.ID))
	_, err := w.Delete(w.ann(), vm.DeleteInput{VirtualMachineID: work.Provider.VMID})
	require.NoError(t, err)
	w.orphan(string(work.Provider.ID))
	require.Equal(t, []ident.ID{w.account}, query[[]ident.ID](w, "SELECT account_id FROM retired_provider"))
	w.reconcile()
	w.later(stopTime)
	require.Empty(t, w.instances(""))
	require.Equal(t, 1, w.audited(work.Provider.ID))
}

func TestReconcileSparesInstancesInTheMaking(t *testing.T) {
	w := newWorld(t)
	work := w.provision()
	twin := w.orphan(string(work.Provider.ID))
	w.reconcile()
	require.Equal(t, provider.StateCreating, w.instances(work.Provider.ID)[0].State)
	require.Equal(t, operation.Succeeded, w.finish(work.Operation.ID).Status)
	w.reconcile()
	w.later(stopTime)
	there := w.instances(work.Provider.ID)
	require.Len(t, there, 1)
	require.NotEqual(t, twin.InstanceID, there[0].InstanceID)
}

func TestOneLookAtAnAccountAtATime(t *testing.T) {
	w := newWorld(t)
	w.running()
	looks := 0
	w.listing(func() {
		looks++
		if looks == 1 {
			w.reconcile() // another process: it finds the lock taken, and does nothing
		}
	})
	w.reconcile()
	require.Equal(t, 1, looks)
	w.reconcile()
	require.Equal(t, 2, looks, "the lock was given back")
}

func TestAccountsInUse(t *testing.T) {
	w := newWorld(t)
	accounts := func() []ident.ID {
		t.Helper()
		got, err := w.AccountsInUse(t.Context())
		require.NoError(t, err)
		return got
	}
	require.Empty(t, accounts())
	id := w.running()
	w.later(48 * time.Hour)
	require.Equal(t, []ident.ID{w.account}, accounts())
	w.finish(w.mustDestroy(id))
	require.Equal(t, []ident.ID{w.account}, accounts(), "an answer can come late")
	w.later(25 * time.Hour)
	require.Empty(t, accounts())
}

func TestACloudThatDoesNotAnswerIsAnError(t *testing.T) {
	w := newWorld(t)
	id := w.running()
	w.accounts.fail(w.account, simulator.FaultCredentials)
	require.ErrorContains(t, w.Reconcile(t.Context(), w.account), string(w.account))
	require.Equal(t, vm.Running, w.provider(id).Status, "no answer says nothing about machines")
}
