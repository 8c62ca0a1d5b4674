package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"biztraak.dev/vm/internal/auth"
	"biztraak.dev/vm/internal/catalog"
	"biztraak.dev/vm/internal/catalog/builtin"
	"biztraak.dev/vm/internal/config"
	"biztraak.dev/vm/internal/guest"
	"biztraak.dev/vm/internal/hub"
	"biztraak.dev/vm/internal/operation"
	"biztraak.dev/vm/internal/project"
	"biztraak.dev/vm/internal/provider"
	"biztraak.dev/vm/internal/provider/simulator"
	"biztraak.dev/vm/internal/seal"
	"biztraak.dev/vm/internal/store"
	"biztraak.dev/vm/internal/syslog"
	"biztraak.dev/vm/internal/team"
	"biztraak.dev/vm/internal/vm"
)

// hubChannel is the Redis channel by which processes of one installation wake
// each other.
const hubChannel = "biztraak-vm:wake"

// Hooks are what tests of the whole system watch and disturb. All are nil
// outside tests.
type Hooks struct {
	// Probe is called at certain points of each step.
	Probe operation.Probe
	// Driver sees each call of the simulated cloud.
	Driver simulator.Recorder
	// Store sizes the pool and may trace statements.
	Store store.Options
}

// system is the services of one process, without what serves or works.
type system struct {
	cfg      *config.Config
	log      *slog.Logger
	db       *store.DB
	machines *store.Machines
	redis    *redis.Options
	hub      *hub.Hub
	writer   *operation.Writer
	ops      *operation.Service
	registry operation.Registry
	tokens   *auth.Tokens
	teams    *team.Service
	projects *project.Service
	catalog  *catalog.Service
	vms      *vm.Service
	logs     *syslog.Store
	drivers  *provider.Registry
	// migrated remembers that the database was found to be new enough.
	migrated atomic.Bool
}

// build makes the services. The database must have been migrated.
func build(ctx context.Context, cfg *config.Config, log *slog.Logger, hooks Hooks) (_ *system, err error) {
	s := &system{cfg: cfg, log: log}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	sealer, err := seal.LoadKeyset(cfg.KeysetFile)
	if err != nil {
		return nil, err
	}
	if s.redis, err = redis.ParseURL(cfg.RedisURL); err != nil {
		return nil, errors.New("REDIS_URL is not a Redis URL such as redis://host:6379")
	}
	if hooks.Store.MaxConns == 0 {
		hooks.Store.MaxConns = cfg.DatabaseConns
	}
	if s.db, err = store.Open(ctx, cfg.DatabaseURL, hooks.Store); err != nil {
		return nil, err
	}
	if err = s.checkConnections(ctx); err != nil {
		return nil, err
	}
	if s.machines, err = store.OpenMachines(ctx, cfg.DatabaseURL); err != nil {
		return nil, err
	}
	sim := simulator.New(s.machines, simulator.Options{
		BootTime: time.Duration(cfg.SimulatorBootMillis) * time.Millisecond, Recorder: hooks.Driver,
	})
	if s.drivers, err = provider.NewRegistry(sim); err != nil {
		return nil, err
	}
	return s, s.services(ctx, sealer, map[provider.Kind]guest.Guest{sim.Kind(): sim})
}

// services makes the domains from left to right.
func (s *system) services(ctx context.Context, sealer *seal.Sealer, guests map[provider.Kind]guest.Guest) error {
	say, lines := &announcer{}, &platformLog{}
	s.writer = operation.NewWriter(s.db, say, lines)
	s.tokens = auth.NewTokens(s.db)
	s.teams = team.NewService(team.Deps{DB: s.db, Writer: s.writer, Sealer: sealer, Drivers: s.drivers})
	s.projects = project.NewService(project.Deps{DB: s.db, Writer: s.writer})
	s.catalog = catalog.NewService(catalog.Deps{DB: s.db})
	s.vms = vm.NewService(vm.Deps{
		DB: s.db, Writer: s.writer, Catalog: s.catalog, Accounts: s.teams, Drivers: s.drivers, Guests: guests,
		Journals: lines, Log: s.log, DeployEnabled: s.cfg.DeployVMEnabled,
	})
	var err error
	if s.registry, err = operation.NewRegistry(s.vms.Handlers()...); err != nil {
		return err
	}
	s.ops = operation.NewService(s.db, s.writer, s.registry)
	s.vms.Use(s.ops, s.registry)
	s.hub, err = hub.New(hub.Config{
		Redis: s.redis, Channel: hubChannel, Log: s.log,
		Heads: hub.Sources{
			hub.KindProject: s.ops.ProjectHeads, hub.KindAccess: s.ops.AccessHeads, hub.KindToken: s.ops.TokenHeads,
			hub.KindLog: func(ctx context.Context, ids []string) (map[string]int64, error) { return s.logs.Heads(ctx, ids) },
		},
	})
	if err != nil {
		return err
	}
	s.logs = syslog.New(s.db.Pool(), s.hub)
	say.hub, lines.logs = s.hub, s.logs
	items, err := builtin.Load()
	if err != nil {
		return fmt.Errorf("load built-in catalog: %w", err)
	}
	return s.catalog.Load(ctx, items)
}

// checkConnections refuses pools that the database cannot bear: what is left for
// other processes and for an operator's psql must not run out.
func (s *system) checkConnections(ctx context.Context) error {
	const reserve = 10
	var most int
	if err := s.db.Pool().QueryRow(ctx, `SELECT current_setting('max_connections')::int`).Scan(&most); err != nil {
		return fmt.Errorf("read max_connections: %w", err)
	}
	if s.cfg.DatabaseConns > most-reserve {
		return fmt.Errorf("DATABASE_CONNS is %d, but PostgreSQL allows %d connections and %d are kept free: lower the one or raise max_connections",
			s.cfg.DatabaseConns, most, reserve)
	}
	return nil
}

// close ends the connections.
func (s *system) close() {
	if s.machines != nil {
		s.machines.Close()
	}
	if s.db != nil {
		s.db.Close()
	}
}
