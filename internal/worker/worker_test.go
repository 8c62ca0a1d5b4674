package worker

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"

	"biztraak.dev/vm/internal/devstack/redistest"
	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/operation"
)

// step is a cancelable step.
func step(do func(ctx context.Context, w *operation.Work) (operation.Result, error)) operation.StepDef {
	return operation.StepDef{Name: "act", Cancelable: true, Limit: time.Hour, Do: do}
}

func TestWorkIsCarriedOut(t *testing.T) {
	redistest.Each(t, func(t *testing.T, url string) {
		var runs atomic.Int32
		w := newWorld(t, step(func(context.Context, *operation.Work) (operation.Result, error) {
			runs.Add(1)
			return operation.Result{}, nil
		}))
		before := w.enqueue(false) // accepted while no worker was there
		w.started(url)
		ids := []ident.ID{before}
		for n := range 20 {
			ids = append(ids, w.enqueue(n%2 == 0))
		}
		for _, id := range ids {
			w.becomes(id, operation.Succeeded)
		}
		require.EqualValues(t, len(ids), runs.Load(), "each once")
	})
}

func TestUrgentWorkHasItsOwnLane(t *testing.T) {
	hold := make(chan struct{})
	urgent := make(chan ident.ID, 1)
	w := newWorld(t, step(func(ctx context.Context, k *operation.Work) (operation.Result, error) {
		select {
		case id := <-urgent:
			if id == k.ID() {
				return operation.Result{}, nil
			}
			urgent <- id
		default:
		}
		select {
		case <-hold:
		case <-ctx.Done():
		}
		return operation.Result{}, ctx.Err()
	}))
	w.started(redistest.InProcess(t))
	first, second := w.enqueue(false), w.enqueue(false) // fill the lane of plain work
	w.becomes(first, operation.Running)
	w.becomes(second, operation.Running)
	third := w.enqueue(false)
	hot := w.enqueue(true)
	urgent <- hot
	w.becomes(hot, operation.Running)
	require.Equal(t, operation.Queued, query[operation.Status](w, "SELECT status FROM operation WHERE id = ?", third))
	close(hold)
	for _, id := range []ident.ID{first, second, third, hot} {
		w.becomes(id, operation.Succeeded)
	}
}

// Whatever Redis forgets is delivered again.
func TestRedisLosesEverything(t *testing.T) {
	redistest.Each(t, func(t *testing.T, url string) {
		w := newWorld(t, step(func(context.Context, *operation.Work) (operation.Result, error) { return operation.Result{}, nil }))
		id := w.enqueue(false)
		due, err := w.writer.TakeDue(t.Context(), 10) // a relay took it, and Redis lost it
		require.NoError(t, err)
		require.Len(t, due, 1)
		w.started(url)
		opt, err := redis.ParseURL(url)
		require.NoError(t, err)
		client := redis.NewClient(opt)
		defer func() { require.NoError(t, client.Close()) }()
		require.NoError(t, client.FlushAll(t.Context()).Err())
		w.exec("UPDATE clock_offset SET value = interval '6 seconds'")
		w.becomes(id, operation.Succeeded)
	})
}

func TestRedisComesLate(t *testing.T) {
	server := redistest.Real(t)
	server.Stop()
	w := newWorld(t, step(func(context.Context, *operation.Work) (operation.Result, error) { return operation.Result{}, nil }))
	w.started(server.URL())
	id := w.enqueue(false)
	require.Eventually(t, func() bool {
		return query[bool](w, "SELECT enqueued_attempt = 1 AND enqueued_at IS NULL FROM operation WHERE id = ?", id)
	}, patience, 5*time.Millisecond, "what could not be delivered was not put back")
	server.Start()
	w.becomes(id, operation.Succeeded)
}

// A worker that stops puts its work back; the next takes it up without a wait
// for a lease.
func TestStopHandsBack(t *testing.T) {
	running := make(chan struct{}, 1)
	var second atomic.Bool
	w := newWorld(t, step(func(ctx context.Context, _ *operation.Work) (operation.Result, error) {
		if second.Load() {
			return operation.Result{}, nil
		}
		running <- struct{}{}
		<-ctx.Done()
		return operation.Result{}, ctx.Err()
	}))
	url := redistest.InProcess(t)
	k := w.worker(url)
	require.NoError(t, k.Start(t.Context()))
	id := w.enqueue(false)
	<-running
	w.stop(k)
	require.Equal(t, operation.Queued, query[operation.Status](w, "SELECT status FROM operation WHERE id = ?", id))
	require.Zero(t, query[int](w, "SELECT tries FROM operation WHERE id = ?", id), "no failed try")
	require.Zero(t, query[int](w, "SELECT count(*) FROM worker_session WHERE expires_at > app_now()"))
	second.Store(true)
	w.started(url)
	w.becomes(id, operation.Succeeded)
}

// A worker whose session has ended, as after a long freeze, drops what it does
// and begins anew.
func TestALostSessionIsReplaced(t *testing.T) {
	running := make(chan struct{}, 1)
	dropped := make(chan struct{}, 1)
	var lives atomic.Int32
	w := newWorld(t, step(func(ctx context.Context, _ *operation.Work) (operation.Result, error) {
		if lives.Add(1) > 1 {
			return operation.Result{}, nil
		}
		running <- struct{}{}
		<-ctx.Done()
		dropped <- struct{}{}
		return operation.Result{}, ctx.Err()
	}))
	w.started(redistest.InProcess(t))
	id := w.enqueue(false)
	<-running
	w.exec("UPDATE worker_session SET expires_at = app_now()")
	select {
	case <-dropped:
	case <-time.After(patience):
		require.Fail(t, "the old work goes on")
	}
	w.becomes(id, operation.Succeeded)
	require.EqualValues(t, 2, lives.Load())
	require.Equal(t, 2, query[int](w, "SELECT count(*) FROM worker_session"))
}

func TestACancelReachesTheStep(t *testing.T) {
	running := make(chan struct{}, 1)
	w := newWorld(t, step(func(ctx context.Context, _ *operation.Work) (operation.Result, error) {
		running <- struct{}{}
		<-ctx.Done()
		return operation.Result{}, ctx.Err()
	}))
	w.started(redistest.InProcess(t))
	id := w.enqueue(false)
	<-running
	require.NoError(t, w.writer.Write(t.Context(), func(tx *operation.Tx) error {
		_, err := tx.RequestCancel(w.registry, id, "")
		return err
	}))
	w.becomes(id, operation.Canceled)
}

func TestEachAccountIsLookedAtWhateverFails(t *testing.T) {
	w := newWorld(t)
	w.clouds.accounts = []ident.ID{"acc_a", "acc_b"}
	w.started(redistest.InProcess(t))
	require.Eventually(t, func() bool {
		w.clouds.mu.Lock()
		defer w.clouds.mu.Unlock()
		return w.clouds.looks["acc_a"] > 2 && w.clouds.looks["acc_b"] > 2
	}, patience, 5*time.Millisecond)
}

func TestAForeignTaskIsDropped(t *testing.T) {
	w := newWorld(t)
	k := w.worker("redis://127.0.0.1:1/0")
	require.NoError(t, k.handle(t.Context(), asynq.NewTask(taskType, []byte("rubbish"))), "the queue must not try it again")
}

func TestTheQueueIsHeardOnceAMinute(t *testing.T) {
	var out strings.Builder
	q := &queueLog{log: slog.New(slog.NewTextHandler(&out, nil)), sometimes: rate.Sometimes{Interval: time.Minute}}
	q.Debug("a")
	q.Info("b")
	require.Empty(t, out.String())
	for _, say := range []func(...any){q.Error, q.Warn, q.Fatal, q.Error} {
		say("redis is away")
	}
	require.Equal(t, 1, strings.Count(out.String(), "redis is away"))
}
