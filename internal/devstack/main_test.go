package devstack

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/jackc/pgx/v5"
)

// The variable makes the test binary a server that is killed by a test.
const victimEnv = "DEVSTACK_TEST_VICTIM_DATA_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(victimEnv); dir != "" {
		if err := runVictim(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// runVictim starts a cluster, commits a row, tells the postmaster's pid and waits
// for its end.
func runVictim(dir string) error {
	ctx := context.Background()
	p, err := StartPostgres(ctx, PostgresOptions{DataDir: dir, Fast: true})
	if err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, p.DSN("postgres"))
	if err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, "CREATE TABLE kept (note text); INSERT INTO kept VALUES ('committed')"); err != nil {
		return err
	}
	fmt.Println(p.PID())
	<-p.Done()
	return p.Err()
}
