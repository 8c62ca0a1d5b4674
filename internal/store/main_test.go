package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/devstack/pgtest"
	"biztraak.dev/vm/internal/store"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func open(t *testing.T) *store.DB {
	t.Helper()
	db, err := store.Open(t.Context(), pgtest.DSN(t), store.Options{})
	require.NoError(t, err)
	t.Cleanup(db.Close)
	return db
}
