package syslog

import (
	"database/sql"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func providers(follows []Follow) []string {
	ids := make([]string, len(follows))
	for i, f := range follows {
		ids[i] = f.ProviderID
	}
	return ids
}

func TestClaim(t *testing.T) {
	w := newWorld(t)
	w.want(t, true, "vmp_a", "vmp_b", "vmp_c")
	w.want(t, false, "vmp_d")
	w.session(t, "one", time.Hour)
	w.session(t, "two", time.Hour)
	w.session(t, "dead", -time.Second)

	claim := func(session string, limit int, want ...string) []Follow {
		t.Helper()
		taken, err := w.Claim(t.Context(), session, limit)
		require.NoError(t, err)
		require.ElementsMatch(t, want, providers(taken))
		return taken
	}
	held := func(session string, want ...string) {
		t.Helper()
		follows, err := w.Held(t.Context(), session)
		require.NoError(t, err)
		require.Equal(t, append([]string{}, want...), providers(follows))
	}
	claim("dead", 9)
	claim("unknown", 9)
	claim("one", 2, "vmp_a", "vmp_b")
	claim("one", 9, "vmp_c")
	claim("two", 9)
	held("one", "vmp_a", "vmp_b", "vmp_c")

	require.NoError(t, w.Release(t.Context(), "two", "vmp_a")) // not its own
	claim("two", 9)
	require.NoError(t, w.Release(t.Context(), "one", "vmp_a"))
	require.EqualValues(t, 2, claim("two", 9, "vmp_a")[0].Fence)

	w.want(t, false, "vmp_b")
	held("one", "vmp_c")
	w.want(t, true, "vmp_b")
	held("one", "vmp_b", "vmp_c")
	claim("two", 9)

	w.session(t, "one", -time.Second)
	claim("two", 9, "vmp_b", "vmp_c")
	held("one")
	require.NoError(t, w.Release(t.Context(), "two"))
	held("two")
}

func TestClaimsRace(t *testing.T) {
	const workers, logs = 8, 40
	w := newWorld(t)
	var ids []string
	for i := range logs {
		ids = append(ids, fmt.Sprintf("vmp_%02d", i))
	}
	w.want(t, true, ids...)
	var mu sync.Mutex
	var taken []Follow
	var running sync.WaitGroup
	for i := range workers {
		session := fmt.Sprintf("worker-%d", i)
		w.session(t, session, time.Hour)
		running.Go(func() {
			for {
				got, err := w.Claim(t.Context(), session, 3)
				if err != nil {
					t.Error(err)
				}
				if len(got) == 0 {
					return
				}
				mu.Lock()
				taken = append(taken, got...)
				mu.Unlock()
			}
		})
	}
	running.Wait()
	require.ElementsMatch(t, ids, providers(taken))
	for _, f := range taken {
		require.EqualValues(t, 1, f.Fence)
	}
}

// A transaction that decides about a log must not hold up the claims of others.
func TestClaimPassesLockedRows(t *testing.T) {
	w := newWorld(t)
	w.want(t, true, "vmp_a", "vmp_b")
	w.session(t, "one", time.Hour)
	w.tx(t, func(tx *sql.Tx) {
		require.NoError(t, w.WantTx(t.Context(), tx, "vmp_a", false))
		taken, err := w.Claim(t.Context(), "one", 9)
		require.NoError(t, err)
		require.Equal(t, []string{"vmp_b"}, providers(taken))
	})
}
