package syslog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"biztraak.dev/vm/internal/hub"
)

// MaxBatch is how many lines one Ingest or AppendTx takes at most. The head of
// the log is locked while they are written.
const MaxBatch = 5000

var (
	// ErrFenced means that the follower has lost its lease to another one. It
	// must stop.
	ErrFenced = errors.New("log follower has lost its lease")
	// ErrCursorMoved means that the journal cursor in the store is another one
	// than was expected: read it again and begin from there.
	ErrCursorMoved = errors.New("journal cursor is not where it was expected")
	// ErrBatchTooLarge means more than MaxBatch lines.
	ErrBatchTooLarge = fmt.Errorf("more than %d log lines in a batch", MaxBatch)
)

// Batch is what a follower brings in one go.
type Batch struct {
	ProviderID string
	// Fence is the number that Claim gave.
	Fence int64
	// ExpectCursor is the journal cursor that the lines were read after,
	// NextCursor that of the last entry read. An empty NextCursor leaves the
	// cursor alone and compares nothing, for lines that are not the journal's.
	ExpectCursor, NextCursor string
	// Lines may be empty, to move the cursor only.
	Lines []Line
}

// Ingest stores a batch and the journal cursor in one transaction, and wakes the
// followers. A batch with a NextCursor may be sent again when the answer was
// lost: it is stored once. It fails with ErrFenced, ErrCursorMoved or
// ErrBatchTooLarge; then nothing was stored.
func (s *Store) Ingest(ctx context.Context, b Batch) error {
	if len(b.Lines) > MaxBatch {
		return ErrBatchTooLarge
	}
	lines, bytes := cleaned(b.Lines, time.Now())
	var first int64
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		day, err := reserve(ctx, tx, b, bytes, &first)
		if err != nil || len(lines) == 0 {
			return err
		}
		return copyLines(ctx, tx, b.ProviderID, lines, first, day)
	})
	if errors.Is(err, errAlreadyStored) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("ingest log lines: %w", err)
	}
	if n := int64(len(lines)); n > 0 {
		s.hub.Publish(ctx, hub.Wake{Stream: hub.LogStream(b.ProviderID), From: first, Seq: first + n - 1})
	}
	return nil
}

// errAlreadyStored ends the transaction of a batch that came a second time.
var errAlreadyStored = errors.New("already stored")

// reserve takes the numbers of a batch, moves the cursor and accounts for the
// bytes. The first number goes to first; the day of the lines is answered.
func reserve(ctx context.Context, tx pgx.Tx, b Batch, bytes int64, first *int64) (day time.Time, err error) {
	err = tx.QueryRow(ctx, `
		WITH head AS (
			UPDATE log_head
			SET next_seq = next_seq + $3,
			    last_day = GREATEST(last_day, (app_now() AT TIME ZONE 'UTC')::date),
			    journal_cursor = CASE WHEN $5 = '' THEN journal_cursor ELSE $5 END
			WHERE provider_id = $1 AND follower_fence = $2 AND ($5 = '' OR journal_cursor = $4)
			RETURNING next_seq - $3 AS first_seq, last_day
		), day AS (
			INSERT INTO log_day AS d (provider_id, day, first_seq, last_seq, bytes)
			SELECT $1, last_day, first_seq, first_seq + $3 - 1, $6 FROM head WHERE $3 > 0
			ON CONFLICT (provider_id, day) DO UPDATE
			SET last_seq = excluded.last_seq, bytes = d.bytes + excluded.bytes
		)
		SELECT first_seq, last_day FROM head`,
		b.ProviderID, b.Fence, int64(len(b.Lines)), b.ExpectCursor, b.NextCursor, bytes).Scan(first, &day)
	if !errors.Is(err, pgx.ErrNoRows) {
		return day, err
	}
	return day, whyNot(ctx, tx, b)
}

// whyNot finds out why no row of log_head fitted a batch.
func whyNot(ctx context.Context, tx pgx.Tx, b Batch) error {
	var fence int64
	var cursor string
	err := tx.QueryRow(ctx, `SELECT follower_fence, journal_cursor FROM log_head WHERE provider_id = $1`, b.ProviderID).
		Scan(&fence, &cursor)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return ErrFenced
	case err != nil:
		return err
	case fence != b.Fence:
		return ErrFenced
	case cursor == b.NextCursor:
		return errAlreadyStored
	}
	return ErrCursorMoved
}

func copyLines(ctx context.Context, tx pgx.Tx, providerID string, lines []Line, first int64, day time.Time) error {
	columns := []string{
		"provider_id", "ingested_on", "seq", "time", "source", "unit", "priority", "message", "plain_message", "truncated",
	}
	rows := pgx.CopyFromSlice(len(lines), func(i int) ([]any, error) {
		l := &lines[i]
		return []any{
			providerID, day, first + int64(i), l.Time, l.Source, l.Unit, l.Priority, l.Message, l.plainColumn(), l.Truncated,
		}, nil
	})
	_, err := tx.CopyFrom(ctx, pgx.Identifier{"log_line"}, columns, rows)
	return err
}
