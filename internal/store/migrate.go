package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"biztraak.dev/vm/migrations"
)

// Migration is one numbered file and whether the database has it.
type Migration struct {
	Name    string
	Applied bool
}

// Migrate brings the database at dsn to the newest version. Several processes
// may call it at once: an advisory lock lets one do it.
func Migrate(ctx context.Context, dsn string, log *slog.Logger) error {
	p, closeDB, err := migrator(dsn)
	if err != nil {
		return err
	}
	defer closeDB()
	done, err := p.Up(ctx)
	if err != nil {
		return fmt.Errorf("migrate database: %w", err)
	}
	for _, r := range done {
		log.InfoContext(ctx, "migrated", "file", r.Source.Path, "took", r.Duration)
	}
	return nil
}

// Migrations lists the files in order with whether the database has each.
func Migrations(ctx context.Context, dsn string) ([]Migration, error) {
	p, closeDB, err := migrator(dsn)
	if err != nil {
		return nil, err
	}
	defer closeDB()
	states, err := p.Status(ctx)
	if err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	out := make([]Migration, len(states))
	for i, s := range states {
		out[i] = Migration{Name: s.Source.Path, Applied: s.State == goose.StateApplied}
	}
	return out, nil
}

func migrator(dsn string) (*goose.Provider, func(), error) {
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, nil, errors.New("migrate database: DATABASE_URL is not a PostgreSQL URL")
	}
	// Ask each second, for up to five minutes: a migration can be long.
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 300))
	if err != nil {
		return nil, nil, fmt.Errorf("migrate database: %w", err)
	}
	db := stdlib.OpenDB(*cfg)
	p, err := goose.NewProvider(goose.DialectPostgres, db, migrations.Files, goose.WithSessionLocker(locker))
	if err != nil {
		_ = db.Close() // the error that matters is err
		return nil, nil, fmt.Errorf("migrate database: %w", err)
	}
	return p, func() { _ = p.Close() }, nil
}
