package syslog

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// trimLines is how many lines one transaction of the quota deletes.
const trimLines = 10_000

// over is a log that has more bytes than it may.
type over struct {
	ProviderID string
	Bytes      int64
}

// trim drops the oldest days of every log that has more than maxBytes. Of the
// day under way only as many lines go as it takes, so that the newest stay.
func trim(ctx context.Context, pool *pgxpool.Pool, maxBytes int64) error {
	rows, err := pool.Query(ctx, `
		SELECT provider_id, sum(bytes)::bigint FROM log_day
		GROUP BY provider_id HAVING sum(bytes) > $1 ORDER BY provider_id`, maxBytes)
	if err != nil {
		return err
	}
	logs, err := pgx.CollectRows(rows, pgx.RowToStructByPos[over])
	if err != nil {
		return err
	}
	for _, l := range logs {
		for bytes := l.Bytes; bytes > maxBytes; {
			freed, err := dropOldest(ctx, pool, l.ProviderID, bytes-maxBytes)
			if err != nil {
				return err
			}
			if freed == 0 {
				break // somebody else was here
			}
			bytes -= freed
		}
	}
	return nil
}

// dropOldest drops the oldest day of a log, or, if it is the only one, lines
// worth about excess bytes. It answers the bytes that it freed.
func dropOldest(ctx context.Context, pool *pgxpool.Pool, providerID string, excess int64) (freed int64, err error) {
	for more := true; more; {
		var n int64
		err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) (err error) {
			n, more, err = dropLines(ctx, tx, providerID, excess-freed)
			return err
		})
		if err != nil {
			return freed, err
		}
		freed += n
	}
	return freed, nil
}

// oldestDay is the account of a log's oldest day.
type oldestDay struct {
	Day               time.Time
	First, Last, Size int64
	// Only says that the log has no newer day.
	Only bool
}

// dropLines drops up to trimLines lines of the oldest day, in one transaction
// that also moves the account: a reader either finds a line or learns that it is
// gone. more says that the day, or the excess, is not done with.
func dropLines(ctx context.Context, tx pgx.Tx, providerID string, excess int64) (freed int64, more bool, err error) {
	var d oldestDay
	err = tx.QueryRow(ctx, `
		SELECT day, first_seq, last_seq, bytes, day = (SELECT max(day) FROM log_day WHERE provider_id = $1)
		FROM log_day WHERE provider_id = $1 ORDER BY day LIMIT 1 FOR UPDATE`, providerID).
		Scan(&d.Day, &d.First, &d.Last, &d.Size, &d.Only)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	next := d.next(excess)
	err = tx.QueryRow(ctx, `
		WITH gone AS (
			DELETE FROM log_line WHERE provider_id = $1 AND ingested_on = $2 AND seq < $3
			RETURNING 64 + octet_length(unit) + octet_length(message) + COALESCE(octet_length(plain_message), 0) AS size
		), account AS (
			UPDATE log_day SET first_seq = $3, bytes = GREATEST(0, bytes - (SELECT COALESCE(sum(size), 0) FROM gone))
			WHERE provider_id = $1 AND day = $2
		)
		SELECT COALESCE(sum(size), 0)::bigint FROM gone`, providerID, d.Day, next).Scan(&freed)
	if err != nil || d.Only {
		return freed, freed < excess && next <= d.Last, err
	}
	if next <= d.Last {
		return freed, true, nil
	}
	_, err = tx.Exec(ctx, `DELETE FROM log_day WHERE provider_id = $1 AND day = $2`, providerID, d.Day)
	return freed, false, err
}

// next is the number of the first line that stays after one step: all of the
// step, or of the newest day a share that is worth the excess.
func (d oldestDay) next(excess int64) int64 {
	n := d.Last + 1 - d.First
	if d.Only && d.Size > 0 {
		n = 1 + int64(float64(n)*float64(excess)/float64(d.Size))
	}
	return min(d.First+min(n, trimLines), d.Last+1)
}
