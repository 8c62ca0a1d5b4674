package project_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/auth"
	"biztraak.dev/vm/internal/devstack/pgtest"
	"biztraak.dev/vm/internal/fault"
	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/operation"
	"biztraak.dev/vm/internal/project"
	"biztraak.dev/vm/internal/store"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// silent tells nobody: the events are looked up in the database.
type silent struct{}

func (silent) Announce(context.Context, []operation.Announcement) {}

// counter counts statements.
type counter struct{ n atomic.Int64 }

func (c *counter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	c.n.Add(1)
	return ctx
}

func (c *counter) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// fixture is a database with one team and a member of each role.
type fixture struct {
	*project.Service
	t      *testing.T
	db     *store.DB
	made   *counter // the statements made
	teamID ident.ID
	people map[string]auth.Actor
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	made := &counter{}
	db, err := store.Open(t.Context(), pgtest.DSN(t), store.Options{Tracer: made})
	require.NoError(t, err)
	t.Cleanup(db.Close)
	f := &fixture{t: t, db: db, made: made, people: map[string]auth.Actor{}}
	f.Service = project.NewService(project.Deps{DB: db, Writer: operation.NewWriter(db, silent{}, nil)})
	f.teamID = f.team()
	for _, role := range []auth.Role{auth.Viewer, auth.Member, auth.Admin} {
		f.join(f.teamID, strings.ToLower(string(role)), role, auth.Owner)
	}
	f.join(f.teamID, "low", auth.Owner, auth.Viewer)
	f.join(f.team(), "outsider", auth.Owner, auth.Owner)
	return f
}

func (f *fixture) team() ident.ID {
	f.t.Helper()
	id := ident.New(ident.Team)
	f.exec("INSERT INTO team (id, name, created_at) VALUES (?, 'Acme', app_now())", id)
	return id
}

func (f *fixture) join(team ident.ID, name string, role, ceiling auth.Role) {
	f.t.Helper()
	who, known := f.people[name]
	if !known {
		who = auth.Actor{UserID: ident.New(ident.User), Ceiling: ceiling}
		f.people[name] = who
		f.exec("INSERT INTO app_user (id, email, name, created_at) VALUES (?, ?, ?, app_now())", who.UserID, name+"@example.com", name)
	}
	f.exec("INSERT INTO team_member (team_id, user_id, role, joined_at) VALUES (?, ?, ?, app_now())", team, who.UserID, role)
}

func (f *fixture) as(name string) context.Context {
	return auth.WithActor(f.t.Context(), f.people[name])
}

func (f *fixture) exec(sql string, args ...any) {
	f.t.Helper()
	require.NoError(f.t, f.db.Gorm(f.t.Context()).Exec(sql, args...).Error)
}

func (f *fixture) count(sql string, args ...any) int {
	f.t.Helper()
	var n int
	require.NoError(f.t, f.db.Gorm(f.t.Context()).Raw(sql, args...).Scan(&n).Error)
	return n
}

func (f *fixture) make(name string) *project.Project {
	f.t.Helper()
	out, err := f.Create(f.as("member"), project.CreateInput{TeamID: f.teamID, Name: name})
	require.NoError(f.t, err)
	return out.Project
}

func (f *fixture) component(p *project.Project, name string) ident.ID {
	f.t.Helper()
	id := ident.New(ident.VM)
	f.exec(`INSERT INTO component (id, team_id, project_id, kind, name, slug, created_at)
		VALUES (?, ?, ?, 'VIRTUAL_MACHINE', ?, ?, app_now())`, id, p.TeamID, p.ID, name, name)
	return id
}

// events are the kinds of a project's events, in order.
func (f *fixture) events(p ident.ID) []string {
	f.t.Helper()
	var kinds []string
	require.NoError(f.t, f.db.Gorm(f.t.Context()).Raw(
		"SELECT kind || ' ' || subject_id FROM event WHERE project_id = ? ORDER BY seq", p).Scan(&kinds).Error)
	for i := range kinds {
		kinds[i] = strings.TrimSuffix(kinds[i], " "+string(p))
	}
	return kinds
}

// refused checks that err is exactly these refusals, each "CODE path.to.field".
func refused(t *testing.T, err error, want ...string) fault.Refusals {
	t.Helper()
	if len(want) == 0 {
		require.NoError(t, err)
		return nil
	}
	r, ok := fault.AsRefusals(err)
	require.True(t, ok, "no refusals: %v", err)
	var got []string
	for _, x := range r {
		got = append(got, string(x.Code)+" "+strings.Join(x.Path[1:], "."))
	}
	require.ElementsMatch(t, want, got)
	return r
}

func ptr[T any](v T) *T { return &v }
