package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/hibiken/asynq"
	"github.com/jackc/pgx/v5/pgxpool"

	"biztraak.dev/vm/internal/guest"
	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/operation"
	"biztraak.dev/vm/internal/syslog"
)

// Reconciler compares what is recorded with what clouds show.
type Reconciler interface {
	AccountsInUse(ctx context.Context) ([]ident.ID, error)
	Reconcile(ctx context.Context, accountID ident.ID) error
}

// Journals finds the guest of a VM provider whose journal is to be followed. ok
// is false while there is nothing to read.
type Journals interface {
	JournalOf(ctx context.Context, providerID ident.ID) (g guest.Guest, t guest.Target, ok bool, err error)
}

// Config sizes a worker.
type Config struct {
	Redis asynq.RedisConnOpt
	// Urgent and Work are how many operations of each kind are carried out at
	// once; Followers is how many journals are followed.
	Urgent, Work, Followers int
	// ReconcileEvery is the time between two looks at a cloud account.
	ReconcileEvery time.Duration
}

// Deps are what a worker needs of others.
type Deps struct {
	Pool       *pgxpool.Pool
	Writer     *operation.Writer
	Engine     *operation.Engine
	Logs       *syslog.Store
	Reconciler Reconciler
	Journals   Journals
	Log        *slog.Logger
}

// Worker is one worker process's part: Start and Stop it once.
type Worker struct {
	cfg  Config
	deps Deps

	sessions *sessions
	due      chan struct{}
	client   *asynq.Client
	servers  []*asynq.Server
	cancel   context.CancelFunc
	running  sync.WaitGroup
}

// New makes a worker.
func New(cfg Config, deps Deps) *Worker {
	return &Worker{
		cfg: cfg, deps: deps, due: make(chan struct{}, 1),
		sessions: newSessions(deps.Writer, deps.Log),
	}
}

// Start opens the worker's session and begins to take work. It returns when the
// worker is ready; Redis need not be there yet.
func (w *Worker) Start(ctx context.Context) error {
	ctx, w.cancel = context.WithCancel(context.WithoutCancel(ctx))
	if err := w.sessions.open(ctx); err != nil {
		w.cancel()
		return err
	}
	w.client = asynq.NewClient(w.cfg.Redis)
	for _, q := range []struct {
		name string
		size int
	}{{queueUrgent, w.cfg.Urgent}, {queueWork, w.cfg.Work}} {
		srv := newTaskServer(w.cfg.Redis, q.name, q.size, w.deps.Log)
		if err := srv.Start(asynq.HandlerFunc(w.handle)); err != nil {
			return errors.Join(fmt.Errorf("start task server %s: %w", q.name, err), w.Stop(ctx))
		}
		w.servers = append(w.servers, srv)
	}
	for _, loop := range []func(context.Context){
		w.sessions.beat, w.listen, w.relay, w.takeOver, w.reconcile, w.follow,
	} {
		w.running.Go(func() { loop(ctx) })
	}
	return nil
}

// Stop hands the work back and ends the session, so that others take it over at
// once.
func (w *Worker) Stop(ctx context.Context) error {
	w.sessions.interrupt() // running handlers put their operations back
	w.cancel()
	for _, srv := range w.servers {
		srv.Shutdown()
	}
	w.running.Wait()
	err := w.sessions.close(ctx)
	if w.client != nil {
		err = errors.Join(err, w.client.Close())
	}
	return err
}

// pause waits, and says whether the loop goes on.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
