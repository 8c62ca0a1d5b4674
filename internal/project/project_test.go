package project_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/auth"
	"biztraak.dev/vm/internal/devstack/pgtest"
	"biztraak.dev/vm/internal/fault"
	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/operation"
	"biztraak.dev/vm/internal/page"
	"biztraak.dev/vm/internal/project"
	"biztraak.dev/vm/internal/store"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// silent tells nobody: the events are looked up in the database.
type silent struct{}

func (silent) Announce(context.Context, []operation.Announcement) {}

// fixture is a database with one team and a member of each role.
type fixture struct {
	*project.Service
	t      *testing.T
	db     *store.DB
	teamID ident.ID
	people map[string]auth.Actor
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	db, err := store.Open(t.Context(), pgtest.DSN(t), store.Options{})
	require.NoError(t, err)
	t.Cleanup(db.Close)
	f := &fixture{t: t, db: db, people: map[string]auth.Actor{}}
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

func TestCreate(t *testing.T) {
	f := newFixture(t)
	for _, c := range []struct {
		name, who string
		in        project.CreateInput
		want      []string
	}{
		{"good", "member", project.CreateInput{Name: "Übung Eins"}, nil},
		{"name taken", "member", project.CreateInput{Name: "ÜBUNG eins"}, []string{"NAME_TAKEN name"}},
		{"a viewer", "viewer", project.CreateInput{Name: "x"}, []string{"FORBIDDEN teamId"}},
		{"the ceiling counts", "low", project.CreateInput{Name: "x"}, []string{"FORBIDDEN teamId"}},
		{"an outsider", "outsider", project.CreateInput{Name: "Übung Eins"}, []string{"NOT_FOUND teamId"}},
		{"all at once", "viewer", project.CreateInput{Name: "", IdempotencyKey: ptr("")},
			[]string{"NAME_INVALID name", "INPUT_INVALID idempotencyKey", "FORBIDDEN teamId"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.in.TeamID = f.teamID
			out, err := f.Create(f.as(c.who), c.in)
			refused(t, err, c.want...)
			if c.want != nil {
				return
			}
			p := out.Project
			require.Equal(t, project.Project{
				ID: p.ID, TeamID: f.teamID, Name: c.in.Name, Slug: "bung-eins", Version: 1, CreatedAt: p.CreatedAt, Role: auth.Member,
			}, *p)
			require.Equal(t, []string{"PROJECT_CREATED"}, f.events(p.ID))
		})
	}
	require.Equal(t, 1, f.count("SELECT count(*) FROM project"))
	_, err := f.Create(t.Context(), project.CreateInput{TeamID: f.teamID, Name: "x"})
	var needsActor *fault.Fault
	require.ErrorAs(t, err, &needsActor)
	require.Equal(t, fault.Unauthenticated, needsActor.Code)
}

// Two projects of one name at the same time: one is made, the other is told.
func TestCreateNameRace(t *testing.T) {
	f := newFixture(t)
	for round := range 50 {
		errs := make([]error, 2)
		var group sync.WaitGroup
		for i, name := range []string{"Shop", "shop"} {
			group.Go(func() {
				_, errs[i] = f.Create(f.as("member"), project.CreateInput{TeamID: f.teamID, Name: fmt.Sprint(name, round)})
			})
		}
		group.Wait()
		require.True(t, (errs[0] == nil) != (errs[1] == nil), "%v", errs)
		refused(t, errors.Join(errs...), "NAME_TAKEN name")
	}
	require.Equal(t, 50, f.count("SELECT count(*) FROM project"))
}

func TestCreateReplay(t *testing.T) {
	f := newFixture(t)
	in := project.CreateInput{TeamID: f.teamID, Name: "Shop", IdempotencyKey: ptr("k")}
	const twins = 8
	results := make([]*project.Created, twins)
	var group sync.WaitGroup
	for i := range twins {
		group.Go(func() {
			if out, err := f.Create(f.as("member"), in); err == nil {
				results[i] = out
			}
		})
	}
	group.Wait()
	fresh := 0
	for _, r := range results {
		require.NotNil(t, r)
		require.Equal(t, results[0].Project.ID, r.Project.ID)
		if !r.Replayed {
			fresh++
		}
	}
	require.Equal(t, 1, fresh)
	require.Equal(t, 1, f.count("SELECT count(*) FROM project"))
	require.Equal(t, []string{"PROJECT_CREATED"}, f.events(results[0].Project.ID))

	other := in
	other.Name = "Other"
	_, err := f.Create(f.as("member"), other)
	refused(t, err, "IDEMPOTENCY_KEY_REUSED idempotencyKey")
	// The answer is the project as it is now.
	_, err = f.Update(f.as("member"), project.UpdateInput{ProjectID: results[0].Project.ID, Name: "Renamed"})
	require.NoError(t, err)
	again, err := f.Create(f.as("member"), in)
	require.NoError(t, err)
	require.True(t, again.Replayed)
	require.Equal(t, "Renamed", again.Project.Name)
	// A refusal is not remembered.
	taken := project.CreateInput{TeamID: f.teamID, Name: "Renamed", IdempotencyKey: ptr("k2")}
	_, err = f.Create(f.as("member"), taken)
	refused(t, err, "NAME_TAKEN name")
	_, err = f.Update(f.as("member"), project.UpdateInput{ProjectID: results[0].Project.ID, Name: "Shop"})
	require.NoError(t, err)
	late, err := f.Create(f.as("member"), taken)
	require.NoError(t, err)
	require.False(t, late.Replayed)
}

func TestUpdate(t *testing.T) {
	f := newFixture(t)
	shop := f.make("Shop")
	f.make("Blog")
	for _, c := range []struct {
		name, who string
		in        project.UpdateInput
		want      []string
	}{
		{"stale", "member", project.UpdateInput{Name: "Store", ExpectedVersion: ptr(7)}, []string{"STALE_VERSION expectedVersion"}},
		{"taken", "member", project.UpdateInput{Name: "BLOG"}, []string{"NAME_TAKEN name"}},
		{"stale and taken", "member", project.UpdateInput{Name: "BLOG", ExpectedVersion: ptr(7)},
			[]string{"STALE_VERSION expectedVersion", "NAME_TAKEN name"}},
		{"a viewer", "viewer", project.UpdateInput{Name: "Store"}, []string{"FORBIDDEN projectId"}},
		{"an outsider", "outsider", project.UpdateInput{Name: "Store"}, []string{"NOT_FOUND projectId"}},
		{"an outsider's bad name", "outsider", project.UpdateInput{Name: " "}, []string{"NAME_INVALID name", "NOT_FOUND projectId"}},
		{"its own name", "member", project.UpdateInput{Name: "Shop", ExpectedVersion: ptr(1)}, nil},
		{"its own name in capitals", "member", project.UpdateInput{Name: "SHOP", ExpectedVersion: ptr(1)}, nil},
		{"whatever is there", "member", project.UpdateInput{Name: "Store"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.in.ProjectID = shop.ID
			p, err := f.Update(f.as(c.who), c.in)
			r := refused(t, err, c.want...)
			if c.want == nil {
				require.Equal(t, c.in.Name, p.Name)
			} else if r[0].Code == fault.StaleVersion {
				require.Equal(t, fault.StaleAt{Current: 1}, r[0].Detail)
			}
		})
	}
	got, err := f.Get(f.as("viewer"), shop.ID)
	require.NoError(t, err)
	require.Equal(t, 3, got.Version)
	require.Equal(t, "store", got.Slug)
	require.Equal(t, []string{"PROJECT_CREATED", "PROJECT_UPDATED", "PROJECT_UPDATED"}, f.events(shop.ID))
}

// Two projects that take one name at the same time, and two writers of one
// version: one of each wins.
func TestUpdateRaces(t *testing.T) {
	f := newFixture(t)
	a, b := f.make("a"), f.make("b")
	for round := range 50 {
		name := fmt.Sprint("n", round)
		errs := make([]error, 2)
		var group sync.WaitGroup
		for i, p := range []*project.Project{a, b} {
			group.Go(func() { _, errs[i] = f.Update(f.as("member"), project.UpdateInput{ProjectID: p.ID, Name: name}) })
		}
		group.Wait()
		require.True(t, (errs[0] == nil) != (errs[1] == nil), "%v", errs)
		refused(t, errors.Join(errs...), "NAME_TAKEN name")

		now, err := f.Get(f.as("member"), a.ID)
		require.NoError(t, err)
		for i := range errs {
			group.Go(func() {
				_, errs[i] = f.Update(f.as("member"), project.UpdateInput{
					ProjectID: a.ID, Name: fmt.Sprint("v", round, "-", i), ExpectedVersion: &now.Version,
				})
			})
		}
		group.Wait()
		require.True(t, (errs[0] == nil) != (errs[1] == nil), "%v", errs)
		refused(t, errors.Join(errs...), "STALE_VERSION expectedVersion")
	}
}

func TestDelete(t *testing.T) {
	f := newFixture(t)
	full, empty := f.make("full"), f.make("empty")
	var vms []ident.ID
	for i := range 27 {
		vms = append(vms, f.component(full, fmt.Sprint("vm", i)))
	}
	slices.Sort(vms) // ids of one millisecond are in no order
	f.exec(`INSERT INTO operation (id, team_id, project_id, kind, status, target_id, ancestors, urgent, simulated, run_after,
			created_at, finished_at)
		VALUES (?, ?, ?, 'DESTROY', 'SUCCEEDED', 'x', '{}', false, true, app_now(), app_now(), app_now())`,
		ident.New(ident.Operation), f.teamID, empty.ID)
	for _, c := range []struct {
		name, who string
		id        ident.ID
		version   *int
		want      []string
	}{
		{"a member", "member", empty.ID, nil, []string{"FORBIDDEN projectId"}},
		{"an outsider", "outsider", empty.ID, nil, []string{"NOT_FOUND projectId"}},
		{"stale", "admin", empty.ID, ptr(2), []string{"STALE_VERSION expectedVersion"}},
		{"in use", "admin", full.ID, nil, []string{"IN_USE projectId"}},
		{"in use and stale", "admin", full.ID, ptr(2), []string{"IN_USE projectId", "STALE_VERSION expectedVersion"}},
		{"empty", "admin", empty.ID, ptr(1), nil},
		{"gone", "admin", empty.ID, nil, []string{"NOT_FOUND projectId"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			id, err := f.Delete(f.as(c.who), project.DeleteInput{ProjectID: c.id, ExpectedVersion: c.version})
			for _, r := range refused(t, err, c.want...) {
				if r.Code == fault.InUse {
					require.Equal(t, fault.UsedBy{IDs: vms[:25]}, r.Detail)
				}
			}
			if c.want == nil {
				require.Equal(t, c.id, id)
			}
		})
	}
	require.Zero(t, f.count("SELECT count(*) FROM operation"))
	require.Empty(t, f.events(empty.ID))
	require.Equal(t, 1, f.count("SELECT count(*) FROM audit_event WHERE action = 'PROJECT_DELETED' AND object_id = ?", empty.ID))
}

// A component that is being added keeps its project, or finds it gone.
func TestDeleteRace(t *testing.T) {
	f := newFixture(t)
	for round := range 50 {
		p := f.make(fmt.Sprint("p", round))
		var deleted, added error
		var group sync.WaitGroup
		group.Go(func() { _, deleted = f.Delete(f.as("admin"), project.DeleteInput{ProjectID: p.ID}) })
		group.Go(func() {
			added = f.db.Gorm(t.Context()).Exec(`INSERT INTO component (id, team_id, project_id, kind, name, slug, created_at)
				VALUES (?, ?, ?, 'VIRTUAL_MACHINE', 'a', 'a', app_now())`, ident.New(ident.VM), p.TeamID, p.ID).Error
		})
		group.Wait()
		if deleted == nil {
			require.True(t, store.IsViolation(added, "component_project_id_fkey"), "%v", added)
			continue
		}
		require.NoError(t, added)
		refused(t, deleted, "IN_USE projectId")
	}
}

func TestReads(t *testing.T) {
	f := newFixture(t)
	made := []*project.Project{f.make("x"), f.make("y"), f.make("z")}
	// Ids of one millisecond are in no order.
	slices.SortFunc(made, func(p, q *project.Project) int { return cmp.Compare(p.ID, q.ID) })
	a, b, c := made[0], made[1], made[2]
	got, err := f.Many(f.as("viewer"), []ident.ID{c.ID, ident.New(ident.Project), a.ID})
	require.NoError(t, err)
	require.Equal(t, c.Name, got[0].Name)
	require.Equal(t, auth.Viewer, got[0].Role)
	require.Nil(t, got[1])
	require.Equal(t, a.Name, got[2].Name)
	hidden, err := f.Get(f.as("outsider"), a.ID)
	require.NoError(t, err)
	require.Nil(t, hidden)

	second := f.team()
	f.join(second, "member", auth.Member, auth.Owner)
	other, err := f.Create(f.as("member"), project.CreateInput{TeamID: second, Name: a.Name})
	require.NoError(t, err, "another team has names of its own")
	teams := []ident.ID{second, ident.New(ident.Team), f.teamID}
	counts, err := f.CountOf(f.as("member"), teams)
	require.NoError(t, err)
	require.Equal(t, []int{1, 0, 3}, counts)
	for _, x := range []struct {
		name      string
		args      page.Args
		want      []ident.ID
		next, pre bool
	}{
		{"first", page.Args{First: ptr(2)}, []ident.ID{a.ID, b.ID}, true, false},
		{"last", page.Args{Last: ptr(2)}, []ident.ID{b.ID, c.ID}, false, true},
		{"after", page.Args{After: ptr(store.IDCursor(string(a.ID)))}, []ident.ID{b.ID, c.ID}, false, true},
		{"before", page.Args{Last: ptr(5), Before: ptr(store.IDCursor(string(b.ID)))}, []ident.ID{a.ID}, true, false},
		{"none", page.Args{First: ptr(0)}, nil, true, false},
	} {
		t.Run(x.name, func(t *testing.T) {
			pages, err := f.PagesOf(f.as("member"), teams, x.args)
			require.NoError(t, err)
			require.Len(t, pages, 3)
			require.Empty(t, pages[1].Items)
			var ids []ident.ID
			for _, p := range pages[2].Items {
				ids = append(ids, p.ID)
			}
			require.Equal(t, x.want, ids)
			require.Equal(t, x.next, pages[2].HasNext)
			require.Equal(t, x.pre, pages[2].HasPrevious)
		})
	}
	pages, err := f.PagesOf(f.as("outsider"), []ident.ID{f.teamID, second}, page.Args{})
	require.NoError(t, err)
	require.Empty(t, append(pages[0].Items, pages[1].Items...))
	require.Equal(t, second, other.Project.TeamID)
	_, err = f.PagesOf(f.as("member"), teams, page.Args{After: ptr(page.Cursor("?"))})
	var bad *fault.Fault
	require.ErrorAs(t, err, &bad)
	require.Equal(t, fault.BadRequest, bad.Code)
}

func TestComponents(t *testing.T) {
	f := newFixture(t)
	a, b := f.make("a"), f.make("b")
	web, db := f.component(a, "web"), f.component(a, "db")
	projects := []ident.ID{b.ID, a.ID}
	pages, err := f.ComponentsOf(f.as("viewer"), projects, nil, page.Args{})
	require.NoError(t, err)
	require.Empty(t, pages[0].Items)
	require.ElementsMatch(t, []*project.Component{
		{ID: web, ProjectID: a.ID, Kind: "VIRTUAL_MACHINE", Name: "web", Slug: "web"},
		{ID: db, ProjectID: a.ID, Kind: "VIRTUAL_MACHINE", Name: "db", Slug: "db"},
	}, pages[1].Items)
	for kind, want := range map[string][]int{"VIRTUAL_MACHINE": {0, 2}, "HOSTED_WORKLOAD": {0, 0}} {
		counts, err := f.CountComponentsOf(f.as("viewer"), projects, &kind)
		require.NoError(t, err)
		require.Equal(t, want, counts, kind)
		pages, err := f.ComponentsOf(f.as("viewer"), projects, &kind, page.Args{First: ptr(1)})
		require.NoError(t, err)
		require.Equal(t, want[1] > 1, pages[1].HasNext)
	}
	counts, err := f.CountComponentsOf(f.as("outsider"), projects, nil)
	require.NoError(t, err)
	require.Equal(t, []int{0, 0}, counts)
}
