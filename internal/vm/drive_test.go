package vm_test

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/operation"
	"biztraak.dev/vm/internal/provider"
	"biztraak.dev/vm/internal/vm"
)

var made atomic.Int64

// vm makes a VM; words of its name that are faults of the simulator make its
// machines go wrong.
func (w *world) vm(words ...string) ident.ID {
	w.t.Helper()
	name := fmt.Sprintf("m%d %s", made.Add(1), strings.Join(words, " "))
	got, err := w.Create(w.ann(), vm.CreateInput{ProjectID: w.project, Name: strings.TrimSpace(name), TemplateID: w.template})
	require.NoError(w.t, err)
	return got.VM.ID
}

// provision begins a machine of a new VM.
func (w *world) provision(words ...string) *vm.Work {
	w.t.Helper()
	got, err := w.Provision(w.ann(), vm.ProvisionInput{VirtualMachineID: w.vm(words...), CloudAccountID: w.account})
	require.NoError(w.t, err)
	return got
}

// running makes a machine that runs.
func (w *world) running(words ...string) ident.ID {
	w.t.Helper()
	work := w.provision(words...)
	o := w.finish(work.Operation.ID)
	require.Equal(w.t, operation.Succeeded, o.Status, "%+v", o.Error)
	return work.Provider.ID
}

// stopped makes a machine that is stopped.
func (w *world) stopped(words ...string) ident.ID {
	w.t.Helper()
	id := w.running(words...)
	require.Equal(w.t, operation.Succeeded, w.finish(w.mustStop(id, false)).Status)
	return id
}

func (w *world) mustStart(id ident.ID) ident.ID {
	w.t.Helper()
	got, err := w.Start(w.ann(), vm.StartInput{VirtualMachineProviderID: id})
	return w.opOf(got, err)
}

func (w *world) mustStop(id ident.ID, force bool) ident.ID {
	w.t.Helper()
	got, err := w.Stop(w.ann(), vm.StopInput{VirtualMachineProviderID: id, Force: force})
	return w.opOf(got, err)
}

func (w *world) mustRestart(id ident.ID) ident.ID {
	w.t.Helper()
	got, err := w.Restart(w.ann(), vm.RestartInput{VirtualMachineProviderID: id})
	return w.opOf(got, err)
}

func (w *world) mustDestroy(id ident.ID) ident.ID {
	w.t.Helper()
	got, err := w.Destroy(w.ann(), vm.DestroyInput{VirtualMachineProviderID: id})
	return w.opOf(got, err)
}

func (w *world) opOf(got *vm.Work, err error) ident.ID {
	w.t.Helper()
	require.NoError(w.t, err)
	require.NotNil(w.t, got.Operation)
	return got.Operation.ID
}

func (w *world) cancel(op ident.ID) error {
	_, err := w.ops.Cancel(w.ann(), operation.CancelInput{OperationID: op})
	return err
}

func (w *world) retry(op ident.ID) error {
	_, err := w.ops.Retry(w.ann(), operation.RetryInput{OperationID: op})
	return err
}

// events reads all that happened in the project.
func (w *world) events() []operation.Event {
	w.t.Helper()
	var all []operation.Event
	for {
		got, err := w.ops.EventsAfter(w.t.Context(), w.project, int64(len(all)), 1000)
		require.NoError(w.t, err)
		if len(got) == 0 {
			return all
		}
		all = append(all, got...)
	}
}

// statuses lists the statuses that a provider has shown.
func (w *world) statuses(id ident.ID) []string {
	w.t.Helper()
	var out []string
	for _, e := range w.events() {
		if e.Kind == operation.ProviderStatus && e.SubjectID == id {
			out = append(out, e.Status)
		}
	}
	return out
}

// instances lists what the cloud shows of a provider; of all for an empty id.
func (w *world) instances(id ident.ID) []provider.Observation {
	w.t.Helper()
	all, err := w.sim.List(w.t.Context(), provider.Account{ID: string(w.account)})
	require.NoError(w.t, err)
	return slices.DeleteFunc(all, func(o provider.Observation) bool { return id != "" && o.Owner != string(id) })
}
