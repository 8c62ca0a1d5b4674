package vm_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/operation"
	"biztraak.dev/vm/internal/provider"
	"biztraak.dev/vm/internal/vm"
)

func TestTheLifeOfAMachine(t *testing.T) {
	w := newWorld(t)
	work := w.provision()
	id := work.Provider.ID
	require.Equal(t, vm.Pending, work.Provider.Status)
	require.Equal(t, operation.Queued, work.Operation.Status)
	require.Equal(t, 3, work.Operation.Steps)
	require.True(t, work.Provider.Simulated)

	o := w.finish(work.Operation.ID)
	require.Equal(t, operation.Succeeded, o.Status)
	p := w.provider(id)
	require.Equal(t, vm.Running, p.Status)
	require.NotNil(t, p.Address)
	require.Equal(t, w.template, p.AppliedTemplateID)
	require.False(t, p.Drift)
	require.Len(t, w.instances(id), 1)
	require.Equal(t, p.InstanceID, w.instances(id)[0].InstanceID)
	require.True(t, w.journals.wanted[id])
	require.GreaterOrEqual(t, o.FinishedAt.Sub(o.CreatedAt), bootTime, "the guest was waited for")
	first := *p.Address

	require.Equal(t, operation.Succeeded, w.finish(w.mustRestart(id)).Status)
	require.Equal(t, first, *w.provider(id).Address, "a restart keeps the address")

	stop := w.mustStop(id, false)
	require.Equal(t, vm.Stopping, w.provider(id).Status, "shown at once")
	require.Equal(t, operation.Succeeded, w.finish(stop).Status)
	require.Equal(t, provider.StateStopped, w.instances(id)[0].State)

	start := w.mustStart(id)
	require.Equal(t, vm.Starting, w.provider(id).Status)
	require.Equal(t, operation.Succeeded, w.finish(start).Status)
	require.NotEqual(t, first, *w.provider(id).Address, "the address is read again")

	destroy := w.mustDestroy(id)
	require.Equal(t, vm.Deleting, w.provider(id).Status)
	require.Equal(t, operation.Succeeded, w.finish(destroy).Status)
	require.Empty(t, w.instances(id))
	require.Empty(t, w.provider(id).InstanceID)
	require.Nil(t, w.provider(id).Address)
	require.False(t, w.journals.wanted[id])
	require.Equal(t, []string{
		"PENDING", "PROVISIONING", "RUNNING", "STOPPING", "STOPPED", "STARTING", "RUNNING", "DELETING", "DELETED",
	}, w.statuses(id))
	require.Zero(t, query[int](w, "SELECT count(*) FROM operation_lock"))
}

func TestWhatIsSoAlreadyIsAnswered(t *testing.T) {
	w := newWorld(t)
	id := w.running()
	got, err := w.Start(w.ann(), vm.StartInput{VirtualMachineProviderID: id})
	require.NoError(t, err)
	require.Nil(t, got.Operation, "it runs")
	require.Equal(t, id, got.Provider.ID)

	stop := w.mustStop(id, false)
	require.Equal(t, stop, w.mustStop(id, false), "the one under way")
	w.finish(stop)
	got, err = w.Stop(w.ann(), vm.StopInput{VirtualMachineProviderID: id})
	require.NoError(t, err)
	require.Nil(t, got.Operation)

	start := w.mustStart(id)
	require.Equal(t, start, w.mustStart(id))
	w.finish(start)
	destroy := w.mustDestroy(id)
	require.Equal(t, destroy, w.mustDestroy(id))
	w.finish(destroy)
	got, err = w.Destroy(w.ann(), vm.DestroyInput{VirtualMachineProviderID: id})
	require.NoError(t, err)
	require.Nil(t, got.Operation)
}

func TestForcedStopDuringAStart(t *testing.T) {
	w := newWorld(t)
	id := w.stopped()
	start := w.mustStart(id)
	w.deliver()
	require.Equal(t, provider.StateStarting, w.instances(id)[0].State)
	_, err := w.Stop(w.ann(), vm.StopInput{VirtualMachineProviderID: id})
	refused(t, err, "OPERATION_IN_PROGRESS virtualMachineProviderId")
	stop := w.mustStop(id, true)
	require.Equal(t, stop, w.mustStop(id, true), "twice is once")
	require.Equal(t, operation.Succeeded, w.finish(stop).Status)
	require.Equal(t, operation.Canceled, w.op(start).Status)
	require.Equal(t, vm.Stopped, w.provider(id).Status)
	w.later(time.Minute)
	require.Equal(t, provider.StateStopped, w.instances(id)[0].State, "the canceled start does not come back to life")
	require.Equal(t, []string{"STARTING", "STOPPED"}, w.statuses(id)[5:], "RUNNING was never shown")
}

func TestForcedStopDuringARestart(t *testing.T) {
	w := newWorld(t)
	id := w.running()
	restart := w.mustRestart(id)
	w.deliver()
	stop := w.mustStop(id, true)
	require.Equal(t, operation.Succeeded, w.finish(stop).Status)
	require.Equal(t, operation.Canceled, w.op(restart).Status)
	require.Equal(t, vm.Stopped, w.provider(id).Status)
	require.Equal(t, provider.StateStopped, w.instances(id)[0].State)
}

// A destroy is never refused: whatever is under way, and however far, it ends
// with the machine gone.
func TestDestroyWhateverIsUnderWay(t *testing.T) {
	for _, c := range []struct {
		name  string
		begin func(w *world) (id, op ident.ID)
	}{
		{"provision", func(w *world) (ident.ID, ident.ID) {
			work := w.provision()
			return work.Provider.ID, work.Operation.ID
		}},
		{"start", func(w *world) (ident.ID, ident.ID) {
			id := w.stopped()
			return id, w.mustStart(id)
		}},
		{"stop", func(w *world) (ident.ID, ident.ID) {
			id := w.running()
			return id, w.mustStop(id, false)
		}},
		{"restart", func(w *world) (ident.ID, ident.ID) {
			id := w.running()
			return id, w.mustRestart(id)
		}},
		{"a stop that was forced into a start", func(w *world) (ident.ID, ident.ID) {
			id := w.stopped()
			w.mustStart(id)
			w.deliver()
			return id, w.mustStop(id, true)
		}},
	} {
		for deliveries := range 3 {
			t.Run(c.name, func(t *testing.T) {
				w := newWorld(t)
				id, op := c.begin(w)
				for range deliveries {
					w.turn()
				}
				destroy := w.mustDestroy(id)
				require.Equal(t, vm.Deleting, w.provider(id).Status)
				require.Equal(t, operation.Succeeded, w.finish(destroy).Status)
				require.True(t, w.op(op).Status.Ended())
				require.Equal(t, vm.Deleted, w.provider(id).Status)
				require.Empty(t, w.instances(id))
				require.Zero(t, query[int](w, "SELECT count(*) FROM operation_lock"))
			})
		}
	}
}
