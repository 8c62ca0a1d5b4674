// Package store opens the database and knows how this product talks to it: the
// pools, the migrations, transactions, pages and what a violated constraint is.
//
// It knows no domain: rows and rules belong to the rooms that own them.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
)

// Options size the pools. The zero value is right for one process of a few.
type Options struct {
	// MaxConns bounds the pool that services use; 20 when zero.
	MaxConns int
	// Tracer sees each statement; nil for none.
	Tracer pgx.QueryTracer
}

const (
	defaultMaxConns = 20
	connLifetime    = 30 * time.Minute
	// A statement or an idle transaction that outlives these is a fault of ours,
	// and must not hold locks for ever.
	statementTimeout = "60s"
	idleInTxTimeout  = "30s"
)

// DB is the database as the services use it. Both handles share one pool.
type DB struct {
	gorm *gorm.DB
	sql  *sql.DB
	pool *pgxpool.Pool
}

// Open connects to the database at dsn (a URL or key=value text) and fails when
// it does not answer.
func Open(ctx context.Context, dsn string, opt Options) (*DB, error) {
	cfg, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		// The parse error repeats the DSN, and with it the password.
		return nil, errors.New("open database: DATABASE_URL is not a PostgreSQL URL such as postgres://user:password@host:5432/name")
	}
	if opt.MaxConns == 0 {
		opt.MaxConns = defaultMaxConns
	}
	cfg.MaxConns = int32(opt.MaxConns) // a pool has a few dozen connections
	cfg.MaxConnLifetime = connLifetime
	cfg.ConnConfig.Tracer = opt.Tracer
	params := cfg.ConnConfig.RuntimeParams
	params["application_name"] = "biztraak-vm"
	params["statement_timeout"] = statementTimeout
	params["idle_in_transaction_session_timeout"] = idleInTxTimeout
	params["timezone"] = "UTC"
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, fmt.Errorf("open database: %w", err)
	}
	db, err := gormOver(pool)
	if err != nil {
		pool.Close()
		return nil, err
	}
	return db, nil
}

func gormOver(pool *pgxpool.Pool) (*DB, error) {
	sqlDB := stdlib.OpenDBFromPool(pool)
	g, err := gorm.Open(postgres.New(postgres.Config{Conn: sqlDB}), &gorm.Config{
		SkipDefaultTransaction:   true,
		TranslateError:           false, // IsViolation looks at the constraint's name
		DisableNestedTransaction: true,
		Logger:                   logger.Discard, // errors are returned and logged once, by the caller
		NowFunc:                  func() time.Time { return time.Now().UTC() },
	})
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	return &DB{gorm: g, sql: sqlDB, pool: pool}, nil
}

// Gorm is a handle outside any transaction.
func (db *DB) Gorm(ctx context.Context) *gorm.DB { return db.gorm.WithContext(ctx) }

// Pool is the pgx pool below, for what gorm is not for: COPY, LISTEN, lists
// that many people look at.
func (db *DB) Pool() *pgxpool.Pool { return db.pool }

// Close ends all connections.
func (db *DB) Close() {
	_ = db.sql.Close() // it only forgets the pool
	db.pool.Close()
}

// Ping says whether the database answers.
func (db *DB) Ping(ctx context.Context) error { return db.pool.Ping(ctx) }

// Tx runs fn in one READ COMMITTED transaction. A deadlock or a serialization
// failure is tried again, so fn must do nothing outside the database.
func (db *DB) Tx(ctx context.Context, fn func(tx *gorm.DB) error) error {
	const tries = 5
	var err error
	for range tries {
		err = db.gorm.WithContext(ctx).Transaction(fn)
		if !isTransient(err) {
			return err
		}
	}
	return err
}

func isTransient(err error) bool {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return false
	}
	const deadlock, serialization = "40P01", "40001"
	return pg.Code == deadlock || pg.Code == serialization
}

// IsViolation says whether err is a violation of the named unique index or
// constraint.
func IsViolation(err error, constraint string) bool {
	var pg *pgconn.PgError
	const unique, foreignKey = "23505", "23503"
	return errors.As(err, &pg) && (pg.Code == unique || pg.Code == foreignKey) && pg.ConstraintName == constraint
}

// ErrConflict means that the row was not as the caller had seen it.
var ErrConflict = errors.New("the row has changed meanwhile")

// One turns the result of an UPDATE or DELETE that must have met exactly one
// row into an error: ErrConflict when it met none.
func One(res *gorm.DB) error {
	switch {
	case res.Error != nil:
		return res.Error
	case res.RowsAffected == 0:
		return ErrConflict
	case res.RowsAffected > 1:
		return fmt.Errorf("a change of one row met %d", res.RowsAffected)
	}
	return nil
}

// Now is the database's time, by which leases and timers go.
func Now(tx *gorm.DB) (time.Time, error) {
	var now time.Time
	err := tx.Raw("SELECT app_now()").Scan(&now).Error
	return now.UTC(), err
}
