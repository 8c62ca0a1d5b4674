package e2e_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/app"
	"biztraak.dev/vm/internal/transport/wsclient"
)

const (
	followVM       = `subscription($id: ID!) { virtualMachine(id: $id) { name version } }`
	followProvider = `subscription($id: ID!) { virtualMachineProvider(id: $id) { status version } }`
	followWork     = `subscription($id: ID!) { operation(id: $id) { status progress } }`
)

func (e *estate) rename(vm, name string) {
	e.t.Helper()
	e.must(e.owner.bearer, `mutation($v: ID!, $n: String!) { updateVirtualMachine(input: { virtualMachineId: $v, name: $n }) {
		userErrors { code message } } }`, object{"v": vm, "n": name})
}

// renameOften renames a VM to vm-1 and so on, as fast as it can, while the test
// goes on. The test calls what is answered before its end.
func (e *estate) renameOften(vm string, times int) (wait func() error) {
	var failed error
	var writer sync.WaitGroup
	writer.Go(func() {
		for i := range times {
			a, err := e.try(e.owner.bearer, `mutation($v: ID!, $n: String!) { updateVirtualMachine(input: { virtualMachineId: $v, name: $n }) {
				virtualMachine { id } } }`, object{"v": vm, "n": fmt.Sprintf("vm-%d", i+1)})
			if err == nil && dig(a.Data, "updateVirtualMachine", "virtualMachine", "id") == nil {
				err = errors.New(a.body)
			}
			failed = errors.Join(failed, err)
		}
	})
	return func() error { writer.Wait(); return failed }
}

// ends reads what is left of a stream of states: null, and no more.
func (u *apiStream) ends(field string) {
	u.t.Helper()
	u.until(func(d object) bool { return d[field] == nil })
	_, err := u.raw()
	require.ErrorIs(u.t, err, wsclient.ErrComplete)
}

// TestStateSubscriptions follows each kind of object from its snapshot through
// its changes to its end.
func TestStateSubscriptions(t *testing.T) {
	t.Parallel()
	e := newEstate(t, app.Roles{Serve: true, Work: true})
	conn := e.dial(e.viewer.bearer)
	project := e.project(e.owner, e.team)
	vm := e.vmNamed(e.owner, project, "first")

	machine := e.subscribe(conn, followVM, object{"id": vm})
	require.Equal(t, "first", dig(machine.next(), "virtualMachine", "name"), "the snapshot comes first")
	e.rename(vm, "second")
	require.Equal(t, "second", dig(machine.next(), "virtualMachine", "name"))

	provider, operation := e.queued(vm)
	status := e.subscribe(conn, followProvider, object{"id": provider})
	work := e.subscribe(conn, followWork, object{"id": operation})
	require.NotNil(t, dig(status.next(), "virtualMachineProvider", "status"))
	work.until(func(d object) bool { return dig(d, "operation", "status") == "SUCCEEDED" })
	status.until(func(d object) bool { return dig(d, "virtualMachineProvider", "status") == "RUNNING" })
	e.must(e.owner.bearer, `mutation($p: ID!) { destroyVirtualMachineProvider(input: { virtualMachineProviderId: $p }) {
		userErrors { code message } } }`, object{"p": provider})
	status.until(func(d object) bool { return dig(d, "virtualMachineProvider", "status") == "DELETED" })

	e.must(e.owner.bearer, `mutation($v: ID!) { deleteVirtualMachine(input: { virtualMachineId: $v }) { userErrors { code message } } }`,
		object{"v": vm})
	machine.ends("virtualMachine")
	status.ends("virtualMachineProvider")
	require.Equal(t, "SUCCEEDED", dig(e.must(e.viewer.bearer, `query($id: ID!) { operation(id: $id) { status } }`,
		object{"id": operation}), "operation", "status"), "the work is remembered")
}

// TestConflation renames a VM faster than states are sent: a follower sees at
// most ten a second, and always the last.
func TestConflation(t *testing.T) {
	t.Parallel()
	const renames = 80
	e := newEstate(t, app.Roles{Serve: true})
	vm := e.vmNamed(e.owner, e.project(e.owner, e.team), "vm")
	u := e.subscribe(e.dial(e.owner.bearer), followVM, object{"id": vm})
	u.next()
	began, seen := time.Now(), 0
	renamed := e.renameOften(vm, renames)
	version := 1.0
	u.until(func(d object) bool {
		seen++
		now, _ := dig(d, "virtualMachine", "version").(float64)
		require.GreaterOrEqual(t, now, version, "never back to an older state")
		version = now
		return dig(d, "virtualMachine", "name") == fmt.Sprintf("vm-%d", renames)
	})
	require.NoError(t, renamed())
	const atOnce = 2 // the one that waits, and the one that is on its way
	require.LessOrEqual(t, seen, int(time.Since(began)/(100*time.Millisecond))+atOnce)
}
