package project_test

import (
	"cmp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/auth"
	"biztraak.dev/vm/internal/fault"
	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/page"
	"biztraak.dev/vm/internal/project"
	"biztraak.dev/vm/internal/store"
)

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

// Lists of many parents cost what the list of one does.
func TestStatements(t *testing.T) {
	f := newFixture(t)
	teams, projects := []ident.ID{f.teamID}, []ident.ID{f.make("a").ID}
	for range 20 {
		teams, projects = append(teams, f.team()), append(projects, ident.New(ident.Project))
	}
	for name, read := range map[string]func() error{
		"many":             func() error { _, err := f.Many(f.as("viewer"), projects); return err },
		"pages":            func() error { _, err := f.PagesOf(f.as("viewer"), teams, page.Args{}); return err },
		"counts":           func() error { _, err := f.CountOf(f.as("viewer"), teams); return err },
		"components":       func() error { _, err := f.ComponentsOf(f.as("viewer"), projects, nil, page.Args{}); return err },
		"component counts": func() error { _, err := f.CountComponentsOf(f.as("viewer"), projects, nil); return err },
	} {
		before := f.made.n.Load()
		require.NoError(t, read())
		require.EqualValues(t, 1, f.made.n.Load()-before, name)
	}
}
