package team_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/auth"
	"biztraak.dev/vm/internal/fault"
	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/team"
)

func TestBootstrap(t *testing.T) {
	f := newFixture(t)
	require.Regexp(t, `^bzt_[A-Za-z0-9_-]{43}$`, f.token)
	require.Equal(t, auth.Owner, f.owner.Ceiling)
	require.Zero(t, f.owner.ExpiresAt)
	acme, err := f.Get(f.as(f.owner), f.teamID)
	require.NoError(t, err)
	require.Equal(t, "Acme", acme.Name)
	require.Equal(t, auth.Owner, acme.ViewerRole)
	require.Equal(t, 1, acme.Version)

	for _, email := range []string{"bob@example.com", "ann@example.com"} {
		_, _, err = f.Bootstrap(t.Context(), "Second", email)
		var already *team.BootstrappedError
		require.ErrorAs(t, err, &already)
		require.Equal(t, f.teamID, already.TeamID)
	}
	require.Equal(t, 1, f.count("SELECT count(*) FROM team"))
	require.Equal(t, 1, f.count("SELECT count(*) FROM app_user"))
}

func TestBootstrapForm(t *testing.T) {
	f := newFixture(t)
	for _, c := range []struct {
		name, team, email string
		want              int
	}{
		{"no name", "", "ann@example.com", 1},
		{"no address", "Acme", "ann", 1},
		{"a name beside the address", "Acme", "Ann <ann@example.com>", 1},
		{"endless address", "Acme", strings.Repeat("a", 300) + "@example.com", 1},
		{"both", "", "", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := f.Bootstrap(t.Context(), c.team, c.email)
			r, ok := fault.AsRefusals(err)
			require.True(t, ok)
			require.Len(t, r, c.want)
		})
	}
}

func TestReadsNeedAnActor(t *testing.T) {
	f := newFixture(t)
	_, err := f.Get(t.Context(), f.teamID)
	faulted(t, err, fault.Unauthenticated)
	_, err = f.Mine(t.Context())
	faulted(t, err, fault.Unauthenticated)
	_, err = f.Create(t.Context(), team.CreateInput{Name: "x"})
	faulted(t, err, fault.Unauthenticated)
}

func TestTeamsAreScoped(t *testing.T) {
	f := newFixture(t)
	viewer := f.user("vera", auth.Admin, auth.Viewer)
	outsider := f.user("oz", "", auth.Owner)
	for _, c := range []struct {
		name string
		who  auth.Actor
		role auth.Role
	}{
		{"owner", f.owner, auth.Owner},
		{"the ceiling lowers the role", viewer, auth.Viewer},
		{"outsider", outsider, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := f.Get(f.as(c.who), f.teamID)
			require.NoError(t, err)
			mine, err := f.Mine(f.as(c.who))
			require.NoError(t, err)
			if c.role == "" {
				require.Nil(t, got)
				require.Empty(t, mine)
				return
			}
			require.Equal(t, c.role, got.ViewerRole)
			require.Len(t, mine, 1)
			require.Equal(t, got, mine[0])
		})
	}
}

func TestUsersAreScoped(t *testing.T) {
	f := newFixture(t)
	bob, oz := f.user("bob", auth.Viewer, auth.Viewer), f.user("oz", "", auth.Owner)
	absent := ident.New(ident.User)
	got, err := f.Users(f.as(bob), []ident.ID{absent, f.owner.UserID, oz.UserID, bob.UserID})
	require.NoError(t, err)
	require.Nil(t, got[0])
	require.Equal(t, &team.User{ID: f.owner.UserID, Name: "ann", Email: "ann@example.com"}, got[1])
	require.Nil(t, got[2])
	require.Equal(t, "bob", got[3].Name)

	self, err := f.User(f.as(oz), oz.UserID)
	require.NoError(t, err)
	require.Equal(t, "oz@example.com", self.Email)
	none, err := f.Users(f.as(oz), nil)
	require.NoError(t, err)
	require.Empty(t, none)
}

func TestCreateTeam(t *testing.T) {
	f := newFixture(t)
	low := f.user("low", auth.Owner, auth.Admin)
	for _, c := range []struct {
		name string
		who  auth.Actor
		in   team.CreateInput
		want []string
	}{
		{"good", f.owner, team.CreateInput{Name: "Beta"}, nil},
		{"the same name again", f.owner, team.CreateInput{Name: "Beta"}, nil},
		{"a low ceiling", low, team.CreateInput{Name: "Beta"}, []string{"FORBIDDEN "}},
		{"all at once", low, team.CreateInput{Name: " ", IdempotencyKey: ptr("")},
			[]string{"FORBIDDEN ", "NAME_INVALID name", "INPUT_INVALID idempotencyKey"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f.said.take()
			out, err := f.Create(f.as(c.who), c.in)
			refused(t, err, c.want...)
			if c.want != nil {
				require.Empty(t, f.said.take())
				return
			}
			require.Equal(t, auth.Owner, out.Team.ViewerRole)
			require.False(t, out.Replayed)
			require.Equal(t, []string{"access:" + string(out.Team.ID) + "/" + string(f.owner.UserID) + " 1"}, f.said.take())
			require.Equal(t, 1, f.audited("TEAM_CREATED", out.Team.ID))
		})
	}
}

func TestCreateTeamReplay(t *testing.T) {
	f := newFixture(t)
	in := team.CreateInput{Name: "Beta", IdempotencyKey: ptr("k")}
	const twins = 8
	results := make([]*team.Created, twins)
	var group sync.WaitGroup
	for i := range twins {
		group.Go(func() {
			out, err := f.Create(f.as(f.owner), in)
			if err == nil {
				results[i] = out
			}
		})
	}
	group.Wait()
	fresh := 0
	for _, r := range results {
		require.NotNil(t, r)
		require.Equal(t, results[0].Team.ID, r.Team.ID)
		if !r.Replayed {
			fresh++
		}
	}
	require.Equal(t, 1, fresh)
	require.Equal(t, 1, f.count("SELECT count(*) FROM team WHERE name = 'Beta'"))

	_, err := f.Create(f.as(f.owner), team.CreateInput{Name: "Gamma", IdempotencyKey: ptr("k")})
	refused(t, err, "IDEMPOTENCY_KEY_REUSED idempotencyKey")
	// Another user's key is another key.
	other := f.user("bob", "", auth.Owner)
	out, err := f.Create(f.as(other), in)
	require.NoError(t, err)
	require.False(t, out.Replayed)
	// What one may no longer see is not answered by a replay either.
	f.exec("DELETE FROM team_member WHERE team_id = ?", results[0].Team.ID)
	gone, err := f.Create(f.as(f.owner), in)
	require.NoError(t, err)
	require.True(t, gone.Replayed)
	require.Nil(t, gone.Team)
}
