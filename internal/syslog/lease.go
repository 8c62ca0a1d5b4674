package syslog

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// claimLock makes claims happen one after the other: each sees what the one
// before it has taken, which a row lock beside an outer join does not promise.
const claimLock = 0x6c6f67_01

// Follow is the task to follow the journal of one provider.
type Follow struct {
	ProviderID string
	// Fence goes with every Batch; a later claim of the same journal makes it
	// void.
	Fence int64
	// JournalCursor is where to continue; empty means from the beginning.
	JournalCursor string
}

// WantTx says within a transaction of the caller whether the journal of a
// provider is to be followed. It is what claims look at; a follower that is not
// wanted any more keeps its right to write until it lets go.
func (s *Store) WantTx(ctx context.Context, tx SQLTx, providerID string, wanted bool) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO log_head (provider_id) VALUES ($1) ON CONFLICT DO NOTHING`, providerID)
	if err != nil {
		return fmt.Errorf("want log: %w", err)
	}
	_, err = tx.ExecContext(ctx, `
		INSERT INTO log_follower AS f (provider_id, wanted) VALUES ($1, $2)
		ON CONFLICT (provider_id) DO UPDATE SET wanted = excluded.wanted WHERE f.wanted <> excluded.wanted`, providerID, wanted)
	if err != nil {
		return fmt.Errorf("want log: %w", err)
	}
	return nil
}

// Claim takes up to max journals that are wanted and that no living worker
// follows, for a worker session that must be alive itself. Each comes with a new
// fencing number, so that whoever followed it before can write no more.
func (s *Store) Claim(ctx context.Context, sessionID string, limit int) ([]Follow, error) {
	var taken []Follow
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, claimLock); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, `
			WITH due AS (
				SELECT f.provider_id FROM log_follower f
				WHERE f.wanted
				  AND NOT EXISTS (SELECT FROM worker_session w WHERE w.id = f.session_id AND w.expires_at > app_now())
				  AND EXISTS (SELECT FROM worker_session w WHERE w.id = $1 AND w.expires_at > app_now())
				ORDER BY f.provider_id LIMIT $2
				FOR UPDATE OF f SKIP LOCKED
			), taken AS (
				UPDATE log_follower f SET session_id = $1 FROM due WHERE f.provider_id = due.provider_id
				RETURNING f.provider_id
			)
			UPDATE log_head h SET follower_fence = h.follower_fence + 1 FROM taken
			WHERE h.provider_id = taken.provider_id
			RETURNING h.provider_id, h.follower_fence, h.journal_cursor`, sessionID, limit)
		if err != nil {
			return err
		}
		taken, err = pgx.CollectRows(rows, pgx.RowToStructByPos[Follow])
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("claim logs to follow: %w", err)
	}
	return taken, nil
}

// Held lists the journals that a session follows and that are still wanted. A
// worker ends its followers that are not in it.
func (s *Store) Held(ctx context.Context, sessionID string) ([]Follow, error) {
	rows, err := s.pool.Query(ctx, `
		SELECT h.provider_id, h.follower_fence, h.journal_cursor
		FROM log_follower f JOIN log_head h USING (provider_id)
		WHERE f.session_id = $1 AND f.wanted
		ORDER BY h.provider_id`, sessionID)
	if err != nil {
		return nil, fmt.Errorf("list followed logs: %w", err)
	}
	held, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Follow])
	if err != nil {
		return nil, fmt.Errorf("list followed logs: %w", err)
	}
	return held, nil
}

// Release lets go of journals that a session follows, so that another can take
// them at once; of all of them when none is named.
func (s *Store) Release(ctx context.Context, sessionID string, providerIDs ...string) error {
	_, err := s.pool.Exec(ctx, `
		UPDATE log_follower SET session_id = NULL
		WHERE session_id = $1 AND (cardinality($2::text[]) = 0 OR provider_id = ANY($2::text[]))`,
		sessionID, append([]string{}, providerIDs...))
	if err != nil {
		return fmt.Errorf("release logs: %w", err)
	}
	return nil
}
