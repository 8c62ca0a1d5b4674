package store_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"biztraak.dev/vm/internal/devstack/pgtest"
	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/store"
)

func TestOpenHidesThePassword(t *testing.T) {
	for name, dsn := range map[string]string{
		"no URL":     "postgres://ann:hunter2@host:port/name",
		"no answer":  "postgres://ann:hunter2@127.0.0.1:1/name?connect_timeout=2",
		"bad option": "postgres://ann:hunter2@host/name?sslmode=perhaps",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := store.Open(t.Context(), dsn, store.Options{})
			require.Error(t, err)
			require.NotContains(t, err.Error(), "hunter2")
			if name != "no answer" {
				_, err = store.OpenMachines(t.Context(), dsn)
				require.Error(t, err)
				require.NotContains(t, err.Error(), "hunter2")
			}
		})
	}
}

func TestTxRunsAgainAfterWhatPasses(t *testing.T) {
	db := open(t)
	for _, c := range []struct {
		name string
		code string
		fail int // how often
		runs int
	}{
		{"a deadlock", "40P01", 1, 2},
		{"a serialization failure", "40001", 4, 5},
		{"one that does not pass", "40P01", 100, 5},
		{"a violation", "23505", 1, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			runs := 0
			err := db.Tx(t.Context(), func(tx *gorm.DB) error {
				runs++
				if err := tx.Exec("INSERT INTO team (id, name, created_at) VALUES (?, 'T', app_now())", ident.New(ident.Team)).Error; err != nil {
					return err
				}
				if runs <= c.fail {
					return fmt.Errorf("work: %w", &pgconn.PgError{Code: c.code})
				}
				return nil
			})
			require.Equal(t, c.runs, runs)
			var n int
			require.NoError(t, db.Gorm(t.Context()).Raw("WITH d AS (DELETE FROM team RETURNING 1) SELECT count(*) FROM d").Scan(&n).Error)
			if c.runs > c.fail {
				require.NoError(t, err)
				require.Equal(t, 1, n, "only the run that worked is stored")
			} else {
				require.Error(t, err)
				require.Zero(t, n)
			}
		})
	}
}

// Two transactions that lock each other's rows: both get through.
func TestRealDeadlock(t *testing.T) {
	db := open(t)
	a, b := ident.New(ident.Team), ident.New(ident.Team)
	for _, id := range []ident.ID{a, b} {
		require.NoError(t, db.Gorm(t.Context()).Exec("INSERT INTO team (id, name, created_at) VALUES (?, 'T', app_now())", id).Error)
	}
	var meet sync.WaitGroup
	meet.Add(2)
	done := make(chan error, 2)
	for _, order := range [][2]ident.ID{{a, b}, {b, a}} {
		go func() {
			first := true
			done <- db.Tx(t.Context(), func(tx *gorm.DB) error {
				for _, id := range order {
					if err := tx.Exec("UPDATE team SET version = version + 1 WHERE id = ?", id).Error; err != nil {
						return err
					}
					if first {
						first = false
						meet.Done()
						meet.Wait()
					}
				}
				return nil
			})
		}()
	}
	require.NoError(t, <-done)
	require.NoError(t, <-done)
	var versions []int
	require.NoError(t, db.Gorm(t.Context()).Raw("SELECT version FROM team").Scan(&versions).Error)
	require.Equal(t, []int{3, 3}, versions)
}

func TestViolationsByName(t *testing.T) {
	db := open(t)
	g := db.Gorm(t.Context())
	id := ident.New(ident.Team)
	insert := func() error {
		return g.Exec("INSERT INTO team (id, name, created_at) VALUES (?, 'T', app_now())", id).Error
	}
	require.NoError(t, insert())
	err := insert()
	require.True(t, store.IsViolation(err, "team_pkey"))
	require.True(t, store.IsViolation(fmt.Errorf("wrapped: %w", err), "team_pkey"))
	require.False(t, store.IsViolation(err, "project_name"))
	err = g.Exec("INSERT INTO team_member (team_id, user_id, role, joined_at) VALUES (?, 'usr_none', 'OWNER', app_now())", id).Error
	require.True(t, store.IsViolation(err, "team_member_user_id_fkey"))
	require.False(t, store.IsViolation(nil, "team_pkey"))
	require.False(t, store.IsViolation(errors.New("team_pkey"), "team_pkey"))
}

func TestOne(t *testing.T) {
	db := open(t)
	g := db.Gorm(t.Context())
	for range 2 {
		require.NoError(t, g.Exec("INSERT INTO team (id, name, created_at) VALUES (?, 'T', app_now())", ident.New(ident.Team)).Error)
	}
	require.ErrorIs(t, store.One(g.Exec("UPDATE team SET name = 'x' WHERE id = 'none'")), store.ErrConflict)
	require.NoError(t, store.One(g.Exec("UPDATE team SET name = 'x' WHERE id = (SELECT min(id) FROM team)")))
	require.ErrorContains(t, store.One(g.Exec("UPDATE team SET name = 'x'")), "met 2")
	require.ErrorContains(t, store.One(g.Exec("UPDATE nothing")), "syntax")
}

func TestNowIsTheDatabasesTime(t *testing.T) {
	db := open(t)
	g := db.Gorm(t.Context())
	require.NoError(t, g.Exec("UPDATE clock_offset SET value = interval '3 hours'").Error)
	now, err := store.Now(g)
	require.NoError(t, err)
	require.WithinDuration(t, time.Now().Add(3*time.Hour), now, time.Minute)
	require.Equal(t, time.UTC, now.Location())
}

func TestMigrateByManyAtOnce(t *testing.T) {
	dsn := pgtest.Empty(t)
	before, err := store.Migrations(t.Context(), dsn)
	require.NoError(t, err)
	require.NotEmpty(t, before)
	for _, m := range before {
		require.False(t, m.Applied, m.Name)
	}
	done := make(chan error, 3)
	for range cap(done) {
		go func() { done <- store.Migrate(t.Context(), dsn, discard()) }()
	}
	for range cap(done) {
		require.NoError(t, <-done)
	}
	after, err := store.Migrations(t.Context(), dsn)
	require.NoError(t, err)
	require.Len(t, after, len(before))
	for _, m := range after {
		require.True(t, m.Applied, m.Name)
	}
}
