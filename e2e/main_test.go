package e2e_test

import (
	"fmt"
	"os"
	"testing"

	"biztraak.dev/vm/internal/devstack/pgtest"
)

// TestMain runs the tests or, when it is started by one of them, the server:
// see startChild.
func TestMain(m *testing.M) {
	switch os.Getenv(childEnv) {
	case childServer:
		os.Exit(runServer())
	case childWorker:
		if err := runProbedWorker(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	default:
		pgtest.Main(m)
	}
}
