package syslog

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"
)

// SQLTx is the part of *sql.Tx that is needed to write within a transaction of
// somebody else.
type SQLTx interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

var _ SQLTx = (*sql.Tx)(nil)

// appendRow is a line as the statement of AppendTx reads it.
type appendRow struct {
	N         int64     `json:"n"`
	Time      time.Time `json:"time"`
	Source    Source    `json:"source"`
	Unit      string    `json:"unit"`
	Priority  int       `json:"priority"`
	Message   string    `json:"message"`
	Plain     *string   `json:"plain"`
	Truncated bool      `json:"truncated"`
}

// AppendTx stores lines, at least one, within a transaction of the caller, so
// that a line about a step is there exactly when the step is. It answers the
// number of the last line, for hub.LogStream after the commit.
//
// The head of the log is locked from here to the end of the transaction, and
// the follower of the guest waits for it: call it late, before the events are
// written, and for several providers in the order of their ids.
func (s *Store) AppendTx(ctx context.Context, tx SQLTx, providerID string, lines []Line) (lastSeq int64, err error) {
	if len(lines) > MaxBatch {
		return 0, ErrBatchTooLarge
	}
	lines, bytes := cleaned(lines, time.Now())
	rows := make([]appendRow, len(lines))
	for i, l := range lines {
		rows[i] = appendRow{
			N: int64(i), Time: l.Time, Source: l.Source, Unit: l.Unit, Priority: l.Priority,
			Message: l.Message, Plain: l.plainColumn(), Truncated: l.Truncated,
		}
	}
	body, err := json.Marshal(rows)
	if err != nil {
		return 0, fmt.Errorf("append log lines: %w", err)
	}
	err = tx.QueryRowContext(ctx, `
		WITH head AS (
			INSERT INTO log_head AS h (provider_id, next_seq, last_day)
			VALUES ($1, 1 + $2::bigint, (app_now() AT TIME ZONE 'UTC')::date)
			ON CONFLICT (provider_id) DO UPDATE
			SET next_seq = h.next_seq + $2::bigint, last_day = GREATEST(h.last_day, excluded.last_day)
			RETURNING next_seq - $2::bigint AS first_seq, last_day
		), day AS (
			INSERT INTO log_day AS d (provider_id, day, first_seq, last_seq, bytes)
			SELECT $1, last_day, first_seq, first_seq + $2::bigint - 1, $3::bigint FROM head
			ON CONFLICT (provider_id, day) DO UPDATE
			SET last_seq = excluded.last_seq, bytes = d.bytes + excluded.bytes
		), put AS (
			INSERT INTO log_line (provider_id, ingested_on, seq, time, source, unit, priority, message, plain_message, truncated)
			SELECT $1, h.last_day, h.first_seq + l.n, l.time, l.source, l.unit, l.priority, l.message, l.plain, l.truncated
			FROM head h, jsonb_to_recordset($4::jsonb) AS l (
				n bigint, time timestamptz, source text, unit text, priority smallint, message text, plain text, truncated boolean)
		)
		SELECT first_seq + $2::bigint - 1 FROM head`, providerID, len(lines), bytes, string(body)).Scan(&lastSeq)
	if err != nil {
		return 0, fmt.Errorf("append log lines: %w", err)
	}
	return lastSeq, nil
}
