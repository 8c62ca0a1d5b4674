package vm_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/vm"
)

const patience = 20 * time.Second

// held opens a transaction, has it do something, and commits it once the call
// that is made meanwhile waits for it.
func (w *world) held(first func(tx pgx.Tx) error, call func() error) error {
	w.t.Helper()
	tx, err := w.db.Pool().Begin(w.t.Context())
	require.NoError(w.t, err)
	defer func() { _ = tx.Rollback(context.WithoutCancel(w.t.Context())) }()
	require.NoError(w.t, first(tx))
	answer := make(chan error, 1)
	go func() { answer <- call() }()
	require.Eventually(w.t, func() bool {
		return query[int](w, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`) == 1
	}, patience, time.Millisecond, "the call does not wait")
	require.NoError(w.t, tx.Commit(w.t.Context()))
	return <-answer
}

func TestDeleteSeesAProvisionThatIsBeingAccepted(t *testing.T) {
	w := newWorld(t)
	id := w.vm()
	err := w.held(func(tx pgx.Tx) error {
		_, err := tx.Exec(t.Context(), `INSERT INTO vm_provider (id, team_id, project_id, vm_id, account_id, kind, region, size,
				status, status_since, simulated, created_at)
			VALUES ($1, $2, $3, $4, $5, 'SIMULATOR', 'r', 's', 'PENDING', app_now(), true, app_now())`,
			ident.New(ident.Provider), w.team, w.project, id, w.account)
		return err
	}, func() error {
		_, err := w.Delete(w.ann(), vm.DeleteInput{VirtualMachineID: id})
		return err
	})
	refused(t, err, "IN_USE virtualMachineId")
}

func TestProvisionOfAVMThatIsBeingDeleted(t *testing.T) {
	w := newWorld(t)
	id := w.vm()
	err := w.held(func(tx pgx.Tx) error {
		_, err := tx.Exec(t.Context(), "DELETE FROM component WHERE id = $1", id)
		return err
	}, func() error {
		_, err := w.Provision(w.ann(), vm.ProvisionInput{VirtualMachineID: id, CloudAccountID: w.account})
		return err
	})
	refused(t, err, "NOT_FOUND virtualMachineId")
}

func TestProvisionWithAnAccountThatIsBeingDeleted(t *testing.T) {
	w := newWorld(t)
	id := w.vm()
	err := w.held(func(tx pgx.Tx) error {
		_, err := tx.Exec(t.Context(), "DELETE FROM cloud_account WHERE id = $1", w.account)
		return err
	}, func() error {
		_, err := w.Provision(w.ann(), vm.ProvisionInput{VirtualMachineID: id, CloudAccountID: w.account})
		return err
	})
	refused(t, err, "NOT_FOUND cloudAccountId")
}
