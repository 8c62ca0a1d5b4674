package syslog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"biztraak.dev/vm/internal/hub"
)

const (
	// ringLines and ringBytes bound what is kept in memory of the newest lines
	// of each log that somebody follows.
	ringLines = 500
	ringBytes = 4 << 20
	// feedBeat is how long a feed passes lines over before it tells its cursor.
	feedBeat = 15 * time.Second
)

// Store reads and writes logs. Make it with New.
type Store struct {
	pool *pgxpool.Pool
	hub  *hub.Hub
	ring *hub.Ring[Line]
	beat time.Duration
}

// New makes a store over a pool. The hub wakes followers and is told of new
// lines.
func New(pool *pgxpool.Pool, h *hub.Hub) *Store {
	s := &Store{pool: pool, hub: h, beat: feedBeat}
	s.ring = hub.NewRing(s.load, func(l Line) int64 { return l.Seq }, ringLines).Weigh(Line.size, ringBytes)
	return s
}

// Heads answers the number of the newest line of each provider that has a log:
// 0 when it has no line yet.
func (s *Store) Heads(ctx context.Context, providerIDs []string) (map[string]int64, error) {
	rows, err := s.pool.Query(ctx, `SELECT provider_id, next_seq - 1 FROM log_head WHERE provider_id = ANY($1::text[])`, providerIDs)
	if err != nil {
		return nil, fmt.Errorf("read heads of logs: %w", err)
	}
	heads := make(map[string]int64, len(providerIDs))
	var id string
	var seq int64
	if _, err := pgx.ForEachRow(rows, []any{&id, &seq}, func() error { heads[id] = seq; return nil }); err != nil {
		return nil, fmt.Errorf("read heads of logs: %w", err)
	}
	return heads, nil
}

// bounds are the ends of what is stored of a log.
type bounds struct {
	// head is the number of the newest line, 0 before the first.
	head int64
	// first is the number of the oldest line that is kept, or of the next one
	// when none is. The days are those of the oldest and of the newest line.
	first             int64
	firstDay, lastDay time.Time
}

// start is the place right before the oldest line, end that after the newest.
func (b bounds) start() place { return place{day: b.firstDay, seq: b.first - 1} }
func (b bounds) end() place   { return place{day: b.lastDay, seq: b.head} }

func (s *Store) bounds(ctx context.Context, providerID string) (bounds, error) {
	var b bounds
	err := s.pool.QueryRow(ctx, `
		SELECT h.next_seq - 1, COALESCE(d.first_seq, h.next_seq), COALESCE(d.day, h.last_day), h.last_day
		FROM log_head h
		LEFT JOIN LATERAL (
			SELECT first_seq, day FROM log_day WHERE provider_id = h.provider_id ORDER BY day LIMIT 1
		) d ON true
		WHERE h.provider_id = $1`, providerID).Scan(&b.head, &b.first, &b.firstDay, &b.lastDay)
	if errors.Is(err, pgx.ErrNoRows) {
		epoch := time.Unix(0, 0).UTC()
		return bounds{first: 1, firstDay: epoch, lastDay: epoch}, nil
	}
	if err != nil {
		return bounds{}, fmt.Errorf("read bounds of log: %w", err)
	}
	return b, nil
}

// lineColumns are what scanLine reads, in its order.
const lineColumns = `seq, ingested_on, time, source, unit, priority, message, plain_message, truncated`

func scanLine(row pgx.CollectableRow) (Line, error) {
	var l Line
	var plain *string
	err := row.Scan(&l.Seq, &l.Day, &l.Time, &l.Source, &l.Unit, &l.Priority, &l.Message, &plain, &l.Truncated)
	l.Time, l.PlainMessage = l.Time.UTC(), l.Message
	if plain != nil {
		l.PlainMessage = *plain
	}
	return l, err
}

// query reads lines; the statement selects lineColumns.
func (s *Store) query(ctx context.Context, statement string, args []any) ([]Line, error) {
	rows, err := s.pool.Query(ctx, statement, args...)
	if err != nil {
		return nil, fmt.Errorf("read log lines: %w", err)
	}
	lines, err := pgx.CollectRows(rows, scanLine)
	if err != nil {
		return nil, fmt.Errorf("read log lines: %w", err)
	}
	return lines, nil
}

// loadStatement reads the $3 lines after number $2. The day of the first of them
// keeps the partitions before it from being opened.
const loadStatement = `
	SELECT ` + lineColumns + ` FROM log_line
	WHERE provider_id = $1 AND seq > $2
	  AND ingested_on >= (SELECT day FROM log_day WHERE provider_id = $1 AND last_seq > $2 ORDER BY day LIMIT 1)
	ORDER BY ingested_on, seq LIMIT $3`

// load reads lines for the ring.
func (s *Store) load(ctx context.Context, providerID string, after int64, limit int) ([]Line, error) {
	return s.query(ctx, loadStatement, []any{providerID, after, limit})
}
