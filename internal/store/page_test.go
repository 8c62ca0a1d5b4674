package store_test

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/page"
	"biztraak.dev/vm/internal/store"
)

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

func ptr[T any](v T) *T { return &v }

type item struct{ ID, TeamID ident.ID }

// projects makes two teams with projects, in the order of their ids.
func projects(t *testing.T, db *store.DB) (teams []ident.ID, of map[ident.ID][]ident.ID) {
	t.Helper()
	g := db.Gorm(t.Context())
	of = map[ident.ID][]ident.ID{}
	for _, count := range []int{5, 2, 0} {
		team := ident.New(ident.Team)
		teams = append(teams, team)
		require.NoError(t, g.Exec("INSERT INTO team (id, name, created_at) VALUES (?, 'T', app_now())", team).Error)
		for range count {
			id := ident.New(ident.Project)
			of[team] = append(of[team], id)
			require.NoError(t, g.Exec("INSERT INTO project (id, team_id, name, slug, created_at) VALUES (?, ?, ?, 's', app_now())", id, team, id).Error)
		}
	}
	return teams, of
}

func TestPagesOf(t *testing.T) {
	db := open(t)
	teams, of := projects(t, db)
	all := of[teams[0]]
	cursor := func(i int) *page.Cursor { return ptr(store.IDCursor(string(all[i]))) }
	for _, c := range []struct {
		name      string
		args      page.Args
		want      []ident.ID // of the first team
		next, was bool
	}{
		{"all", page.Args{}, all, false, false},
		{"the first two", page.Args{First: ptr(2)}, all[:2], true, false},
		{"exactly all", page.Args{First: ptr(5)}, all, false, false},
		{"after the second", page.Args{First: ptr(2), After: cursor(1)}, all[2:4], true, true},
		{"the last two", page.Args{Last: ptr(2)}, all[3:], false, true},
		{"before the third", page.Args{Last: ptr(5), Before: cursor(2)}, all[:2], true, false},
		{"between", page.Args{After: cursor(0), Before: cursor(3)}, all[1:3], false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, err := c.args.Window()
			require.NoError(t, err)
			g := db.Gorm(t.Context())
			inner, err := store.Keyset(g.Table("project").Select("id, team_id").Where("team_id = w.of_id"), w, "id")
			require.NoError(t, err)
			// The same team twice, and others, in an order of our own.
			asked := []ident.ID{teams[2], teams[0], teams[1], teams[0]}
			got, err := store.PagesOf[item](g, asked, inner, store.IDOrder(w), w)
			require.NoError(t, err)
			require.Len(t, got, len(asked))
			require.Empty(t, got[0].Items)
			require.Equal(t, got[1], got[3])
			var ids []ident.ID
			for _, i := range got[1].Items {
				require.Equal(t, teams[0], i.TeamID)
				ids = append(ids, i.ID)
			}
			require.Equal(t, c.want, ids)
			require.Equal(t, c.next, got[1].HasNext, "next")
			require.Equal(t, c.was, got[1].HasPrevious, "previous")
		})
	}
}

func TestCountsOf(t *testing.T) {
	db := open(t)
	teams, _ := projects(t, db)
	g := db.Gorm(t.Context())
	got, err := store.CountsOf(g, []ident.ID{teams[1], "team_none", teams[0], teams[2]}, g.Table("project").Select("id").Where("team_id = w.of_id"))
	require.NoError(t, err)
	require.Equal(t, []int{2, 0, 5, 0}, got)
}

func TestKeysetRefusesForeignCursors(t *testing.T) {
	db := open(t)
	foreign := page.NewCursor("event", "7")
	for _, w := range []page.Window{{Size: 1, After: &foreign}, {Size: 1, Before: &foreign}} {
		_, err := store.Keyset(db.Gorm(t.Context()).Table("project"), w, "id")
		require.ErrorContains(t, err, "BAD_REQUEST")
	}
}

func TestIDsTravel(t *testing.T) {
	db := open(t)
	for name, ids := range map[string]store.IDs{
		"none": nil, "one": {"vm_a"}, "several": {"vm_a", "vm_b", "vm_a"},
	} {
		t.Run(name, func(t *testing.T) {
			var back struct {
				IDs store.IDs `gorm:"column:ids;type:text[]"`
			}
			require.NoError(t, db.Gorm(t.Context()).Raw("SELECT ?::text[] AS ids", ids).Scan(&back).Error)
			require.Equal(t, ids, back.IDs)
		})
	}
	var null store.IDs
	require.NoError(t, null.Scan(nil))
	require.Nil(t, null)
	require.NoError(t, null.Scan([]byte("{a,b}")))
	require.Equal(t, store.IDs{"a", "b"}, null)
	require.Error(t, null.Scan(7))
}
