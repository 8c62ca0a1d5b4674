package e2e_test

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/app"
	"biztraak.dev/vm/internal/operation"
	"biztraak.dev/vm/internal/provider"
)

// TestWorkerFrozenBetweenGuardAndCreate freezes a worker after it was told that
// it may create, lets another one take over and finish, and thaws it: the create
// that it then sends is one too many. One sweep must leave one machine.
func TestWorkerFrozenBetweenGuardAndCreate(t *testing.T) {
	t.Parallel()
	i := install(t, "")
	edge := i.start(app.Roles{Serve: true})
	w := newWorld(i.client(edge), i)
	c := newCloud(w)
	vm := w.vm("web")

	const create = "PROVISION create_instance"
	frozen := startChild(t, childOptions{kind: childWorker, env: i.env(map[string]string{
		holdEnv: fmt.Sprintf("%s %s", create, operation.AfterGuard),
	})})
	made := w.provision(vm)
	frozen.awaitPoint(fmt.Sprintf("%s %s", create, operation.AfterGuard))
	session := value[string](i, `SELECT session_id FROM operation WHERE id = $1`, made.Operation)
	frozen.signal(syscall.SIGSTOP)
	frozenAt := value[time.Time](i, `SELECT clock_timestamp()`)
	heir := i.start(app.Roles{Work: true})
	i.awaitEnd(made.Operation)
	kept := value[string](i, `SELECT instance_id FROM vm_provider WHERE id = $1`, made.Provider)

	_, err := frozen.release.WriteString("go\n")
	require.NoError(t, err)
	frozen.signal(syscall.SIGCONT)
	frozen.awaitPoint(fmt.Sprintf("%s %s", create, operation.BeforeCommit)) // the late create is over
	if len(c.byOwner()[made.Provider]) == 1 {
		// The thawed worker has heard of the end of its lease in time. Then be the
		// create that was on its way through the network.
		lateCreate(c, w, made)
	}
	require.Len(t, c.byOwner()[made.Provider], 2)
	heir.stop()
	i.start(app.Roles{Work: true}, func(o *app.Options) { o.Config.ReconcileSeconds = 1 })
	c.awaitMachines(made.Provider, 1)

	require.Equal(t, kept, c.byOwner()[made.Provider][0].InstanceID, "the recorded machine is the one to keep")
	require.Equal(t, "RUNNING", w.status(made.Provider))
	awaitValue(i, 1, `SELECT count(*)::int FROM audit_event WHERE object_id = $1 AND action = 'instance.destroyed'`, made.Provider)
	checkTakenOver(t, i.moves(made.Operation), session, frozenAt)
}

// lateCreate makes a machine the way an earlier try of the operation would.
func lateCreate(c *cloud, w *world, made work) {
	w.t.Helper()
	region := value[string](w.sql, `SELECT region FROM vm_provider WHERE id = $1`, made.Provider)
	size := value[string](w.sql, `SELECT size FROM vm_provider WHERE id = $1`, made.Provider)
	_, err := c.Create(w.t.Context(), c.account, provider.Spec{
		ClientToken: made.Operation + "-0", Owner: made.Provider, Name: "web", Region: region, Size: size, Image: "any",
	})
	require.NoError(w.t, err)
}
