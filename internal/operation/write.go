package operation

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"gorm.io/gorm"

	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/store"
)

// Announcement says that a stream has reached a number, and which topics in it
// are concerned. It only wakes: whoever misses it finds the number in Postgres.
type Announcement struct {
	Stream string
	// From and Seq are the first and the last number that are new.
	From, Seq int64
	Topics    []string
}

// Announcer tells the followers of streams, in this process and in others.
type Announcer interface {
	Announce(ctx context.Context, what []Announcement)
}

// SQLTx is what a PlatformLog writes with; *sql.Tx.
type SQLTx interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// PlatformLog writes the platform's own lines into the log of a VM provider,
// inside the transaction of the step that they tell of. It answers the number
// of the newest line.
type PlatformLog interface {
	AppendPlatform(ctx context.Context, tx SQLTx, providerID ident.ID, at time.Time, lines []string) (int64, error)
}

// Streams that are announced, by what they are of.
const (
	projectStream = "project:"
	logStream     = "log:"
	accessStream  = "access:"
	tokenStream   = "token:"
)

// ProjectStream is the stream of a project's events.
func ProjectStream(id ident.ID) string { return projectStream + string(id) }

// LogStream is the stream of a VM provider's log lines.
func LogStream(id ident.ID) string { return logStream + string(id) }

// AccessStream is the stream of changes to what a user may do in a team.
func AccessStream(team, user ident.ID) string {
	return accessStream + string(team) + "/" + string(user)
}

// TokenStream is the stream of changes to an access token.
func TokenStream(id ident.ID) string { return tokenStream + string(id) }

// dueChannel is notified when work becomes due.
const dueChannel = "operation_due"

// Writer runs transactions that can start work and tell of it.
type Writer struct {
	db       *store.DB
	announce Announcer
	log      PlatformLog
}

// NewWriter makes a Writer.
func NewWriter(db *store.DB, announce Announcer, log PlatformLog) *Writer {
	return &Writer{db: db, announce: announce, log: log}
}

// Tx is a transaction that collects what it has to tell: events are numbered
// and written by its last statement, and announced after the commit.
type Tx struct {
	*gorm.DB
	// Now is the database's time at the beginning of the transaction.
	Now time.Time

	events []Event
	lines  []platformLine
	said   []Announcement
	due    bool
}

type platformLine struct {
	provider ident.ID
	text     string
}

// Write runs fn in one transaction. fn can run more than once, so it must not
// touch anything but the Tx and what it makes anew.
func (w *Writer) Write(ctx context.Context, fn func(tx *Tx) error) error {
	var done *Tx
	err := w.db.Tx(ctx, func(g *gorm.DB) error {
		now, err := store.Now(g)
		if err != nil {
			return err
		}
		tx := &Tx{DB: g, Now: now}
		if err := fn(tx); err != nil {
			return err
		}
		done = tx
		return w.flush(ctx, tx)
	})
	if err != nil {
		return err
	}
	if len(done.said) > 0 {
		w.announce.Announce(ctx, done.said)
	}
	return nil
}

// flush writes what the transaction has to tell, in an order in which no two
// transactions can wait for each other: logs by provider, then projects by id.
// The counter of a project is its hottest row, so it comes last.
func (w *Writer) flush(ctx context.Context, tx *Tx) error {
	if err := w.flushLines(ctx, tx); err != nil {
		return err
	}
	if tx.due {
		if err := tx.Exec("SELECT pg_notify(?, '')", dueChannel).Error; err != nil {
			return fmt.Errorf("notify of due work: %w", err)
		}
	}
	return tx.flushEvents()
}

func (w *Writer) flushLines(ctx context.Context, tx *Tx) error {
	byProvider := map[ident.ID][]string{}
	for _, l := range tx.lines {
		byProvider[l.provider] = append(byProvider[l.provider], l.text)
	}
	for _, id := range sortedKeys(byProvider) {
		conn, ok := tx.Statement.ConnPool.(SQLTx)
		if !ok {
			return fmt.Errorf("write platform lines: %T is no transaction", tx.Statement.ConnPool)
		}
		seq, err := w.log.AppendPlatform(ctx, conn, id, tx.Now, byProvider[id])
		if err != nil {
			return fmt.Errorf("write platform lines: %w", err)
		}
		tx.said = append(tx.said, Announcement{
			Stream: LogStream(id), From: seq - int64(len(byProvider[id])) + 1, Seq: seq,
		})
	}
	return nil
}

// Log adds a line of the platform to the log of a VM provider.
func (tx *Tx) Log(provider ident.ID, format string, args ...any) {
	tx.lines = append(tx.lines, platformLine{provider: provider, text: fmt.Sprintf(format, args...)})
}

// SQL is the transaction below, for writers that use no gorm.
func (tx *Tx) SQL() (SQLTx, error) {
	conn, ok := tx.Statement.ConnPool.(SQLTx)
	if !ok {
		return nil, fmt.Errorf("%T is no transaction", tx.Statement.ConnPool)
	}
	return conn, nil
}

// AccessChanged says that what a user may do in a team has changed: their open
// subscriptions are checked again.
func (tx *Tx) AccessChanged(team, user ident.ID) error {
	var v int64
	err := tx.Raw(`INSERT INTO team_access (team_id, user_id) VALUES (?, ?)
		ON CONFLICT (team_id, user_id) DO UPDATE SET access_version = team_access.access_version + 1
		RETURNING access_version`, team, user).Scan(&v).Error
	tx.said = append(tx.said, Announcement{Stream: AccessStream(team, user), From: v, Seq: v})
	return err
}

// TokenChanged says that an access token has been revoked.
func (tx *Tx) TokenChanged(token ident.ID) error {
	var v int64
	err := tx.Raw(`UPDATE access_token SET access_version = access_version + 1 WHERE id = ?
		RETURNING access_version`, token).Scan(&v).Error
	tx.said = append(tx.said, Announcement{Stream: TokenStream(token), From: v, Seq: v})
	return err
}
