package vm_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/fault"
	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/operation"
	"biztraak.dev/vm/internal/provider/simulator"
	"biztraak.dev/vm/internal/vm"
)

// crowd is several people who do what comes to their minds to the machines of
// one project.
type crowd struct {
	*world
	ctx    context.Context
	vms    []ident.ID
	left   atomic.Int64 // calls to make
	calls  atomic.Int64 // made to the services
	agreed atomic.Int64 // accepted by them
	failed chan error
}

// TestManyPeopleAtOnce has a thousand things done at random, several at a time,
// to machines that go wrong in many ways, and checks what must hold whatever
// happens.
func TestManyPeopleAtOnce(t *testing.T) {
	const people, things = 6, 1000
	w := newWorld(t)
	c := &crowd{world: w, ctx: w.ann(), failed: make(chan error, people+1)}
	for _, words := range []string{"", "", "", "", "stop-fails", "start-fails", "boot-crash", "locked", "timeout-after-create", "capacity"} {
		c.vms = append(c.vms, w.vm(words))
	}
	c.left.Store(things)
	seed := uint64(time.Now().UnixNano()) // any bits will do
	t.Logf("seed %d", seed)
	r := w.startRelay(t)
	watch := w.watchLocks(t)
	var acting sync.WaitGroup
	for n := range people {
		acting.Go(func() {
			rng := rand.New(rand.NewPCG(seed, uint64(n)))
			for c.left.Add(-1) >= 0 {
				if err := errors.Join(c.patient(rng), c.act(rng)); err != nil {
					c.failed <- err
					return
				}
			}
		})
	}
	acting.Wait()
	w.accounts.fail(w.account)
	select {
	case err := <-c.failed:
		require.NoError(t, err)
	default:
	}
	require.Eventually(t, func() bool {
		return query[int](w, "SELECT count(*) FROM operation WHERE finished_at IS NULL") == 0
	}, 2*time.Minute, 20*time.Millisecond, "work is left")
	r.stop()
	watch()

	calls, agreed := c.calls.Load(), c.agreed.Load()
	t.Logf("%d of %d calls accepted, %d operations", agreed, calls, query[int](w, "SELECT count(*) FROM operation"))
	require.GreaterOrEqual(t, float64(agreed), 0.4*float64(calls), "too much was refused for the test to mean something")
	w.later(time.Second)
	w.reconcile()
	w.later(time.Second)
	w.nothingIsLeft()
	w.takeRareWays()
	w.checkStory()
}

// nothingIsLeft checks that no work, no lock and no instance is there that
// should not be.
func (w *world) nothingIsLeft() {
	w.t.Helper()
	require.Zero(w.t, query[int](w, "SELECT count(*) FROM operation_lock"))
	require.Zero(w.t, query[int](w, "SELECT count(*) FROM operation WHERE status IN ('QUEUED', 'RUNNING')"))
	recorded := map[string]string{}
	for _, p := range query[[]struct{ ID, InstanceID string }](w, "SELECT id, instance_id FROM vm_provider WHERE instance_id IS NOT NULL AND status <> 'DELETED'") {
		recorded[p.InstanceID] = p.ID
	}
	for _, o := range w.instances("") {
		require.Equal(w.t, o.Owner, recorded[o.InstanceID], "instance %s is an orphan", o.InstanceID)
	}
	require.Zero(w.t, query[int](w, `SELECT count(*) FROM vm_provider WHERE status IN ('PENDING', 'PROVISIONING', 'STARTING', 'STOPPING')`))
}

// patient waits, most times, until little is under way: people who only hammer
// at machines that are busy find out nothing new.
func (c *crowd) patient(rng *rand.Rand) error {
	const little = 5
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for rng.IntN(40) > 0 {
		var live int
		err := c.db.Gorm(c.ctx).Raw("SELECT count(*) FROM operation WHERE finished_at IS NULL").Scan(&live).Error
		if err != nil || live < little {
			return err
		}
		<-tick.C
	}
	return nil
}

// act does one thing to one machine.
func (c *crowd) act(rng *rand.Rand) error {
	machines, err := c.ProvidersOf(c.ctx, c.vms)
	if err != nil {
		return err
	}
	all := slices.Concat(machines...)
	dice := rng.IntN(100)
	switch {
	case len(all) < 6 || dice < 8 && len(all) < 14:
		_, err = c.Provision(c.ctx, vm.ProvisionInput{VirtualMachineID: c.vms[rng.IntN(len(c.vms))], CloudAccountID: c.account})
		return c.answered(err)
	case dice < 12:
		return c.Reconcile(c.ctx, c.account)
	case dice < 14:
		c.accounts.fail(c.account, [][]simulator.Fault{nil, nil, {simulator.FaultCapacity}, {simulator.FaultSlowBoot}}[rng.IntN(4)]...)
		return nil
	}
	p := all[rng.IntN(len(all))]
	if dice < 24 {
		return c.outside(rng, p)
	}
	wish := c.sensible(rng, p)
	if dice < 40 {
		wish = rng.IntN(wishes)
	}
	return c.answered(c.wish(wish, p))
}

// The wishes.
const (
	wishStart = iota
	wishStop
	wishForcedStop
	wishRestart
	wishDestroy
	wishCancel
	wishRetry
	wishes
)

// sensible chooses what somebody who looks at the machine would.
func (c *crowd) sensible(rng *rand.Rand, p *vm.Provider) int {
	choices := map[vm.Status][]int{
		vm.Pending: {wishCancel, wishDestroy}, vm.Provisioning: {wishCancel, wishCancel, wishDestroy},
		vm.Running: {wishStop, wishStop, wishStop, wishRestart, wishDestroy}, vm.Stopped: {wishStart},
		vm.Starting: {wishForcedStop, wishCancel, wishStart}, vm.Stopping: {wishStop, wishCancel},
		vm.Failed: {wishRetry, wishRetry, wishDestroy}, vm.Lost: {wishDestroy}, vm.Deleting: {wishDestroy},
	}[p.Status]
	return choices[rng.IntN(len(choices))]
}

func (c *crowd) wish(wish int, p *vm.Provider) error {
	var err error
	switch wish {
	case wishStart:
		_, err = c.Start(c.ctx, vm.StartInput{VirtualMachineProviderID: p.ID})
	case wishStop, wishForcedStop:
		_, err = c.Stop(c.ctx, vm.StopInput{VirtualMachineProviderID: p.ID, Force: wish == wishForcedStop})
	case wishRestart:
		_, err = c.Restart(c.ctx, vm.RestartInput{VirtualMachineProviderID: p.ID})
	case wishDestroy:
		_, err = c.Destroy(c.ctx, vm.DestroyInput{VirtualMachineProviderID: p.ID})
	case wishCancel, wishRetry:
		var op ident.ID
		err = c.db.Gorm(c.ctx).Raw("SELECT id FROM operation WHERE target_id = ? ORDER BY id DESC LIMIT 1", p.ID).Scan(&op).Error
		if err == nil && wish == wishCancel {
			_, err = c.ops.Cancel(c.ctx, operation.CancelInput{OperationID: op})
		} else if err == nil {
			_, err = c.ops.Retry(c.ctx, operation.RetryInput{OperationID: op})
		}
	}
	if err != nil && wish == wishDestroy {
		return fmt.Errorf("a destroy is never refused: %w", errors.Join(errHard, err))
	}
	return err
}

// errHard marks an error that is none of the answers that a person must expect.
var errHard = errors.New("unexpected")

// answered counts what was accepted, and lets refusals pass.
func (c *crowd) answered(err error) error {
	c.calls.Add(1)
	if err == nil {
		c.agreed.Add(1)
		return nil
	}
	if _, refused := fault.AsRefusals(err); refused && !errors.Is(err, errHard) {
		return nil
	}
	return err
}

// outside is what somebody does at the cloud's own console.
func (c *crowd) outside(rng *rand.Rand, p *vm.Provider) error {
	if p.InstanceID == "" {
		return nil
	}
	do := [](func(context.Context, string) error){
		c.sim.PowerOffOutside, c.sim.PowerOffOutside, c.sim.PowerOnOutside, c.sim.PowerOnOutside, c.sim.RestoreOutside, c.sim.RemoveOutside,
	}[rng.IntN(6)]
	_ = do(c.ctx, p.InstanceID) // a machine that is gone cannot be switched
	return nil
}
