package pgtest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5"

	"biztraak.dev/vm/internal/store"
	"biztraak.dev/vm/migrations"
)

// templateLock is the key of the session-level advisory lock under which one test
// process makes the template and the others wait. Any number does, as long as
// nothing else in the database "postgres" uses it.
const templateLock = 0x7067_7465_7374

// makeTemplate returns the name of a database with all migrations applied, and
// makes it if the cluster has none for this set of migrations. It is built under
// another name and renamed when it is complete, so that a test process that is
// killed leaves no half-made template. The name is prefix and the digest of the
// migrations.
func makeTemplate(ctx context.Context, admin, prefix string) (string, error) {
	digest, err := migrationsDigest()
	if err != nil {
		return "", err
	}
	name := prefix + digest
	conn, err := pgx.Connect(ctx, admin)
	if err != nil {
		return "", err
	}
	// The end of the session is also what gives the lock free.
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // the work is done or its error is known
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1)", templateLock); err != nil {
		return "", fmt.Errorf("lock: %w", err)
	}
	var there bool
	if err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", name).Scan(&there); err != nil {
		return "", err
	}
	if there {
		return name, nil
	}
	building := name + "_building"
	if err := execute(ctx, admin, "DROP DATABASE IF EXISTS "+building+" WITH (FORCE)", "CREATE DATABASE "+building+" TEMPLATE template0"); err != nil {
		return "", err
	}
	dsn, err := withDatabase(admin, building)
	if err != nil {
		return "", err
	}
	if err := store.Migrate(ctx, dsn, slog.New(slog.DiscardHandler)); err != nil {
		return "", err
	}
	// Without connections nothing, not even autovacuum, can make CREATE DATABASE
	// wait for the template.
	return name, execute(ctx, admin,
		"ALTER DATABASE "+building+" RENAME TO "+name,
		"ALTER DATABASE "+name+" ALLOW_CONNECTIONS false")
}

// migrationsDigest changes with any name or byte of the migrations.
func migrationsDigest() (string, error) {
	sum := sha256.New()
	err := fs.WalkDir(migrations.Files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		body, err := fs.ReadFile(migrations.Files, path)
		fmt.Fprintf(sum, "%s %d\n%s\n", path, len(body), body)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("read migrations: %w", err)
	}
	return hex.EncodeToString(sum.Sum(nil)[:8]), nil
}

// withDatabase names another database in a URL or a keyword DSN, in which the
// last value of a keyword counts.
func withDatabase(dsn, database string) (string, error) {
	if !strings.HasPrefix(dsn, "postgres://") && !strings.HasPrefix(dsn, "postgresql://") {
		return dsn + " dbname=" + database, nil
	}
	u, err := url.Parse(dsn)
	if err != nil {
		return "", fmt.Errorf("%s is not a database URL", urlEnv) // the parser's error would quote the password
	}
	u.Path = "/" + database
	return u.String(), nil
}
