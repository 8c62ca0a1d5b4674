package team_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/auth"
	"biztraak.dev/vm/internal/fault"
	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/page"
	"biztraak.dev/vm/internal/team"
)

func TestUpdateMember(t *testing.T) {
	f := newFixture(t)
	people := map[string]auth.Actor{
		"owner": f.owner, "admin": f.user("admin", auth.Admin, auth.Owner), "member": f.user("member", auth.Member, auth.Owner),
		"low": f.user("low", auth.Owner, auth.Member), "oz": f.user("oz", "", auth.Owner),
	}
	bob := f.user("bob", auth.Viewer, auth.Viewer)
	for _, c := range []struct {
		name, actor string
		target      auth.Actor
		role        auth.Role
		want        []string
	}{
		{"an admin raises a viewer", "admin", bob, auth.Member, nil},
		{"the same role", "admin", bob, auth.Member, nil},
		{"an admin makes an admin", "admin", bob, auth.Admin, nil},
		{"an admin makes no owner", "admin", bob, auth.Owner, []string{"FORBIDDEN role"}},
		{"an admin changes no owner", "admin", f.owner, auth.Viewer, []string{"FORBIDDEN userId"}},
		{"a member changes nobody", "member", bob, auth.Viewer, []string{"FORBIDDEN teamId"}},
		{"one cause is told once", "member", bob, auth.Owner, []string{"FORBIDDEN teamId"}},
		{"the ceiling counts", "low", bob, auth.Viewer, []string{"FORBIDDEN teamId"}},
		{"an outsider sees nothing", "oz", bob, auth.Viewer, []string{"NOT_FOUND teamId"}},
		{"no member", "owner", people["oz"], auth.Viewer, []string{"NOT_FOUND userId"}},
		{"no role", "owner", bob, "KING", []string{"INPUT_INVALID role"}},
		{"no role and no member", "owner", people["oz"], "KING", []string{"INPUT_INVALID role", "NOT_FOUND userId"}},
		{"an owner makes an owner", "owner", bob, auth.Owner, nil},
		{"an owner lowers an owner", "owner", bob, auth.Viewer, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			f.said.take()
			before := f.count("SELECT count(*) FROM audit_event")
			m, err := f.UpdateMember(f.as(people[c.actor]), team.UpdateMemberInput{TeamID: f.teamID, UserID: c.target.UserID, Role: c.role})
			refused(t, err, c.want...)
			if c.want != nil {
				require.Empty(t, f.said.take())
				require.Equal(t, before, f.count("SELECT count(*) FROM audit_event"))
				return
			}
			require.Equal(t, c.role, m.Role)
			require.Equal(t, "bob", m.User.Name)
		})
	}
	require.Equal(t, 4, f.audited("MEMBER_ROLE_CHANGED", bob.UserID), "the same role is no change")
}

func TestUpdateMemberAnnounces(t *testing.T) {
	f := newFixture(t)
	bob := f.user("bob", auth.Viewer, auth.Viewer)
	in := team.UpdateMemberInput{TeamID: f.teamID, UserID: bob.UserID, Role: auth.Member}
	_, err := f.UpdateMember(f.as(f.owner), in)
	require.NoError(t, err)
	require.Equal(t, []string{fmt.Sprintf("access:%s/%s 1", f.teamID, bob.UserID)}, f.said.take())
	_, err = f.UpdateMember(f.as(f.owner), in)
	require.NoError(t, err)
	require.Empty(t, f.said.take())
	_, err = f.RemoveMember(f.as(f.owner), team.RemoveMemberInput{TeamID: f.teamID, UserID: bob.UserID})
	require.NoError(t, err)
	require.Equal(t, []string{fmt.Sprintf("access:%s/%s 2", f.teamID, bob.UserID)}, f.said.take())
}

func TestRemoveMember(t *testing.T) {
	f := newFixture(t)
	people := map[string]auth.Actor{
		"owner": f.owner, "admin": f.user("admin", auth.Admin, auth.Owner), "member": f.user("member", auth.Member, auth.Owner),
		"bob": f.user("bob", auth.Viewer, auth.Viewer), "cid": f.user("cid", auth.Viewer, auth.Viewer), "oz": f.user("oz", "", auth.Owner),
	}
	for _, c := range []struct {
		name, actor, target string
		want                []string
		team                bool
	}{
		{"a member removes nobody", "member", "bob", []string{"FORBIDDEN teamId"}, false},
		{"an admin removes no owner", "admin", "owner", []string{"FORBIDDEN userId"}, false},
		{"an outsider sees nothing", "oz", "bob", []string{"NOT_FOUND teamId"}, false},
		{"no member", "owner", "oz", []string{"NOT_FOUND userId"}, false},
		{"the last owner stays", "owner", "owner", []string{"NOT_AVAILABLE userId"}, false},
		{"an admin removes a viewer", "admin", "bob", nil, true},
		{"anybody leaves", "cid", "cid", nil, false},
		{"once gone, gone", "cid", "cid", []string{"NOT_FOUND teamId"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			target := people[c.target].UserID
			got, err := f.RemoveMember(f.as(people[c.actor]), team.RemoveMemberInput{TeamID: f.teamID, UserID: target})
			refused(t, err, c.want...)
			require.Equal(t, c.team, got != nil)
			if c.want == nil {
				require.Equal(t, 1, f.audited("MEMBER_REMOVED", target))
				require.Zero(t, f.count("SELECT count(*) FROM team_member WHERE user_id = ?", target))
			}
		})
	}
}

func TestLastOwnerStaysOwner(t *testing.T) {
	f := newFixture(t)
	in := team.UpdateMemberInput{TeamID: f.teamID, UserID: f.owner.UserID, Role: auth.Admin}
	_, err := f.UpdateMember(f.as(f.owner), in)
	refused(t, err, "NOT_AVAILABLE role")
	f.user("bob", auth.Owner, auth.Owner)
	_, err = f.UpdateMember(f.as(f.owner), in)
	require.NoError(t, err)
}

// Two owners who leave, or lower themselves, at the same time: one stays.
func TestLastOwnerRace(t *testing.T) {
	f := newFixture(t)
	const rounds = 50
	leave := func(who auth.Actor) error {
		_, err := f.RemoveMember(f.as(who), team.RemoveMemberInput{TeamID: f.teamID, UserID: who.UserID})
		return err
	}
	lower := func(who auth.Actor) error {
		_, err := f.UpdateMember(f.as(who), team.UpdateMemberInput{TeamID: f.teamID, UserID: who.UserID, Role: auth.Viewer})
		return err
	}
	bob := f.user("bob", auth.Owner, auth.Owner)
	for round := range rounds {
		ways := []func(auth.Actor) error{leave, lower}
		errs := make([]error, 2)
		var group sync.WaitGroup
		for i, who := range []auth.Actor{f.owner, bob} {
			group.Go(func() { errs[i] = ways[(round+i)%2](who) })
		}
		group.Wait()
		require.Equal(t, 1, f.count("SELECT count(*) FROM team_member WHERE team_id = ? AND role = 'OWNER'", f.teamID))
		lost := errors.Join(errs...)
		r, ok := fault.AsRefusals(lost)
		require.True(t, ok)
		require.Equal(t, fault.NotAvailable, r[0].Code)
		require.True(t, errs[0] == nil || errs[1] == nil)
		f.exec("DELETE FROM team_member WHERE team_id = ?", f.teamID)
		f.join(f.owner, auth.Owner)
		f.join(bob, auth.Owner)
	}
}

func TestMembersPages(t *testing.T) {
	f := newFixture(t)
	// Members whose ids are in another order than the one they joined in, two of
	// them at the same time.
	var want []string
	for i := range 7 {
		who := f.user(fmt.Sprintf("m%d", i), "", auth.Viewer)
		f.exec(`INSERT INTO team_member (team_id, user_id, role, joined_at)
			VALUES (?, ?, 'VIEWER', timestamptz '2020-01-01 00:00:00.000001Z' + make_interval(days => ?))`, f.teamID, who.UserID, 6-i/2)
	}
	var ids []ident.ID
	require.NoError(t, f.db.Gorm(t.Context()).Raw(`SELECT user_id FROM team_member WHERE team_id = ? ORDER BY joined_at, user_id`,
		f.teamID).Scan(&ids).Error)
	for _, id := range ids {
		want = append(want, string(id))
	}
	names := func(p page.Page[*team.Member]) []string {
		var out []string
		for _, m := range p.Items {
			out = append(out, string(m.User.ID))
		}
		return out
	}
	ctx := f.as(f.owner)
	for _, backward := range []bool{false, true} {
		t.Run(fmt.Sprintf("backward=%v", backward), func(t *testing.T) {
			var got []string
			args := page.Args{First: ptr(3)}
			if backward {
				args = page.Args{Last: ptr(3)}
			}
			for range 3 {
				pages, err := f.MembersOf(ctx, []ident.ID{f.teamID}, args)
				require.NoError(t, err)
				p := pages[0]
				if backward {
					got = append(names(p), got...)
					args.Before = ptr(p.Items[0].Cursor())
					require.Equal(t, len(got) < len(want), p.HasPrevious)
				} else {
					got = append(got, names(p)...)
					args.After = ptr(p.Items[len(p.Items)-1].Cursor())
					require.Equal(t, len(got) < len(want), p.HasNext)
				}
			}
			require.Equal(t, want, got)
		})
	}
}

func TestMembersOfSeveralTeams(t *testing.T) {
	f := newFixture(t)
	f.user("bob", auth.Viewer, auth.Viewer)
	oz := f.user("oz", "", auth.Owner)
	mine, err := f.Create(f.as(f.owner), team.CreateInput{Name: "Mine"})
	require.NoError(t, err)
	theirs, err := f.Create(f.as(oz), team.CreateInput{Name: "Theirs"})
	require.NoError(t, err)
	teams := []ident.ID{theirs.Team.ID, f.teamID, ident.New(ident.Team), mine.Team.ID}

	pages, err := f.MembersOf(f.as(f.owner), teams, page.Args{})
	require.NoError(t, err)
	counts, err := f.CountMembersOf(f.as(f.owner), teams)
	require.NoError(t, err)
	require.Equal(t, []int{0, 2, 0, 1}, counts)
	for i, p := range pages {
		require.Len(t, p.Items, counts[i])
	}
	require.Equal(t, f.teamID, pages[1].Items[0].TeamID)

	for _, args := range []page.Args{
		{First: ptr(101)}, {First: ptr(1), Last: ptr(1)}, {After: ptr(page.NewCursor("x"))},
		{After: ptr(page.NewCursor("member", "yesterday", "me"))}, {Before: ptr(page.Cursor("%"))},
	} {
		_, err := f.MembersOf(f.as(f.owner), teams, args)
		faulted(t, err, fault.BadRequest)
	}
}
