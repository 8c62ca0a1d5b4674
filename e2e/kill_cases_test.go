package e2e_test

import (
	"fmt"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/operation"
)

// touches are the steps that do something outside the database, and ask the
// guard before it.
var touches = map[string]bool{
	"PROVISION create_instance": true, "PROVISION remove_instance": true,
	"START start_instance": true, "START stop_instance": true,
	"STOP stop_instance":       true,
	"RESTART restart_instance": true,
	"DESTROY destroy_instance": true,
}

// pointsOf are the points at which a worker can die in the steps.
func pointsOf(kind operation.Kind, steps []operation.StepDef) []string {
	var out []string
	for _, s := range steps {
		step := fmt.Sprintf("%s %s", kind, s.Name)
		out = append(out, fmt.Sprintf("%s %s", step, operation.BeforeStep))
		if touches[step] {
			out = append(out, fmt.Sprintf("%s %s", step, operation.AfterGuard))
		}
		out = append(out, fmt.Sprintf("%s %s", step, operation.BeforeCommit))
	}
	return out
}

// phase names a kind and whether it is being undone.
type phase struct {
	kind    operation.Kind
	cleanUp bool
}

// String names the phase in messages.
func (p phase) String() string {
	if p.cleanUp {
		return string(p.kind) + ", undone"
	}
	return string(p.kind)
}

// What an operation is begun on.
const (
	onVM      = "a VM"
	onBooting = "a machine that is being provisioned, and boots slowly"
	onRunning = "a running machine"
	onStopped = "a stopped machine"
)

// killCase is what it takes to have operations in a phase, and what each of them
// must have come to in the end.
type killCase struct {
	on string
	// begin has the operation in the phase as soon as a worker takes it up.
	begin func(w *world, made *work)
	// ends and status are what the operation and the machine are in the end;
	// machines is how many there are then.
	ends, status string
	machines     int
}

func killCases(c *cloud) map[phase]killCase {
	return map[phase]killCase{
		{operation.Provision, false}: {onVM, beginProvision, "SUCCEEDED", "RUNNING", 1},
		{operation.Provision, true}:  {onBooting, cancelIt, "CANCELED", "FAILED", 0},
		{operation.Start, false}:     {onStopped, begin((*world).start), "SUCCEEDED", "RUNNING", 1},
		{operation.Start, true}:      {onStopped, c.cancelStart, "CANCELED", "STOPPED", 1},
		{operation.Stop, false}:      {onRunning, begin((*world).stop), "SUCCEEDED", "STOPPED", 1},
		{operation.Stop, true}:       {onRunning, beginAndCancel((*world).stop), "CANCELED", "RUNNING", 1},
		{operation.Restart, false}:   {onRunning, begin((*world).restart), "SUCCEEDED", "RUNNING", 1},
		{operation.Restart, true}:    {onRunning, beginAndCancel((*world).restart), "CANCELED", "RUNNING", 1},
		{operation.Destroy, false}:   {onRunning, begin((*world).destroy), "SUCCEEDED", "DELETED", 0},
	}
}

// casualty is one operation that a worker dies over.
type casualty struct {
	work
	phase phase
	want  killCase
}

// makeGround makes what the operations are begun on, while a worker runs.
func makeGround(w *world, casualties []casualty) {
	w.t.Helper()
	of := map[string][]*casualty{}
	for n := range casualties {
		x := &casualties[n]
		of[x.want.on] = append(of[x.want.on], x)
	}
	vm, slow := w.vm("web"), w.vm("web-slow-boot")
	for _, x := range of[onVM] {
		x.Provider = vm // stands in for the machine until there is one
	}
	for _, x := range of[onBooting] {
		x.work = w.provision(slow)
	}
	idle := append(of[onStopped], of[onRunning]...)
	for n, provider := range w.running(vm, len(idle)) {
		idle[n].Provider = provider
	}
	stops := make([]string, len(of[onStopped]))
	for n, x := range of[onStopped] {
		stops[n] = w.stop(x.Provider).Operation
	}
	w.sql.awaitEnd(stops...)
	for _, x := range of[onBooting] {
		awaitValue(w.sql, 1, `SELECT step FROM operation WHERE id = $1`, x.Operation)
	}
}

func beginProvision(w *world, made *work) { *made = w.provision(made.Provider) }

func cancelIt(w *world, made *work) { w.cancel(made.Operation) }

func begin(act func(*world, string) work) func(*world, *work) {
	return func(w *world, made *work) { *made = act(w, made.Provider) }
}

// beginAndCancel has the operation undone as soon as it is taken up.
func beginAndCancel(act func(*world, string) work) func(*world, *work) {
	return func(w *world, made *work) {
		*made = act(w, made.Provider)
		w.cancel(made.Operation)
	}
}

// cancelStart cancels a start whose machine runs by then, so that undoing it
// means to stop it.
func (c *cloud) cancelStart(w *world, made *work) {
	beginAndCancel((*world).start)(w, made)
	instance := value[string](w.sql, `SELECT instance_id FROM vm_provider WHERE id = $1`, made.Provider)
	require.NoError(c.t, c.PowerOnOutside(c.t.Context(), instance))
}
