package devstack

import (
	"context"
	"fmt"
	"net/url"
	"strconv"

	"github.com/jackc/pgx/v5"
)

// DSN is the connection URL of a database of this cluster, as its superuser.
// The database "postgres" is always there; see EnsureDatabase for others.
func (p *Postgres) DSN(database string) string {
	u := url.URL{Scheme: "postgres", User: url.User(superuser), Path: "/" + database}
	// Port and sslmode are spelled out, for PGPORT and PGSSLMODE would fill them in.
	u.RawQuery = url.Values{"host": {p.socketDir}, "port": {strconv.Itoa(socketPort)}, "sslmode": {"disable"}}.Encode()
	return u.String()
}

// EnsureDatabase creates the database unless it is there.
func (p *Postgres) EnsureDatabase(ctx context.Context, name string) error {
	conn, err := pgx.Connect(ctx, p.DSN("postgres"))
	if err != nil {
		return fmt.Errorf("create database %s: %w", name, err)
	}
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // the work is done or its error is known
	var there bool
	if err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", name).Scan(&there); err != nil {
		return fmt.Errorf("create database %s: %w", name, err)
	}
	if there {
		return nil
	}
	if _, err := conn.Exec(ctx, "CREATE DATABASE "+pgx.Identifier{name}.Sanitize()); err != nil {
		return fmt.Errorf("create database %s: %w", name, err)
	}
	return nil
}
