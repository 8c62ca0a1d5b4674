package vm_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/operation"
	"biztraak.dev/vm/internal/provider/simulator"
	"biztraak.dev/vm/internal/vm"
)

// watchLocks looks again and again whether two operations hold or work on one
// provider; what it answers ends the watch.
func (w *world) watchLocks(t *testing.T) func() {
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for looks := 0; ; looks++ {
			var both int
			err := w.db.Gorm(t.Context()).Raw(`SELECT
				(SELECT count(*) FROM (SELECT FROM operation_lock WHERE granted GROUP BY resource HAVING count(*) > 1) l) +
				(SELECT count(*) FROM (SELECT FROM operation WHERE status = 'RUNNING' GROUP BY target_id HAVING count(*) > 1) o)`).Scan(&both).Error
			if err != nil || both > 0 {
				t.Errorf("look %d: %d providers have two masters, error %v", looks, both, err)
				return
			}
			select {
			case <-stop:
				return
			case <-tick.C:
			}
		}
	}()
	return func() {
		close(stop)
		<-done
	}
}

// takeRareWays goes the ways of the life cycle that chance may leave out.
func (w *world) takeRareWays() {
	w.t.Helper()
	ctx := w.t.Context()
	id := w.running()
	instance := w.provider(id).InstanceID
	for _, step := range []struct {
		outside func() error
		want    vm.Status
	}{
		{func() error { return w.sim.PowerOffOutside(ctx, instance) }, vm.Stopped},
		{func() error { return w.sim.PowerOnOutside(ctx, instance) }, vm.Running},
		{func() error { return w.sim.RemoveOutside(ctx, instance) }, vm.Lost},
		{func() error { return w.sim.RestoreOutside(ctx, instance) }, vm.Stopped},
		{func() error { return w.sim.RemoveOutside(ctx, instance) }, vm.Lost},
		{func() error {
			require.NoError(w.t, w.sim.RestoreOutside(ctx, instance))
			return w.sim.PowerOnOutside(ctx, instance)
		}, vm.Running},
		{func() error { return w.sim.RemoveOutside(ctx, instance) }, vm.Lost},
	} {
		require.NoError(w.t, step.outside())
		w.later(bootTime)
		w.reconcile()
		require.Equal(w.t, step.want, w.provider(id).Status)
	}
	w.finish(w.mustDestroy(id))
	w.finish(w.mustStop(w.running("stop-fails"), false))
	w.finish(w.mustStart(w.stopped("start-fails")))
	w.finish(w.mustStart(w.stopped()))
	w.accounts.fail(w.account, simulator.FaultQuota)
	work := w.provision()
	w.finish(work.Operation.ID)
	w.accounts.fail(w.account)
	require.NoError(w.t, w.retry(work.Operation.ID))
	w.finish(work.Operation.ID)
	w.accounts.fail(w.account, simulator.FaultQuota)
	failed := w.provision()
	w.finish(failed.Operation.ID)
	w.accounts.fail(w.account)
	w.finish(w.mustDestroy(failed.Provider.ID))
	w.finish(w.mustDestroy(w.provision().Provider.ID))
}

// checkStory reads all that was told and checks that it can have happened: no
// gap, each status by an arrow of the life cycle, each row of it taken, and no
// two operations on one provider at the same time.
func (w *world) checkStory() {
	w.t.Helper()
	table, taken := lifeCycle(), map[arrow]bool{}
	shown := map[ident.ID]vm.Status{}
	open := map[ident.ID]ident.ID{} // provider → operation under way
	queued := map[ident.ID]bool{}
	targets := map[ident.ID]ident.ID{}
	for _, o := range query[[]struct{ ID, TargetID ident.ID }](w, "SELECT id, target_id FROM operation") {
		targets[o.ID] = o.TargetID
	}
	for i, e := range w.events() {
		require.EqualValues(w.t, i+1, e.Seq)
		target := targets[e.OperationID]
		switch e.Kind {
		case operation.ProviderStatus:
			now := vm.Status(e.Status)
			if before, known := shown[e.SubjectID]; known {
				require.True(w.t, table[arrow{before, now}], "%s went from %s to %s", e.SubjectID, before, now)
				taken[arrow{before, now}] = true
			} else {
				require.Equal(w.t, vm.Pending, now)
			}
			shown[e.SubjectID] = now
		case operation.OperationQueued:
			require.False(w.t, queued[e.SubjectID], "%s was queued twice", e.SubjectID)
			queued[e.SubjectID] = true
		case operation.OperationStarted:
			require.True(w.t, queued[e.SubjectID])
			require.Empty(w.t, open[target], "%s begins while another is under way", e.SubjectID)
			open[target] = e.SubjectID
		case operation.OperationStepMoved:
			require.Equal(w.t, e.SubjectID, open[target], "a step of what is not under way")
		case operation.OperationFinished:
			require.Equal(w.t, e.SubjectID, open[target])
			delete(open, target)
			delete(queued, e.SubjectID)
		default:
		}
	}
	require.Empty(w.t, open)
	require.Empty(w.t, queued)
	for id, status := range shown {
		require.Equal(w.t, string(status), query[string](w, "SELECT status FROM vm_provider WHERE id = ?", id), "the last word about %s", id)
	}
	lost := false
	for a := range table {
		switch {
		case a.to == vm.Lost:
			lost = lost || taken[a]
		case a.to != vm.Deleting:
			require.True(w.t, taken[a], "never went from %s to %s", a.from, a.to)
		}
	}
	require.True(w.t, lost)
	for _, from := range []vm.Status{vm.Pending, vm.Failed, vm.Lost, vm.Running} {
		require.True(w.t, taken[arrow{from, vm.Deleting}], "never went from %s to DELETING", from)
	}
}
