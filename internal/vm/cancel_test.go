package vm_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/fault"
	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/operation"
	"biztraak.dev/vm/internal/provider"
	"biztraak.dev/vm/internal/vm"
)

// Each kind is canceled at the beginning of each of its steps, and again with
// the last line of it, when its effect is done and not yet stored.
func TestCancelAtEachStep(t *testing.T) {
	type outcome struct {
		status operation.Status
		shown  vm.Status
	}
	kinds := []struct {
		kind  operation.Kind
		begin func(w *world) (id, op ident.ID)
		// canceled is what comes of a cancel that is heard, done of one that is not.
		canceled, done outcome
		steps          []bool // which can be canceled
	}{
		{operation.Provision, func(w *world) (ident.ID, ident.ID) {
			work := w.provision()
			return work.Provider.ID, work.Operation.ID
		}, outcome{operation.Canceled, vm.Failed}, outcome{operation.Succeeded, vm.Running}, []bool{true, true, true}},
		{operation.Start, func(w *world) (ident.ID, ident.ID) {
			id := w.stopped()
			return id, w.mustStart(id)
		}, outcome{operation.Canceled, vm.Stopped}, outcome{operation.Succeeded, vm.Running}, []bool{true, true, true}},
		{operation.Stop, func(w *world) (ident.ID, ident.ID) {
			id := w.running()
			return id, w.mustStop(id, false)
		}, outcome{operation.Canceled, ""}, outcome{operation.Succeeded, vm.Stopped}, []bool{true, false}},
		{operation.Restart, func(w *world) (ident.ID, ident.ID) {
			id := w.running()
			return id, w.mustRestart(id)
		}, outcome{operation.Canceled, vm.Running}, outcome{operation.Succeeded, vm.Running}, []bool{true, true, true}},
		{operation.Destroy, func(w *world) (ident.ID, ident.ID) {
			id := w.running()
			return id, w.mustDestroy(id)
		}, outcome{}, outcome{operation.Succeeded, vm.Deleted}, []bool{false}},
	}
	for _, k := range kinds {
		for at, cancelable := range k.steps {
			for _, point := range []operation.Point{operation.BeforeStep, operation.BeforeCommit} {
				t.Run(fmt.Sprintf("%s step %d %s", k.kind, at, point), func(t *testing.T) {
					w := newWorld(t)
					id, op := k.begin(w)
					step, asked := w.registry[k.kind].StepNames()[at], false
					var answer error
					w.probe = func(_ context.Context, kind operation.Kind, s string, p operation.Point) {
						if kind == k.kind && s == step && p == point && !asked {
							asked = true
							answer = w.cancel(op)
						}
					}
					o := w.finish(op)
					require.True(t, asked)
					want := k.done
					if cancelable {
						require.NoError(t, answer)
						want = k.canceled
					} else {
						refused(t, answer, string(fault.TooLate)+" operationId")
					}
					require.Equal(t, want.status, o.Status, "%+v", o.Error)
					if want.shown != "" {
						require.Equal(t, want.shown, w.provider(id).Status)
					}
					require.NotContains(t, []vm.Status{vm.Starting, vm.Stopping, vm.Provisioning, vm.Pending}, w.provider(id).Status)
					require.Zero(t, query[int](w, "SELECT count(*) FROM operation_lock"))
					w.agrees(id)
				})
			}
		}
	}
}

// agrees checks that what is shown of a provider is what the cloud has.
func (w *world) agrees(id ident.ID) {
	w.t.Helper()
	p, there := w.provider(id), w.instances(id)
	// A machine whose restart was canceled is shown as RUNNING all the while.
	for p.Status == vm.Running && len(there) == 1 && there[0].State == provider.StateRestarting {
		w.later(bootTime)
		there = w.instances(id)
	}
	switch p.Status {
	case vm.Running, vm.Stopped:
		require.Len(w.t, there, 1)
		require.Equal(w.t, p.InstanceID, there[0].InstanceID)
		require.Equal(w.t, string(p.Status), string(there[0].State))
	case vm.Failed, vm.Deleted:
		require.Empty(w.t, there)
		require.Empty(w.t, p.InstanceID)
	default:
		require.Fail(w.t, "not settled", "%s", p.Status)
	}
}

// A cancel that arrives between the cloud's yes and our note of it must not
// leave the machine behind.
func TestCancelWhileTheCloudCreates(t *testing.T) {
	w := newWorld(t)
	work := w.provision()
	w.probe = func(_ context.Context, k operation.Kind, _ string, p operation.Point) {
		if k == operation.Provision && p == operation.AfterGuard {
			w.probe = nil
			require.NoError(t, w.cancel(work.Operation.ID))
			w.engine.Interrupt([]ident.ID{work.Operation.ID})
		}
	}
	require.Equal(t, operation.Canceled, w.finish(work.Operation.ID).Status)
	require.Equal(t, vm.Failed, w.provider(work.Provider.ID).Status)
	require.Empty(t, w.instances(""))
}
