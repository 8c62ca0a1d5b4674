package e2e_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/app"
	"biztraak.dev/vm/internal/operation"
)

// takeOverWithin is the contract: from the death of a worker until somebody else
// has its work.
const takeOverWithin = operation.LeaseTime + operation.SweepEvery + time.Second

// TestWorkerKilledAtEachPoint has one worker carry out an operation for each
// point of each step of each kind, stands them still there, one at each, and
// kills the worker. The registry says which steps there are: one that this test
// has no case for fails it.
func TestWorkerKilledAtEachPoint(t *testing.T) {
	t.Parallel()
	i := install(t, "")
	edge := i.start(app.Roles{Serve: true})
	w := newWorld(i.client(edge), i)
	c := newCloud(w)
	points, casualties := prepareCasualties(t, w, killCases(c), edge.Steps())

	victim := startChild(t, childOptions{kind: childWorker, env: i.env(map[string]string{
		"WORKER_URGENT": "64", "WORKER_WORK": "64",
	})})
	awaitPoints(t, victim, points)
	session := value[string](i, `SELECT id FROM worker_session WHERE expires_at > app_now()`)
	heir := i.start(app.Roles{Work: true}, func(o *app.Options) {
		o.Config.ReconcileSeconds, o.Config.WorkerUrgent, o.Config.WorkerWork = 1, 64, 64
	})
	// Die late in a beat: the takeover of so many at once then has some seconds to
	// spare, which a busy machine may need for work that is none of the lease's.
	awaitValue(i, true, `SELECT expires_at < app_now() + make_interval(secs => $2) FROM worker_session WHERE id = $1`,
		session, (operation.LeaseTime - operation.BeatEvery + time.Second).Seconds())
	killedAt := value[time.Time](i, `SELECT clock_timestamp()`)
	victim.kill()

	operations := make([]string, len(casualties))
	for n, x := range casualties {
		operations[n] = x.Operation
	}
	i.awaitEnd(operations...)
	for _, x := range casualties {
		checkCasualty(t, w, x, session, killedAt)
	}
	require.Zero(t, value[int](i, `SELECT count(*)::int FROM operation_lock`), "locks are left")
	for _, x := range casualties {
		c.awaitMachines(x.Provider, x.want.machines)
	}
	heir.stop()
}

// prepareCasualties makes an operation for each point that a worker can die at,
// and has all of them wait for a worker. It answers the points beside them.
func prepareCasualties(
	t *testing.T, w *world, cases map[phase]killCase, steps map[operation.Kind]app.Steps,
) ([]string, []casualty) {
	t.Helper()
	var points []string
	var out []casualty
	for _, kind := range slices.Sorted(maps.Keys(steps)) {
		for p, defs := range map[phase][]operation.StepDef{
			{kind, false}: steps[kind].Forward, {kind, true}: steps[kind].CleanUp,
		} {
			for _, point := range pointsOf(kind, defs) {
				want, known := cases[p]
				require.True(t, known, "no case for %s", p)
				points = append(points, point)
				out = append(out, casualty{phase: p, want: want})
			}
		}
	}
	helper := w.sql.start(app.Roles{Work: true})
	makeGround(w, out)
	helper.stop()
	for n := range out {
		out[n].want.begin(w, &out[n].work)
	}
	return points, out
}

// awaitPoints waits until an operation stands at each point, and nowhere else.
func awaitPoints(t *testing.T, victim *childProcess, points []string) {
	t.Helper()
	missing := map[string]bool{}
	for _, p := range points {
		missing[p] = true
	}
	timeout := time.After(patience)
	for len(missing) > 0 {
		select {
		case p := <-victim.points:
			require.True(t, missing[p], "a worker came to %q, which has no case (or it ended)", p)
			delete(missing, p)
		case <-timeout:
			require.FailNow(t, "no operation came to these points", "%v", slices.Sorted(maps.Keys(missing)))
		}
	}
}

func checkCasualty(t *testing.T, w *world, x casualty, victim string, killedAt time.Time) {
	t.Helper()
	moves, name := w.sql.moves(x.Operation), x.phase.String()
	checkTakenOver(t, moves, victim, killedAt)
	require.Equal(t, x.want.ends, ends(moves)[0].Status, "%s: %v", name, moves)
	require.Equal(t, x.want.status, w.status(x.Provider), name)
}

// checkTakenOver makes sure that the operation has ended exactly once, and that
// somebody other than the one who was lost had it in time. It answers that move.
func checkTakenOver(t *testing.T, moves []move, lost string, lostAt time.Time) move {
	t.Helper()
	require.Len(t, ends(moves), 1, "%v", moves)
	taken := slices.IndexFunc(moves, func(m move) bool { return m.At.After(lostAt) && m.Session != "" })
	require.Positive(t, taken, "nobody took over: %v", moves)
	require.NotEqual(t, lost, moves[taken].Session, "%v", moves)
	require.Less(t, moves[taken].At.Sub(lostAt), takeOverWithin, "taken over too late: %v", moves)
	return moves[taken]
}
