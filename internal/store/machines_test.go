package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/devstack/pgtest"
	"biztraak.dev/vm/internal/provider/simulator"
	"biztraak.dev/vm/internal/provider/simulator/simulatortest"
	"biztraak.dev/vm/internal/store"
)

func TestMachinesAreAMachineStore(t *testing.T) {
	simulatortest.RunStore(t, func(t *testing.T) simulator.MachineStore {
		m, err := store.OpenMachines(t.Context(), pgtest.DSN(t))
		require.NoError(t, err)
		t.Cleanup(m.Close)
		return m
	})
}
