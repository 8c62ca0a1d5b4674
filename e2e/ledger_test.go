package e2e_test

import (
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// ledgerSQL keeps every move of every operation, by the database's clock: a test
// sees who had it, how often it ended and when it changed hands, whatever
// process did it.
const ledgerSQL = `
CREATE TABLE ledger (
	n bigint GENERATED ALWAYS AS IDENTITY,
	operation_id text NOT NULL, kind text NOT NULL, status text NOT NULL, session_id text,
	at timestamptz NOT NULL DEFAULT clock_timestamp());
CREATE FUNCTION keep_ledger() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO ledger (operation_id, kind, status, session_id) VALUES (NEW.id, NEW.kind, NEW.status, NEW.session_id);
	RETURN NEW;
END $$;
CREATE TRIGGER ledger_insert AFTER INSERT ON operation FOR EACH ROW EXECUTE FUNCTION keep_ledger();
CREATE TRIGGER ledger_update AFTER UPDATE ON operation FOR EACH ROW
	WHEN ((OLD.status, OLD.session_id) IS DISTINCT FROM (NEW.status, NEW.session_id)) EXECUTE FUNCTION keep_ledger();`

// move is one line of the ledger.
type move struct {
	Operation string
	Kind      string
	Status    string
	Session   string
	At        time.Time
}

// ended says whether the operation does nothing more.
func (m move) ended() bool {
	return m.Status == "SUCCEEDED" || m.Status == "FAILED" || m.Status == "CANCELED"
}

func (i *installation) keepLedger() {
	i.t.Helper()
	_, err := i.sql.Exec(i.t.Context(), ledgerSQL)
	require.NoError(i.t, err)
}

// moves are those of one operation, in order.
func (i *installation) moves(operation string) []move {
	i.t.Helper()
	rows, err := i.sql.Query(i.t.Context(), `SELECT operation_id, kind, status, coalesce(session_id, ''), at
		FROM ledger WHERE operation_id = $1 ORDER BY n`, operation)
	require.NoError(i.t, err)
	out, err := pgx.CollectRows(rows, pgx.RowToStructByPos[move])
	require.NoError(i.t, err)
	return out
}

// ends are the moves that end the operation: more than one is a fault.
func ends(moves []move) []move {
	var out []move
	for _, m := range moves {
		if m.ended() {
			out = append(out, m)
		}
	}
	return out
}

// value asks the database for one value.
func value[T any](i *installation, sql string, args ...any) T {
	i.t.Helper()
	rows, err := i.sql.Query(i.t.Context(), sql, args...)
	require.NoError(i.t, err)
	v, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[T])
	require.NoError(i.t, err)
	return v
}

// awaitValue waits until the database answers the value.
func awaitValue[T comparable](i *installation, want T, sql string, args ...any) {
	i.t.Helper()
	var got T
	require.Eventually(i.t, func() bool {
		err := i.sql.QueryRow(i.t.Context(), sql, args...).Scan(&got)
		return err == nil && got == want
	}, patience, 20*time.Millisecond, "%s %v", sql, args)
}

// awaitEnd waits until the operations have ended and answers how each did.
func (i *installation) awaitEnd(operations ...string) {
	i.t.Helper()
	awaitValue(i, len(operations), `SELECT count(*)::int FROM operation WHERE id = ANY($1) AND finished_at IS NOT NULL`, operations)
}
