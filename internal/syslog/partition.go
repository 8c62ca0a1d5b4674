package syslog

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// daysAhead is for how many days after today there are partitions: as long
	// as the server may be down without a day being missed.
	daysAhead = 7
	// The advisory locks under which partitions are made and dropped. Dropping
	// waits for readers, and must not keep a starting server from making.
	createLock = 0x6c6f67_02
	dropLock   = 0x6c6f67_03

	partitionPrefix = "log_line_"
	partitionLayout = "20060102"
)

// partitionName is the table that holds the lines of a day.
func partitionName(day time.Time) string { return partitionPrefix + day.Format(partitionLayout) }

// partitionDay is the day of a table, false for the name of another one.
func partitionDay(name string) (time.Time, bool) {
	digits, ok := strings.CutPrefix(name, partitionPrefix)
	if !ok {
		return time.Time{}, false
	}
	day, err := time.Parse(partitionLayout, digits)
	return day, err == nil
}

// today is the date in UTC by the database's clock.
func today(ctx context.Context, pool *pgxpool.Pool) (day time.Time, err error) {
	err = pool.QueryRow(ctx, `SELECT (app_now() AT TIME ZONE 'UTC')::date`).Scan(&day)
	return day, err
}

// createPartitions makes what is missing from a day to daysAhead after it.
func createPartitions(ctx context.Context, pool *pgxpool.Pool, from time.Time) error {
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, createLock); err != nil {
			return err
		}
		for i := range daysAhead + 1 {
			if err := createPartition(ctx, tx, from.AddDate(0, 0, i)); err != nil {
				return err
			}
		}
		return nil
	})
}

func createPartition(ctx context.Context, tx pgx.Tx, day time.Time) error {
	name := partitionName(day)
	var exists bool
	if err := tx.QueryRow(ctx, `SELECT to_regclass($1) IS NOT NULL`, name).Scan(&exists); err != nil || exists {
		return err
	}
	// Made apart and attached: CREATE TABLE … PARTITION OF would lock out
	// everybody who reads or writes lines
	// (https://www.postgresql.org/docs/15/sql-createtable.html).
	bounds := fmt.Sprintf("FROM ('%s') TO ('%s')", day.Format(time.DateOnly), day.AddDate(0, 0, 1).Format(time.DateOnly))
	table := pgx.Identifier{name}.Sanitize()
	_, err := tx.Exec(ctx, "CREATE TABLE "+table+" (LIKE log_line INCLUDING CONSTRAINTS INCLUDING STORAGE);"+
		"ALTER TABLE log_line ATTACH PARTITION "+table+" FOR VALUES "+bounds)
	return err
}
