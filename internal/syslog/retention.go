package syslog

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// unlockTimeout bounds giving the lock back when the server is stopping.
const unlockTimeout = 5 * time.Second

// dropPartitions ends the days before oldest. Nothing here is in a transaction,
// as DETACH … CONCURRENTLY demands; a server that dies half-way leaves a table
// that the next run finds.
func dropPartitions(ctx context.Context, pool *pgxpool.Pool, oldest time.Time) error {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	var mine bool
	if err := conn.QueryRow(ctx, `SELECT pg_try_advisory_lock($1)`, dropLock).Scan(&mine); err != nil || !mine {
		return err // another server is at it
	}
	defer func() {
		// The lock belongs to the connection; if it cannot be given back, the
		// connection is to go, not to return to the pool.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unlockTimeout)
		defer cancel()
		if _, err := conn.Exec(ctx, `SELECT pg_advisory_unlock($1)`, dropLock); err != nil {
			_ = conn.Conn().Close(ctx)
		}
	}()
	// The account goes first: readers then know that the lines are gone.
	if _, err := conn.Exec(ctx, `DELETE FROM log_day WHERE day < $1`, oldest); err != nil {
		return err
	}
	tables, err := partitions(ctx, conn.Conn())
	if err != nil {
		return err
	}
	for _, t := range tables {
		if err := t.drop(ctx, conn.Conn(), oldest); err != nil {
			return err
		}
	}
	return nil
}

// partition is a table of lines and how it stands to log_line.
type partition struct {
	Name string
	// Attached partitions are read and written; Pending ones have a DETACH that
	// was interrupted; the others were detached and not dropped.
	Attached, Pending bool
}

// partitions lists the tables of lines, those with a pending DETACH first: while
// there is one no other can begin.
func partitions(ctx context.Context, conn *pgx.Conn) ([]partition, error) {
	rows, err := conn.Query(ctx, `
		SELECT c.relname::text, i.inhrelid IS NOT NULL, COALESCE(i.inhdetachpending, false) AS pending
		FROM pg_class c LEFT JOIN pg_inherits i ON i.inhrelid = c.oid AND i.inhparent = 'log_line'::regclass
		WHERE c.relkind = 'r' AND starts_with(c.relname, $1)
		  AND c.relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = 'log_line'::regclass)
		ORDER BY pending DESC, c.relname`, partitionPrefix)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[partition])
}

func (p partition) drop(ctx context.Context, conn *pgx.Conn, oldest time.Time) error {
	day, ok := partitionDay(p.Name)
	table := pgx.Identifier{p.Name}.Sanitize()
	if p.Pending {
		if _, err := conn.Exec(ctx, "ALTER TABLE log_line DETACH PARTITION "+table+" FINALIZE"); err != nil {
			return err
		}
	}
	if !ok || !day.Before(oldest) {
		return nil
	}
	if p.Attached && !p.Pending {
		if _, err := conn.Exec(ctx, "ALTER TABLE log_line DETACH PARTITION "+table+" CONCURRENTLY"); err != nil {
			return err
		}
	}
	_, err := conn.Exec(ctx, "DROP TABLE "+table)
	return err
}
