// Package simulatortest tells whether a simulator.MachineStore is right. It knows
// the interface and nothing of any implementation.
package simulatortest

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/provider/simulator"
)

// RunStore runs every case on a store of its own. open returns an empty store and
// cleans up after itself with t.Cleanup.
func RunStore(t *testing.T, open func(t *testing.T) simulator.MachineStore) {
	t.Helper()
	cases := []struct {
		name string
		run  func(t *testing.T, store simulator.MachineStore)
	}{
		{"what is inserted is loaded", insertAndLoad},
		{"an id is taken once", insertTwice},
		{"an absent record", absent},
		{"replace compares revisions", replace},
		{"of many replacements one wins", replaceRace},
		{"list is of one account and in order", list},
		{"delete", remove},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { c.run(t, open(t)) })
	}
}

func record(id, account string) simulator.Record {
	return simulator.Record{ID: id, AccountID: account, Token: "op_1", Doc: []byte(`{"name":"` + id + `"}`)}
}

func insertAndLoad(t *testing.T, store simulator.MachineStore) {
	given := record("sim-a", "acc_1")
	given.Revision = 7
	require.NoError(t, store.Insert(t.Context(), given))
	loaded, err := store.Load(t.Context(), "sim-a")
	require.NoError(t, err)
	require.JSONEq(t, string(given.Doc), string(loaded.Doc))
	require.Equal(t, "sim-a acc_1 op_1 1", fmt.Sprint(loaded.ID, " ", loaded.AccountID, " ", loaded.Token, " ", loaded.Revision))
}

func insertTwice(t *testing.T, store simulator.MachineStore) {
	require.NoError(t, store.Insert(t.Context(), record("sim-a", "acc_1")))
	require.ErrorIs(t, store.Insert(t.Context(), record("sim-a", "acc_2")), simulator.ErrMachineExists)
	kept, err := store.Load(t.Context(), "sim-a")
	require.NoError(t, err)
	require.Equal(t, "acc_1", kept.AccountID)
}

func absent(t *testing.T, store simulator.MachineStore) {
	_, err := store.Load(t.Context(), "sim-none")
	require.ErrorIs(t, err, simulator.ErrNoMachine)
	replaced, err := store.Replace(t.Context(), record("sim-none", "acc_1"))
	require.NoError(t, err)
	require.False(t, replaced)
	require.NoError(t, store.Delete(t.Context(), "sim-none"))
	listed, err := store.List(t.Context(), "acc_1")
	require.NoError(t, err)
	require.Empty(t, listed)
}

func replace(t *testing.T, store simulator.MachineStore) {
	require.NoError(t, store.Insert(t.Context(), record("sim-a", "acc_1")))
	first, err := store.Load(t.Context(), "sim-a")
	require.NoError(t, err)

	first.Doc = []byte(`{"name":"second"}`)
	replaced, err := store.Replace(t.Context(), first)
	require.NoError(t, err)
	require.True(t, replaced)
	replaced, err = store.Replace(t.Context(), first)
	require.NoError(t, err)
	require.False(t, replaced, "a stale revision must lose")

	second, err := store.Load(t.Context(), "sim-a")
	require.NoError(t, err)
	require.Equal(t, first.Revision+1, second.Revision)
	require.JSONEq(t, `{"name":"second"}`, string(second.Doc))
}

func replaceRace(t *testing.T, store simulator.MachineStore) {
	require.NoError(t, store.Insert(t.Context(), record("sim-a", "acc_1")))
	read, err := store.Load(t.Context(), "sim-a")
	require.NoError(t, err)

	const rivals = 8
	won := make([]bool, rivals)
	errs := make([]error, rivals)
	var all sync.WaitGroup
	for i := range rivals {
		all.Go(func() { won[i], errs[i] = store.Replace(t.Context(), read) })
	}
	all.Wait()
	winners := 0
	for i := range rivals {
		require.NoError(t, errs[i])
		if won[i] {
			winners++
		}
	}
	require.Equal(t, 1, winners)
}

func list(t *testing.T, store simulator.MachineStore) {
	for _, r := range []simulator.Record{record("sim-b", "acc_1"), record("sim-c", "acc_2"), record("sim-a", "acc_1")} {
		require.NoError(t, store.Insert(t.Context(), r))
	}
	listed, err := store.List(t.Context(), "acc_1")
	require.NoError(t, err)
	var ids []string
	for _, r := range listed {
		ids = append(ids, r.ID)
		require.Equal(t, int64(1), r.Revision)
		require.JSONEq(t, `{"name":"`+r.ID+`"}`, string(r.Doc))
	}
	require.Equal(t, []string{"sim-a", "sim-b"}, ids)
}

func remove(t *testing.T, store simulator.MachineStore) {
	require.NoError(t, store.Insert(t.Context(), record("sim-a", "acc_1")))
	require.NoError(t, store.Delete(t.Context(), "sim-a"))
	_, err := store.Load(t.Context(), "sim-a")
	require.ErrorIs(t, err, simulator.ErrNoMachine)
	require.NoError(t, store.Insert(t.Context(), record("sim-a", "acc_2")), "a deleted id is free again")
}
