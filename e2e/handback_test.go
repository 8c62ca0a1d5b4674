package e2e_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/app"
	"biztraak.dev/vm/internal/operation"
)

// TestStoppedWorkerHandsBack stops a worker in order in the middle of a step: a
// second replica has the work at once, without waiting for a lease to run out,
// and no try is spent on it.
func TestStoppedWorkerHandsBack(t *testing.T) {
	t.Parallel()
	const soon = 3 * time.Second
	i := install(t, "")
	edge := i.start(app.Roles{Serve: true})
	w := newWorld(i.client(edge), i)
	vm := w.vm("web")

	inStep := make(chan struct{}, 1)
	leaving := i.start(app.Roles{Work: true}, func(o *app.Options) {
		o.Hooks.Probe = func(ctx context.Context, _ operation.Kind, step string, at operation.Point) {
			if step == "wait_for_guest" && at == operation.BeforeStep {
				inStep <- struct{}{}
				<-ctx.Done() // as long as a call of a cloud may take
			}
		}
	})
	made := w.provision(vm)
	<-inStep
	i.start(app.Roles{Work: true})
	session := value[string](i, `SELECT session_id FROM operation WHERE id = $1`, made.Operation)
	stoppedAt := value[time.Time](i, `SELECT clock_timestamp()`)
	leaving.stop()

	i.awaitEnd(made.Operation)
	moves := i.moves(made.Operation)
	taken := checkTakenOver(t, moves, session, stoppedAt)
	require.Less(t, taken.At.Sub(stoppedAt), soon)
	require.Equal(t, "SUCCEEDED", ends(moves)[0].Status)
	require.Zero(t, value[int](i, `SELECT tries FROM operation WHERE id = $1`, made.Operation))
	require.Equal(t, "RUNNING", w.status(made.Provider))
}
