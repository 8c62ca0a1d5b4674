package auth_test

import (
	"crypto/sha256"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/auth"
	"biztraak.dev/vm/internal/devstack/pgtest"
	"biztraak.dev/vm/internal/fault"
	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/store"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

var roles = []auth.Role{auth.Viewer, auth.Member, auth.Admin, auth.Owner}

func TestRolesAreOrdered(t *testing.T) {
	for i, a := range roles {
		for k, b := range roles {
			require.Equal(t, i >= k, a.AtLeast(b), "%s at least %s", a, b)
			require.Equal(t, roles[min(i, k)], auth.Lower(a, b))
		}
		for _, unknown := range []auth.Role{"", "ROOT"} {
			require.False(t, unknown.AtLeast(a))
			require.False(t, auth.Lower(unknown, a).AtLeast(auth.Viewer), "no role gives none")
			require.False(t, auth.Lower(a, unknown).AtLeast(auth.Viewer))
		}
	}
}

func TestPolicy(t *testing.T) {
	for verb, need := range map[auth.Verb]auth.Role{
		auth.Read: auth.Viewer, auth.EditProject: auth.Member, auth.DeleteProject: auth.Admin, auth.EditVM: auth.Member,
		auth.RunVM: auth.Member, auth.SteerOperation: auth.Member, auth.ConnectAccount: auth.Admin,
		auth.ManageMembers: auth.Admin, auth.ManageOwners: auth.Owner,
	} {
		require.Equal(t, need, auth.Needs(verb))
		for _, r := range append(roles, "", "ROOT") {
			ok := r.AtLeast(need)
			require.Equal(t, ok, auth.May(r, verb), "%s may %s", r, verb)
			refused := auth.Require(r, verb, fault.Input("id"))
			require.Equal(t, ok, len(refused) == 0)
			if !ok {
				require.Equal(t, fault.Forbidden, refused[0].Code)
				require.Equal(t, fault.Input("id"), refused[0].Path)
				require.Contains(t, refused[0].Message, string(need))
			}
		}
	}
	require.False(t, auth.May(auth.Owner, "fly"), "an unknown verb is for nobody")
}

func TestNobodyInTheContext(t *testing.T) {
	_, err := auth.From(t.Context())
	var f *fault.Fault
	require.ErrorAs(t, err, &f)
	require.Equal(t, fault.Unauthenticated, f.Code)
	who := auth.Actor{UserID: "usr_a"}
	got, err := auth.From(auth.WithActor(t.Context(), who))
	require.NoError(t, err)
	require.Equal(t, who, got)
}

func TestTokensAreSecrets(t *testing.T) {
	seen := map[string]bool{}
	for range 100 {
		text, hash := auth.NewToken()
		require.Regexp(t, `^bzt_[A-Za-z0-9_-]{43}$`, text)
		want := sha256.Sum256([]byte(text))
		require.Equal(t, want[:], hash)
		require.False(t, seen[text])
		seen[text] = true
	}
}

type world struct {
	t  *testing.T
	db *store.DB
}

func newWorld(t *testing.T) *world {
	t.Helper()
	db, err := store.Open(t.Context(), pgtest.DSN(t), store.Options{})
	require.NoError(t, err)
	t.Cleanup(db.Close)
	return &world{t: t, db: db}
}

func (w *world) exec(sql string, args ...any) {
	w.t.Helper()
	require.NoError(w.t, w.db.Gorm(w.t.Context()).Exec(sql, args...).Error)
}

// member makes a user and a team that they have the role in.
func (w *world) member(role auth.Role) (user, team ident.ID) {
	w.t.Helper()
	user, team = ident.New(ident.User), ident.New(ident.Team)
	w.exec("INSERT INTO app_user (id, email, name, created_at) VALUES (?, ?, 'n', app_now())", user, string(user)+"@example.com")
	w.exec("INSERT INTO team (id, name, created_at) VALUES (?, 'T', app_now())", team)
	w.exec("INSERT INTO team_member (team_id, user_id, role, joined_at) VALUES (?, ?, ?, app_now())", team, user, role)
	return user, team
}

func TestAuthenticate(t *testing.T) {
	w := newWorld(t)
	user, _ := w.member(auth.Owner)
	issue := func(expires, revoked string) (string, ident.ID) {
		text, hash := auth.NewToken()
		id := ident.New(ident.Token)
		w.exec(`INSERT INTO access_token (id, user_id, name, hash, ceiling, expires_at, revoked_at, created_at)
			VALUES (?, ?, 'ci', ?, 'MEMBER', app_now() + nullif(?, '')::interval, app_now() + nullif(?, '')::interval, app_now())`,
			id, user, hash, expires, revoked)
		return text, id
	}
	good, goodID := issue("", "")
	short, shortID := issue("1 hour", "")
	old, _ := issue("-1 second", "")
	revoked, _ := issue("", "-1 second")
	tokens := auth.NewTokens(w.db)

	who, err := tokens.Authenticate(t.Context(), good)
	require.NoError(t, err)
	require.Equal(t, auth.Actor{UserID: user, TokenID: goodID, Ceiling: auth.Member}, who)
	who, err = tokens.Authenticate(t.Context(), short)
	require.NoError(t, err)
	require.Equal(t, shortID, who.TokenID)
	require.WithinDuration(t, time.Now().Add(time.Hour), who.ExpiresAt, time.Minute)

	w.exec("UPDATE clock_offset SET value = interval '2 hours'")
	for name, bearer := range map[string]string{
		"expired meanwhile": short, "expired": old, "revoked": revoked, "empty": "", "unknown": "bzt_" + strings.Repeat("a", 43),
		"cut": good[:len(good)-1], "with something behind": good + "x", "in capitals": strings.ToUpper(good),
		"far too long": strings.Repeat("a", 1<<20), "not UTF-8": "\xff\x00",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := tokens.Authenticate(t.Context(), bearer)
			var f *fault.Fault
			require.ErrorAs(t, err, &f)
			require.Equal(t, fault.Unauthenticated, f.Code)
		})
	}
	w.db.Close()
	_, err = tokens.Authenticate(t.Context(), good)
	require.Error(t, err)
	var f *fault.Fault
	require.NotErrorAs(t, err, &f, "a database that is away says nothing about the token")
}

func TestVisibleAndRoleOf(t *testing.T) {
	w := newWorld(t)
	ann, hers := w.member(auth.Owner)
	bob, his := w.member(auth.Viewer)
	for _, c := range []struct {
		name  string
		who   auth.Actor
		sees  []ident.ID
		roles map[ident.ID]auth.Role
	}{
		{"the owner", auth.Actor{UserID: ann, Ceiling: auth.Owner}, []ident.ID{hers}, map[ident.ID]auth.Role{hers: auth.Owner, his: ""}},
		{"with a small token", auth.Actor{UserID: ann, Ceiling: auth.Viewer}, []ident.ID{hers}, map[ident.ID]auth.Role{hers: auth.Viewer, his: ""}},
		{"a viewer with a great token", auth.Actor{UserID: bob, Ceiling: auth.Owner}, []ident.ID{his}, map[ident.ID]auth.Role{hers: "", his: auth.Viewer}},
		{"nobody", auth.Actor{}, nil, map[ident.ID]auth.Role{hers: "", his: ""}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []ident.ID
			g := w.db.Gorm(t.Context())
			require.NoError(t, auth.Visible(g.Table("team"), c.who, "team.id").Select("team.id").Scan(&got).Error)
			require.Equal(t, c.sees, got)
			for team, want := range c.roles {
				role, err := auth.RoleOf(g, c.who, team)
				require.NoError(t, err)
				require.Equal(t, want, role)
			}
		})
	}
}
