package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"biztraak.dev/vm/internal/provider/simulator"
)

// machineConns is small: the simulated cloud is asked a few times a second.
const machineConns = 4

// Machines is the memory of the simulated cloud. It has a pool of its own, so
// that what the cloud remembers has nothing to do with transactions of ours: a
// machine that was created stays when we roll back.
type Machines struct{ pool *pgxpool.Pool }

var _ simulator.MachineStore = (*Machines)(nil)

// OpenMachines connects to the database at dsn; Close ends it.
func OpenMachines(ctx context.Context, dsn string) (*Machines, error) {
	cfg, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, errors.New("open simulator: DATABASE_URL is not a PostgreSQL URL")
	}
	cfg.MaxConns = machineConns
	cfg.ConnConfig.RuntimeParams["application_name"] = "biztraak-vm-simulator"
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("open simulator: %w", err)
	}
	return &Machines{pool: pool}, nil
}

// Close ends the connections.
func (m *Machines) Close() { m.pool.Close() }

// Insert implements simulator.MachineStore.
func (m *Machines) Insert(ctx context.Context, r simulator.Record) error {
	_, err := m.pool.Exec(ctx, `INSERT INTO simulator_machine (id, account_id, token, revision, doc)
		VALUES ($1, $2, $3, 1, $4)`, r.ID, r.AccountID, r.Token, r.Doc)
	var pg *pgconn.PgError
	const unique = "23505"
	if errors.As(err, &pg) && pg.Code == unique {
		return simulator.ErrMachineExists
	}
	return err
}

// Load implements simulator.MachineStore.
func (m *Machines) Load(ctx context.Context, id string) (simulator.Record, error) {
	rows, err := m.pool.Query(ctx, `SELECT id, account_id, token, revision, doc FROM simulator_machine WHERE id = $1`, id)
	if err != nil {
		return simulator.Record{}, err
	}
	r, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[simulator.Record])
	if errors.Is(err, pgx.ErrNoRows) {
		return simulator.Record{}, simulator.ErrNoMachine
	}
	return r, err
}

// Replace implements simulator.MachineStore.
func (m *Machines) Replace(ctx context.Context, r simulator.Record) (bool, error) {
	tag, err := m.pool.Exec(ctx, `UPDATE simulator_machine SET doc = $3, revision = revision + 1
		WHERE id = $1 AND revision = $2`, r.ID, r.Revision, r.Doc)
	return tag.RowsAffected() == 1, err
}

// List implements simulator.MachineStore.
func (m *Machines) List(ctx context.Context, accountID string) ([]simulator.Record, error) {
	rows, err := m.pool.Query(ctx, `SELECT id, account_id, token, revision, doc FROM simulator_machine
		WHERE account_id = $1 ORDER BY id COLLATE "C"`, accountID)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[simulator.Record])
}

// Delete implements simulator.MachineStore.
func (m *Machines) Delete(ctx context.Context, id string) error {
	_, err := m.pool.Exec(ctx, `DELETE FROM simulator_machine WHERE id = $1`, id)
	return err
}
