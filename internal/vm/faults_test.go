package vm_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/operation"
	"biztraak.dev/vm/internal/provider"
	"biztraak.dev/vm/internal/provider/simulator"
	"biztraak.dev/vm/internal/vm"
)

// What a create meets, and what is left of it.
func TestProvisionFaults(t *testing.T) {
	for _, c := range []struct {
		fault  simulator.Fault
		status operation.Status
		code   operation.ErrorCode
		kept   int // instances afterwards
	}{
		{simulator.FaultCapacity, operation.Failed, operation.CodeCapacity, 0},
		{simulator.FaultQuota, operation.Failed, operation.CodeQuota, 0},
		{simulator.FaultCredentials, operation.Failed, operation.CodeCredentials, 0},
		{simulator.FaultBootCrash, operation.Failed, operation.CodeProviderError, 1},
		{simulator.FaultRateLimited, operation.Succeeded, "", 1},
		{simulator.FaultTimeoutAfterCreate, operation.Succeeded, "", 1},
		{simulator.FaultSlowBoot, operation.Succeeded, "", 1},
	} {
		t.Run(string(c.fault), func(t *testing.T) {
			w := newWorld(t)
			work := w.provision(string(c.fault))
			o := w.finish(work.Operation.ID)
			p := w.provider(work.Provider.ID)
			require.Equal(t, c.status, o.Status, "%+v", o.Error)
			require.Len(t, w.instances(p.ID), c.kept)
			if c.status == operation.Succeeded {
				require.Equal(t, vm.Running, p.Status)
				require.Nil(t, p.LastError)
				require.Equal(t, p.InstanceID, w.instances(p.ID)[0].InstanceID)
			} else {
				require.Equal(t, vm.Failed, p.Status)
				require.Equal(t, c.code, o.Error.Code)
				require.Equal(t, c.code, p.LastError.Code)
				require.True(t, o.Error.Retryable)
				require.Equal(t, c.kept == 1, p.InstanceID != "", "what is there is on record, so that a destroy removes it")
			}
			require.Equal(t, operation.Succeeded, w.finish(w.mustDestroy(p.ID)).Status)
			require.Empty(t, w.instances(""))
		})
	}
}

// A retry of a create that was refused works once the cause is gone.
func TestRetryOfARefusedCreate(t *testing.T) {
	w := newWorld(t)
	w.accounts.fail(w.account, simulator.FaultCapacity)
	work := w.provision()
	require.Equal(t, operation.Failed, w.finish(work.Operation.ID).Status)
	w.accounts.fail(w.account)
	require.NoError(t, w.retry(work.Operation.ID))
	o := w.finish(work.Operation.ID)
	require.Equal(t, operation.Succeeded, o.Status)
	require.Equal(t, 2, o.Attempt)
	p := w.provider(work.Provider.ID)
	require.Equal(t, vm.Running, p.Status)
	require.Nil(t, p.LastError)
	require.Equal(t, []string{"PENDING", "PROVISIONING", "FAILED", "PROVISIONING", "RUNNING"}, w.statuses(p.ID))
}

// A machine that crashed while it booted is replaced by the retry, not adopted.
func TestRetryAfterABootCrashMakesANewMachine(t *testing.T) {
	w := newWorld(t)
	w.accounts.fail(w.account, simulator.FaultBootCrash)
	work := w.provision()
	require.Equal(t, operation.Failed, w.finish(work.Operation.ID).Status)
	corpse := w.provider(work.Provider.ID).InstanceID
	require.NotEmpty(t, corpse)
	w.accounts.fail(w.account)
	require.NoError(t, w.retry(work.Operation.ID))
	require.Equal(t, operation.Succeeded, w.finish(work.Operation.ID).Status)
	p := w.provider(work.Provider.ID)
	require.NotEqual(t, corpse, p.InstanceID)
	left := w.instances("")
	require.Len(t, left, 1, "no corpse stays")
	require.Equal(t, p.InstanceID, left[0].InstanceID)
}

// A machine that is only slow is kept by a retry.
func TestRetryKeepsAUsableMachine(t *testing.T) {
	w := newWorld(t)
	work := w.provision("slow-boot")
	w.deliver()
	w.accounts.fail(w.account, simulator.FaultCredentials)
	require.Equal(t, operation.Failed, w.finish(work.Operation.ID).Status)
	first := w.provider(work.Provider.ID).InstanceID
	w.accounts.fail(w.account)
	require.NoError(t, w.retry(work.Operation.ID))
	require.Equal(t, operation.Succeeded, w.finish(work.Operation.ID).Status)
	require.Equal(t, first, w.provider(work.Provider.ID).InstanceID)
	require.Len(t, w.instances(""), 1)
}

func TestCancelOfASlowBoot(t *testing.T) {
	w := newWorld(t)
	work := w.provision("slow-boot")
	for range 5 {
		w.turn()
	}
	require.Len(t, w.instances(work.Provider.ID), 1)
	began := w.now()
	require.NoError(t, w.cancel(work.Operation.ID))
	o := w.finish(work.Operation.ID)
	require.Equal(t, operation.Canceled, o.Status)
	require.Less(t, w.now().Sub(began), 20*time.Second, "the boot is not waited for")
	p := w.provider(work.Provider.ID)
	require.Equal(t, vm.Failed, p.Status)
	require.Empty(t, p.InstanceID)
	require.Empty(t, w.instances(""))
	refused(t, w.retry(o.ID), "NOT_RETRYABLE operationId")
}

func TestStopFails(t *testing.T) {
	w := newWorld(t)
	id := w.running("stop-fails")
	o := w.finish(w.mustStop(id, false))
	require.Equal(t, operation.Failed, o.Status)
	p := w.provider(id)
	require.Equal(t, vm.Running, p.Status)
	require.Equal(t, operation.CodeProviderError, p.LastError.Code)
	require.NotEmpty(t, p.LastError.Message)
	require.Equal(t, []string{"STOPPING", "RUNNING"}, w.statuses(id)[3:])
	require.NotNil(t, p.Address)

	require.NoError(t, w.retry(o.ID))
	require.Equal(t, operation.Failed, w.finish(o.ID).Status, "it fails again, and does so once")
	require.Equal(t, []string{"STOPPING", "RUNNING", "STOPPING", "RUNNING"}, w.statuses(id)[3:])
	require.Equal(t, operation.Succeeded, w.finish(w.mustDestroy(id)).Status)
}

func TestStartFails(t *testing.T) {
	w := newWorld(t)
	id := w.stopped("start-fails")
	o := w.finish(w.mustStart(id))
	require.Equal(t, operation.Failed, o.Status)
	p := w.provider(id)
	require.Equal(t, vm.Stopped, p.Status)
	require.Equal(t, operation.CodeProviderError, p.LastError.Code)
	require.Equal(t, []string{"STARTING", "STOPPED"}, w.statuses(id)[5:], "RUNNING is never shown in between")
}

func TestLocked(t *testing.T) {
	w := newWorld(t)
	id := w.running("locked")
	for _, act := range []func() ident.ID{
		func() ident.ID { return w.mustRestart(id) },
		func() ident.ID { return w.mustStop(id, false) },
		func() ident.ID { return w.mustStart(id) },
		func() ident.ID { return w.mustDestroy(id) },
	} {
		began := w.now()
		o := w.finish(act())
		require.Equal(t, operation.Succeeded, o.Status, "%s: %+v", o.Kind, o.Error)
		require.GreaterOrEqual(t, w.now().Sub(began), 2*time.Second, "%s was held up by the lock", o.Kind)
	}
	require.Empty(t, w.instances(""))
}

func TestLost(t *testing.T) {
	w := newWorld(t)
	id := w.running("lost")
	w.later(6 * time.Second)
	require.NoError(t, w.Reconcile(t.Context(), w.account))
	require.Equal(t, vm.Lost, w.provider(id).Status)
	for _, act := range []func() error{
		func() error { _, err := w.Start(w.ann(), vm.StartInput{VirtualMachineProviderID: id}); return err },
		func() error { _, err := w.Stop(w.ann(), vm.StopInput{VirtualMachineProviderID: id}); return err },
		func() error { _, err := w.Restart(w.ann(), vm.RestartInput{VirtualMachineProviderID: id}); return err },
	} {
		refused(t, act(), "NOT_AVAILABLE virtualMachineProviderId")
	}
	require.Equal(t, operation.Succeeded, w.finish(w.mustDestroy(id)).Status)
	require.Equal(t, []string{"RUNNING", "LOST", "DELETING", "DELETED"}, w.statuses(id)[2:])
}

// The machine vanishes while it is worked on: the work says so, and the status
// is what the cloud shows.
func TestGoneInTheMiddle(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(w *world) (id, op ident.ID)
	}{
		{"of a stop", func(w *world) (ident.ID, ident.ID) {
			id := w.running()
			return id, w.mustStop(id, false)
		}},
		{"of a start", func(w *world) (ident.ID, ident.ID) {
			id := w.stopped()
			return id, w.mustStart(id)
		}},
		{"of a restart", func(w *world) (ident.ID, ident.ID) {
			id := w.running()
			return id, w.mustRestart(id)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			id, op := c.do(w)
			w.deliver()
			require.NoError(t, w.sim.RemoveOutside(t.Context(), w.provider(id).InstanceID))
			o := w.finish(op)
			require.Equal(t, operation.Failed, o.Status)
			require.Equal(t, operation.CodeInstanceNotFound, o.Error.Code)
			require.False(t, o.Error.Retryable)
			require.Equal(t, vm.Lost, w.provider(id).Status)
			require.Equal(t, operation.CodeInstanceNotFound, w.provider(id).LastError.Code)
		})
	}
}

// A destroy that the cloud refuses stays visible as such, and the next goes on.
func TestADestroyThatFails(t *testing.T) {
	w := newWorld(t)
	id := w.running()
	w.accounts.fail(w.account, simulator.FaultCredentials)
	o := w.finish(w.mustDestroy(id))
	require.Equal(t, operation.Failed, o.Status)
	require.Equal(t, operation.CodeCredentials, w.provider(id).LastError.Code)
	require.Equal(t, vm.Deleting, w.provider(id).Status)

	w.accounts.fail(w.account)
	require.Equal(t, operation.Succeeded, w.finish(w.mustDestroy(id)).Status)
	require.Equal(t, vm.Deleted, w.provider(id).Status)
	require.Nil(t, w.provider(id).LastError)
	refused(t, w.retry(o.ID), "NOT_RETRYABLE operationId")
}

// The machine goes down while the guest boots: nobody waits for it any longer.
func TestPowerCutDuringTheBootOfTheGuest(t *testing.T) {
	w := newWorld(t)
	id := w.stopped()
	op := w.mustStart(id)
	began := w.now()
	w.probe = func(_ context.Context, _ operation.Kind, step string, at operation.Point) {
		if step == "wait_for_guest" && at == operation.BeforeStep {
			require.NoError(t, w.sim.PowerOffOutside(t.Context(), w.provider(id).InstanceID))
		}
	}
	require.Equal(t, operation.Failed, w.finish(op).Status)
	require.Less(t, w.now().Sub(began), time.Minute)
	require.Equal(t, vm.Stopped, w.provider(id).Status)
	require.Equal(t, provider.StateStopped, w.instances(id)[0].State)
}

// A start that was canceled has not succeeded, even when the machine cannot be
// stopped again: RUNNING is shown only once it is looked at anew.
func TestACanceledStartThatCannotBeUndone(t *testing.T) {
	w := newWorld(t)
	id := w.running("stop-fails")
	require.NoError(t, w.sim.PowerOffOutside(t.Context(), w.provider(id).InstanceID))
	w.reconcile()
	op := w.mustStart(id)
	w.deliver()
	require.NoError(t, w.cancel(op))
	require.Equal(t, operation.Canceled, w.finish(op).Status)
	require.Equal(t, []string{"STOPPED", "STARTING", "STOPPED"}, w.statuses(id)[3:])
	w.reconcile()
	require.Equal(t, vm.Running, w.provider(id).Status)
}

// Somebody shuts the machine down while it boots: the start fails soon, and does
// not wait for as long as a boot may take.
func TestShutDownDuringTheBoot(t *testing.T) {
	w := newWorld(t)
	id := w.stopped()
	op := w.mustStart(id)
	began := w.now()
	w.probe = func(_ context.Context, _ operation.Kind, step string, at operation.Point) {
		if step == "wait_for_boot" && at == operation.BeforeStep {
			require.NoError(t, w.sim.PowerOffOutside(t.Context(), w.provider(id).InstanceID))
		}
	}
	require.Equal(t, operation.Failed, w.finish(op).Status)
	require.Less(t, w.now().Sub(began), time.Minute)
	require.Equal(t, vm.Stopped, w.provider(id).Status)
}
