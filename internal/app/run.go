package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/hibiken/asynq"

	"biztraak.dev/vm/internal/config"
	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/operation"
	"biztraak.dev/vm/internal/syslog"
	"biztraak.dev/vm/internal/transport"
	"biztraak.dev/vm/internal/transport/graphqlws"
	"biztraak.dev/vm/internal/worker"
)

// Roles say what a process does.
type Roles struct {
	// Serve answers requests.
	Serve bool
	// Work carries out operations.
	Work bool
}

// Options are what a process is started with.
type Options struct {
	Config *config.Config
	Roles  Roles
	Log    *slog.Logger
	// Dev adds what only a server on localhost may have: the playground with a
	// token filled in, any localhost origin, and the Host check.
	Dev *Dev
	// Hooks are for tests.
	Hooks Hooks
}

// Dev is what a development server shows.
type Dev struct {
	// Token, TeamID and CloudAccountID are filled into the playground.
	Token                  string
	TeamID, CloudAccountID ident.ID
}

// part is something that runs for as long as the process does.
type part struct {
	name  string
	start func(ctx context.Context) error
	stop  func(ctx context.Context) error
}

// Process is a running process. Stop it once.
type Process struct {
	sys     *system
	opt     Options
	started []part
	ln      net.Listener
	failed  chan error
}

// stopTimeout bounds an orderly stop; what is not done by then is taken over.
const stopTimeout = 25 * time.Second

// Start builds a process of the roles and starts its parts. The database must
// have been migrated.
func Start(ctx context.Context, opt Options) (*Process, error) {
	sys, err := build(ctx, opt.Config, opt.Log, opt.Hooks)
	if err != nil {
		return nil, err
	}
	p := &Process{sys: sys, opt: opt, failed: make(chan error, 2)}
	// Every role writes log lines, so every one sees to their partitions.
	keeper, err := syslog.NewKeeper(sys.db.Pool(), syslog.Limits{
		RetentionDays: opt.Config.LogRetentionDays, MaxBytes: opt.Config.LogMaxBytesPerProvider,
	}, opt.Log)
	if err != nil {
		sys.close()
		return nil, err
	}
	parts := []part{p.hubPart(), {"log keeper", keeper.Start, keeper.Stop}}
	if opt.Roles.Work {
		parts = append(parts, p.workerPart())
	}
	sockets := graphqlws.NewRegistry(graphqlws.Caps{})
	if opt.Config.MetricsListen != "" {
		parts = append(parts, p.metricsPart(sockets))
	}
	if opt.Roles.Serve {
		parts = append(parts, p.edgePart(sockets))
	}
	for _, x := range parts {
		if err := x.start(ctx); err != nil {
			err = fmt.Errorf("start %s: %w", x.name, err)
			return nil, errors.Join(err, p.Stop(context.WithoutCancel(ctx)))
		}
		p.started = append(p.started, x)
	}
	return p, nil
}

// Stop stops the parts in the reverse order of their start: the edge, so that
// nothing new comes in, then the work, then what both rest on.
func (p *Process) Stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	var errs []error
	for i := len(p.started) - 1; i >= 0; i-- {
		if err := p.started[i].stop(ctx); err != nil {
			errs = append(errs, fmt.Errorf("stop %s: %w", p.started[i].name, err))
		}
	}
	p.started = nil
	p.sys.close()
	return errors.Join(errs...)
}

// Failed tells of a part that has ended by itself.
func (p *Process) Failed() <-chan error { return p.failed }

// URL is where the process answers; empty without the role.
func (p *Process) URL() string {
	if p.ln == nil {
		return ""
	}
	_, port, err := net.SplitHostPort(p.ln.Addr().String())
	if err != nil {
		return ""
	}
	return "http://localhost:" + port
}

func (p *Process) hubPart() part {
	return part{"hub", p.sys.hub.Start, p.sys.hub.Stop}
}

func (p *Process) workerPart() part {
	s, cfg := p.sys, p.opt.Config
	w := worker.New(worker.Config{
		Redis: asynq.RedisClientOpt{
			Network: s.redis.Network, Addr: s.redis.Addr, Username: s.redis.Username, Password: s.redis.Password,
			DB: s.redis.DB, TLSConfig: s.redis.TLSConfig,
		},
		Urgent: cfg.WorkerUrgent, Work: cfg.WorkerWork, Followers: cfg.WorkerFollowers,
		ReconcileEvery: time.Duration(cfg.ReconcileSeconds) * time.Second,
	}, worker.Deps{
		Pool: s.db.Pool(), Writer: s.writer, Engine: operation.NewEngine(s.writer, s.registry, p.opt.Log, p.opt.Hooks.Probe),
		Logs: s.logs, Reconciler: s.vms, Journals: s.vms, Log: p.opt.Log,
	})
	return part{"worker", w.Start, w.Stop}
}

// edgePart listens and serves. WebSockets are shut down first: the HTTP server
// does not see them.
func (p *Process) edgePart(registry *graphqlws.Registry) part {
	var srv *http.Server
	return part{
		name: "edge",
		start: func(ctx context.Context) error {
			handler, err := p.edge(registry)
			if err != nil {
				return err
			}
			addr := net.JoinHostPort(p.opt.Config.Listen, strconv.Itoa(p.opt.Config.Port))
			if p.ln, err = (&net.ListenConfig{}).Listen(ctx, "tcp", addr); err != nil {
				return fmt.Errorf("listen on %s: %w (set PORT to another one; 0 takes a free one)", addr, err)
			}
			srv = transport.NewServer(handler, p.opt.Log)
			go func() {
				if err := srv.Serve(p.ln); !errors.Is(err, http.ErrServerClosed) {
					p.failed <- fmt.Errorf("serve: %w", err)
				}
			}()
			return nil
		},
		stop: func(ctx context.Context) error {
			return errors.Join(registry.Shutdown(ctx), srv.Shutdown(ctx))
		},
	}
}
