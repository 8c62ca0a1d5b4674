package app

import "biztraak.dev/vm/internal/operation"

// Steps are the steps of one kind of operation, in order.
type Steps struct {
	// Forward does the work, CleanUp undoes it.
	Forward, CleanUp []operation.StepDef
}

// Steps lists what the process knows to carry out, for tests that go through all
// of it.
func (p *Process) Steps() map[operation.Kind]Steps {
	out := make(map[operation.Kind]Steps, len(p.sys.registry))
	for kind, h := range p.sys.registry {
		out[kind] = Steps{Forward: h.Steps, CleanUp: h.CleanUp}
	}
	return out
}
