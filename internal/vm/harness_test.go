package vm_test

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/auth"
	"biztraak.dev/vm/internal/catalog"
	"biztraak.dev/vm/internal/catalog/builtin"
	"biztraak.dev/vm/internal/devstack/pgtest"
	"biztraak.dev/vm/internal/fault"
	"biztraak.dev/vm/internal/guest"
	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/operation"
	"biztraak.dev/vm/internal/provider"
	"biztraak.dev/vm/internal/provider/simulator"
	"biztraak.dev/vm/internal/store"
	"biztraak.dev/vm/internal/vm"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// The simulated cloud's pace, on the clock that the tests move.
const (
	bootTime = time.Second
	stopTime = 400 * time.Millisecond
)

// world is an installation with one team and one project, a simulated cloud, and
// a clock that moves when the test says so: the database's and the cloud's.
type world struct {
	*vm.Service
	t        *testing.T
	db       *store.DB
	writer   *operation.Writer
	ops      *operation.Service
	registry operation.Registry
	engine   *operation.Engine
	sim      *simulator.Simulator
	accounts *accounts
	journals *journals
	catalog  *catalog.Service
	said     *said
	probe    operation.Probe
	called   func(c simulator.Call) // sees each call of the cloud

	ahead    atomic.Int64 // of the real time, in nanoseconds
	session  string
	team     ident.ID
	project  ident.ID
	account  ident.ID
	template ident.ID
	who      auth.Actor
}

// said wakes whoever waits for something to happen.
type said struct{ wake chan struct{} }

func (s *said) Announce(context.Context, []operation.Announcement) {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// accounts knows the cloud accounts, whose settings tests change to make faults.
type accounts struct {
	mu       sync.Mutex
	settings map[ident.ID]map[string]string
}

func (a *accounts) DriverAccount(_ context.Context, id ident.ID) (provider.Kind, provider.Account, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return provider.KindSimulator, provider.Account{ID: string(id), Settings: a.settings[id]}, nil
}

// fail gives the account a fault from now on; none takes it away.
func (a *accounts) fail(id ident.ID, faults ...simulator.Fault) {
	words := make([]string, len(faults))
	for i, f := range faults {
		words[i] = string(f)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.settings[id] = map[string]string{simulator.SettingFault: strings.Join(words, ",")}
}

// journals knows which journals are wanted, and swallows the platform's lines.
type journals struct {
	mu     sync.Mutex
	wanted map[ident.ID]bool
	lines  map[ident.ID][]string
}

func (j *journals) WantTx(_ context.Context, _ operation.SQLTx, id ident.ID, wanted bool) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.wanted[id] = wanted
	return nil
}

func (j *journals) AppendPlatform(_ context.Context, _ operation.SQLTx, id ident.ID, _ time.Time, lines []string) (int64, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines[id] = append(j.lines[id], lines...)
	return int64(len(j.lines[id])), nil
}

func newWorld(t *testing.T) *world { return newWorldWith(t, true) }

func newWorldWith(t *testing.T, deployEnabled bool) *world {
	t.Helper()
	dsn := pgtest.DSN(t)
	db, err := store.Open(t.Context(), dsn, store.Options{MaxConns: 20})
	require.NoError(t, err)
	t.Cleanup(db.Close)
	machines, err := store.OpenMachines(t.Context(), dsn)
	require.NoError(t, err)
	t.Cleanup(machines.Close)
	w := &world{
		t: t, db: db, session: "worker", said: &said{wake: make(chan struct{}, 1)},
		accounts: &accounts{settings: map[ident.ID]map[string]string{}},
		journals: &journals{wanted: map[ident.ID]bool{}, lines: map[ident.ID][]string{}},
		team:     ident.New(ident.Team), project: ident.New(ident.Project), account: ident.New(ident.Account),
	}
	w.sim = simulator.New(machines, simulator.Options{
		BootTime: bootTime, StopTime: stopTime, DestroyTime: stopTime, Now: w.now, Recorder: w,
	})
	drivers, err := provider.NewRegistry(w.sim)
	require.NoError(t, err)
	w.writer = operation.NewWriter(db, w.said, w.journals)
	w.catalog = catalog.NewService(catalog.Deps{DB: db})
	items, err := builtin.Load()
	require.NoError(t, err)
	require.NoError(t, w.catalog.Load(t.Context(), items))
	log := slog.New(slog.DiscardHandler)
	w.Service = vm.NewService(vm.Deps{
		DB: db, Writer: w.writer, Catalog: w.catalog, Accounts: w.accounts, Drivers: drivers,
		Guests:   map[provider.Kind]guest.Guest{provider.KindSimulator: w.sim},
		Journals: w.journals, Log: log, DeployEnabled: deployEnabled,
	})
	w.registry, err = operation.NewRegistry(w.Handlers()...)
	require.NoError(t, err)
	w.ops = operation.NewService(db, w.writer, w.registry)
	w.Use(w.ops, w.registry)
	w.engine = operation.NewEngine(w.writer, w.registry, log, func(ctx context.Context, k operation.Kind, step string, at operation.Point) {
		if w.probe != nil {
			w.probe(ctx, k, step, at)
		}
	})
	w.people()
	return w
}

// Record implements simulator.Recorder.
func (w *world) Record(_ context.Context, c simulator.Call) {
	if w.called != nil {
		w.called(c)
	}
}

func (w *world) people() {
	w.exec("INSERT INTO team (id, name, created_at) VALUES (?, 'Acme', app_now())", w.team)
	w.who = w.user("ann", auth.Owner)
	w.exec("INSERT INTO project (id, team_id, name, slug, created_at) VALUES (?, ?, 'web', 'web', app_now())", w.project, w.team)
	w.exec(`INSERT INTO cloud_account (id, team_id, name, kind, settings, sealed, created_at)
		VALUES (?, ?, 'cloud', 'SIMULATOR', '{}', '', app_now())`, w.account, w.team)
	require.NoError(w.t, w.writer.OpenSession(w.t.Context(), w.session))
	templates, err := w.catalog.Templates(w.as(w.who))
	require.NoError(w.t, err)
	at := slices.IndexFunc(templates, func(c *catalog.Template) bool { return c.Slug == "plain-debian" })
	require.GreaterOrEqual(w.t, at, 0)
	w.template = templates[at].ID
}

func (w *world) user(name string, role auth.Role) auth.Actor {
	w.t.Helper()
	who := auth.Actor{UserID: ident.New(ident.User), Ceiling: auth.Owner}
	w.exec("INSERT INTO app_user (id, email, name, created_at) VALUES (?, ?, ?, app_now())", who.UserID, name+"@example.com", name)
	if role != "" {
		w.exec("INSERT INTO team_member (team_id, user_id, role, joined_at) VALUES (?, ?, ?, app_now())", w.team, who.UserID, role)
	}
	return who
}

func (w *world) as(who auth.Actor) context.Context { return auth.WithActor(w.t.Context(), who) }

func (w *world) ann() context.Context { return w.as(w.who) }

func (w *world) exec(sql string, args ...any) {
	w.t.Helper()
	require.NoError(w.t, w.db.Gorm(w.t.Context()).Exec(sql, args...).Error)
}

func query[T any](w *world, sql string, args ...any) T {
	w.t.Helper()
	var out T
	require.NoError(w.t, w.db.Gorm(w.t.Context()).Raw(sql, args...).Scan(&out).Error)
	return out
}

func (w *world) now() time.Time { return time.Now().Add(time.Duration(w.ahead.Load())) }

// later moves both clocks, and keeps the worker's session alive.
func (w *world) later(d time.Duration) {
	w.t.Helper()
	require.NoError(w.t, w.pass(w.t.Context(), d))
}

// deliver carries out what is due now, one after the other.
func (w *world) deliver() int {
	w.t.Helper()
	require.NoError(w.t, w.writer.BeatSession(w.t.Context(), w.session))
	due, err := w.writer.TakeDue(w.t.Context(), 100)
	require.NoError(w.t, err)
	for _, d := range due {
		w.engine.Run(w.t.Context(), w.session, d.ID, d.Attempt)
	}
	return len(due)
}

// turn delivers what is due or, when nothing is, lets time pass until something
// may be.
func (w *world) turn() {
	w.t.Helper()
	if w.deliver() == 0 {
		wait, err := w.writer.NextDue(w.t.Context(), time.Second)
		require.NoError(w.t, err)
		w.later(wait)
	}
}

// until takes turns until the condition holds.
func (w *world) until(what string, done func() bool) {
	w.t.Helper()
	for range 400 {
		if done() {
			return
		}
		w.turn()
	}
	require.Fail(w.t, "it does not come to that", "%s; live: %v", what, query[[]string](w,
		"SELECT kind || ' ' || status || ' step ' || step || ' ' || phase || ' tries ' || tries FROM operation WHERE finished_at IS NULL"))
}

// finish takes turns until the operation has ended.
func (w *world) finish(id ident.ID) *operation.Operation {
	w.t.Helper()
	w.until("the end of the operation", func() bool { return w.op(id).Status.Ended() })
	return w.op(id)
}

func (w *world) op(id ident.ID) *operation.Operation {
	w.t.Helper()
	o, err := w.ops.Get(w.ann(), id)
	require.NoError(w.t, err)
	require.NotNil(w.t, o)
	return o
}

func (w *world) provider(id ident.ID) *vm.Provider {
	w.t.Helper()
	p, err := w.Provider(w.ann(), id)
	require.NoError(w.t, err)
	require.NotNil(w.t, p)
	return p
}

// refused checks that err is exactly these refusals, each "CODE path.to.field".
func refused(t *testing.T, err error, want ...string) {
	t.Helper()
	r, ok := fault.AsRefusals(err)
	require.True(t, ok, "no refusals: %v", err)
	var got []string
	for _, x := range r {
		require.NotEmpty(t, x.Message)
		got = append(got, string(x.Code)+" "+strings.Join(x.Path[1:], "."))
	}
	require.ElementsMatch(t, want, got)
}

func ptr[T any](v T) *T { return &v }
