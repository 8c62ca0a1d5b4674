package vm_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/vm"
)

var statuses = []vm.Status{
	vm.Pending, vm.Provisioning, vm.Running, vm.Stopping, vm.Stopped, vm.Starting, vm.Failed, vm.Lost, vm.Deleting, vm.Deleted,
}

type arrow struct{ from, to vm.Status }

// lifeCycle is the life cycle of a VM provider, row by row.
func lifeCycle() map[arrow]bool {
	table := map[arrow]bool{}
	for _, a := range []arrow{
		{vm.Pending, vm.Provisioning},
		{vm.Provisioning, vm.Running},
		{vm.Provisioning, vm.Failed},
		{vm.Failed, vm.Provisioning},
		{vm.Running, vm.Stopping},
		{vm.Stopping, vm.Stopped},
		{vm.Stopping, vm.Running},
		{vm.Stopped, vm.Starting},
		{vm.Starting, vm.Running},
		{vm.Starting, vm.Stopped},
		{vm.Running, vm.Stopped},
		{vm.Stopped, vm.Running},
		{vm.Lost, vm.Running},
		{vm.Lost, vm.Stopped},
		{vm.Deleting, vm.Deleted},
	} {
		table[a] = true
	}
	for _, s := range statuses {
		if s != vm.Deleted && s != vm.Lost {
			table[arrow{s, vm.Lost}] = true
		}
		if s != vm.Deleted && s != vm.Deleting {
			table[arrow{s, vm.Deleting}] = true
		}
	}
	return table
}

func TestTheDatabaseKnowsTheLifeCycle(t *testing.T) {
	w := newWorld(t)
	id := ident.New(ident.Provider)
	insert := func(tx pgx.Tx, status vm.Status) error {
		_, err := tx.Exec(t.Context(), `INSERT INTO vm_provider (id, team_id, project_id, vm_id, account_id, kind, region, size,
				status, status_since, simulated, created_at)
			VALUES ($1, $2, $3, $4, $5, 'SIMULATOR', 'r', 's', $6, app_now(), true, app_now())`,
			id, w.team, w.project, w.vm(), w.account, status)
		return err
	}
	// try runs in a transaction that is rolled back.
	try := func(fn func(tx pgx.Tx) error) error {
		tx, err := w.db.Pool().Begin(t.Context())
		require.NoError(t, err)
		defer func() { require.NoError(t, tx.Rollback(t.Context())) }()
		return fn(tx)
	}
	for _, s := range statuses {
		err := try(func(tx pgx.Tx) error { return insert(tx, s) })
		require.Equal(t, s == vm.Pending, err == nil, "beginning as %s: %v", s, err)
	}
	table := lifeCycle()
	for _, from := range statuses {
		for _, to := range statuses {
			t.Run(fmt.Sprintf("%s to %s", from, to), func(t *testing.T) {
				err := try(func(tx pgx.Tx) error {
					require.NoError(t, insert(tx, vm.Pending))
					for _, step := range path(table, vm.Pending, from) {
						_, err := tx.Exec(t.Context(), `UPDATE vm_provider SET status = $1 WHERE id = $2`, step, id)
						require.NoError(t, err)
					}
					_, err := tx.Exec(t.Context(), `UPDATE vm_provider SET status = $1 WHERE id = $2`, to, id)
					return err
				})
				if from == to || table[arrow{from, to}] {
					require.NoError(t, err)
					return
				}
				require.ErrorContains(t, err, "does not go from")
			})
		}
	}
}

// path finds the shortest way along the arrows, without its beginning.
func path(table map[arrow]bool, from, to vm.Status) []vm.Status {
	ways := [][]vm.Status{{from}}
	for n := 0; n < len(ways); n++ {
		way := ways[n]
		last := way[len(way)-1]
		if last == to {
			return way[1:]
		}
		for _, next := range statuses {
			if table[arrow{last, next}] && !slices.Contains(way, next) {
				ways = append(ways, append(slices.Clone(way), next))
			}
		}
	}
	return nil
}
