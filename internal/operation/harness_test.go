package operation_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/auth"
	"biztraak.dev/vm/internal/devstack/pgtest"
	"biztraak.dev/vm/internal/fault"
	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/operation"
	"biztraak.dev/vm/internal/store"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// patience is how long a test waits for what must happen.
const patience = 20 * time.Second

// said collects announcements, and wakes one follower.
type said struct {
	mu   sync.Mutex
	all  []operation.Announcement
	wake chan struct{}
}

func (s *said) Announce(_ context.Context, what []operation.Announcement) {
	s.mu.Lock()
	s.all = append(s.all, what...)
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// world is a database with one team, one project and one member.
type world struct {
	t        *testing.T
	db       *store.DB
	writer   *operation.Writer
	registry operation.Registry
	ops      *operation.Service
	engine   *operation.Engine
	said     *said
	session  string
	team     ident.ID
	project  ident.ID
	target   ident.ID
	who      auth.Actor
	note     func(string) // set by tests whose steps write into a diary
}

func newWorld(t *testing.T, handlers ...operation.Handler) *world {
	t.Helper()
	db, err := store.Open(t.Context(), pgtest.DSN(t), store.Options{MaxConns: 16})
	require.NoError(t, err)
	t.Cleanup(db.Close)
	w := &world{
		t: t, db: db, said: &said{wake: make(chan struct{}, 1)}, session: "worker",
		team: ident.New(ident.Team), project: ident.New(ident.Project), target: ident.New(ident.Provider),
	}
	w.writer = operation.NewWriter(db, w.said, nil)
	w.registry, err = operation.NewRegistry(handlers...)
	require.NoError(t, err)
	w.ops = operation.NewService(db, w.writer, w.registry)
	w.engine = w.newEngine(nil)
	w.exec("INSERT INTO team (id, name, created_at) VALUES (?, 'Acme', app_now())", w.team)
	w.who = w.user("ann", auth.Owner)
	w.exec("INSERT INTO project (id, team_id, name, slug, created_at) VALUES (?, ?, 'web', 'web', app_now())", w.project, w.team)
	require.NoError(t, w.writer.OpenSession(t.Context(), w.session))
	return w
}

func (w *world) newEngine(probe operation.Probe) *operation.Engine {
	return operation.NewEngine(w.writer, w.registry, slog.New(slog.DiscardHandler), probe)
}

// user makes a user, and a member of the team when there is a role.
func (w *world) user(name string, role auth.Role) auth.Actor {
	w.t.Helper()
	who := auth.Actor{UserID: ident.New(ident.User), Ceiling: auth.Owner}
	w.exec("INSERT INTO app_user (id, email, name, created_at) VALUES (?, ?, ?, app_now())", who.UserID, name+"@example.com", name)
	if role != "" {
		w.exec("INSERT INTO team_member (team_id, user_id, role, joined_at) VALUES (?, ?, ?, app_now())", w.team, who.UserID, role)
	}
	return who
}

// as is a context of the actor.
func (w *world) as(who auth.Actor) context.Context { return auth.WithActor(w.t.Context(), who) }

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

// later moves the database's clock, and keeps alive the sessions that live.
func (w *world) later(d time.Duration) {
	w.t.Helper()
	w.exec(`WITH alive AS (UPDATE worker_session SET expires_at = expires_at + make_interval(secs => ?) WHERE expires_at > app_now())
		UPDATE clock_offset SET value = value + make_interval(secs => ?)`, d.Seconds(), d.Seconds())
}

// enqueue accepts one operation on the target that locks it.
func (w *world) enqueue(kind operation.Kind, change ...func(n *operation.New)) ident.ID {
	w.t.Helper()
	n := operation.New{
		Kind: kind, TeamID: w.team, ProjectID: w.project, TargetID: w.target, Ancestors: []ident.ID{w.project}, ActorID: w.who.UserID,
		Steps: w.registry[kind].StepNames(), Locks: []operation.Lock{{Resource: w.target, Mode: operation.Exclusive}}, Queue: true,
	}
	for _, f := range change {
		f(&n)
	}
	var id ident.ID
	require.NoError(w.t, w.writer.Write(w.t.Context(), func(tx *operation.Tx) (err error) {
		id, err = tx.Enqueue(n)
		return err
	}))
	return id
}

// deliver runs all that is due now and answers how many deliveries there were.
func (w *world) deliver() int {
	w.t.Helper()
	due, err := w.writer.TakeDue(w.t.Context(), 100)
	require.NoError(w.t, err)
	for _, d := range due {
		w.engine.Run(w.t.Context(), w.session, d.ID, d.Attempt)
	}
	return len(due)
}

// finish delivers what is due, and lets time pass when nothing is, until the
// operation has ended.
func (w *world) finish(id ident.ID) *operation.Operation {
	w.t.Helper()
	for range 500 {
		if o := w.get(id); o.Status.Ended() {
			return o
		}
		if w.deliver() == 0 {
			wait, err := w.writer.NextDue(w.t.Context(), time.Hour)
			require.NoError(w.t, err)
			w.later(wait)
		}
	}
	require.Fail(w.t, "the operation does not end", "%+v", w.get(id))
	return nil
}

func (w *world) get(id ident.ID) *operation.Operation {
	w.t.Helper()
	o, err := w.ops.Get(w.as(w.who), id)
	require.NoError(w.t, err)
	require.NotNil(w.t, o)
	return o
}

// told lists the events of an operation in words.
func (w *world) told(id ident.ID) []string {
	w.t.Helper()
	events, err := w.ops.EventsAfter(w.t.Context(), w.project, 0, 10000)
	require.NoError(w.t, err)
	var out []string
	for _, e := range events {
		if e.OperationID != id {
			continue
		}
		text := string(e.Kind)
		if e.Step != "" {
			text += " " + e.Step
		}
		out = append(out, text+" "+e.Status)
	}
	return out
}

// steps lists the steps of an operation in words.
func (w *world) steps(id ident.ID) []string {
	w.t.Helper()
	found, err := w.ops.StepsOf(w.t.Context(), []ident.ID{id})
	require.NoError(w.t, err)
	var out []string
	for _, s := range found[0] {
		out = append(out, fmt.Sprintf("%s %s", s.Name, s.Status))
	}
	return out
}

// refused checks that err is exactly one refusal with the code.
func refused(t *testing.T, err error, code fault.Code) {
	t.Helper()
	r, ok := fault.AsRefusals(err)
	require.True(t, ok, "no refusal: %v", err)
	require.Len(t, r, 1)
	require.Equal(t, code, r[0].Code)
	require.NotEmpty(t, r[0].Message)
}

func ptr[T any](v T) *T { return &v }

// diary records what a scripted handler was asked to do.
type diary struct {
	mu    sync.Mutex
	lines []string
}

func (d *diary) note(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}

func (d *diary) read() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]string(nil), d.lines...)
}

// script makes a handler of the steps, which notes its beginning and its end.
func script(kind operation.Kind, d *diary, steps, cleanUp []operation.StepDef) operation.Handler {
	return operation.Handler{
		Kind: kind, Steps: steps, CleanUp: cleanUp,
		Lock: func(tx *operation.Tx, target ident.ID) error {
			return tx.Exec("SELECT pg_advisory_xact_lock(hashtext(?))", target).Error
		},
		Begin: func(_ *operation.Tx, w *operation.Work) error {
			d.note("begin")
			return nil
		},
		End: func(_ *operation.Tx, _ *operation.Work, status operation.Status, failure *operation.Error) error {
			if failure != nil {
				d.note("end %s %s", status, failure.Code)
				return nil
			}
			d.note("end %s", status)
			return nil
		},
		Retry: func(*operation.Tx, ident.ID) ([]operation.Lock, error) { return nil, nil },
	}
}

// step is a cancelable step that does what it is told, with a long limit.
func step(name string, do func(ctx context.Context, w *operation.Work) (operation.Result, error)) operation.StepDef {
	return operation.StepDef{Name: name, Cancelable: true, Limit: time.Hour, Do: do}
}

// quick is a step that is done at once.
func quick(d *diary, name string) operation.StepDef {
	return step(name, func(context.Context, *operation.Work) (operation.Result, error) {
		d.note("%s", name)
		return operation.Result{}, nil
	})
}
