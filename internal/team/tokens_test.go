package team_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/auth"
	"biztraak.dev/vm/internal/fault"
	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/team"
)

func TestCreateToken(t *testing.T) {
	f := newFixture(t)
	low := f.user("low", auth.Owner, auth.Member)
	now := time.Now()
	for _, c := range []struct {
		name string
		who  auth.Actor
		in   team.CreateTokenInput
		want []string
	}{
		{"for ever", f.owner, team.CreateTokenInput{Name: "ci", Ceiling: auth.Owner}, nil},
		{"for an hour", f.owner, team.CreateTokenInput{Name: "ci", Ceiling: auth.Viewer, ExpiresAt: ptr(now.Add(time.Hour))}, nil},
		{"for almost a year", f.owner, team.CreateTokenInput{Name: "ci", Ceiling: auth.Viewer, ExpiresAt: ptr(now.AddDate(1, 0, -1))}, nil},
		{"for longer", f.owner, team.CreateTokenInput{Name: "ci", Ceiling: auth.Viewer, ExpiresAt: ptr(now.AddDate(1, 0, 1))},
			[]string{"INPUT_INVALID expiresAt"}},
		{"in the past", f.owner, team.CreateTokenInput{Name: "ci", Ceiling: auth.Viewer, ExpiresAt: ptr(now.Add(-time.Minute))},
			[]string{"INPUT_INVALID expiresAt"}},
		{"as high as the token in use", low, team.CreateTokenInput{Name: "ci", Ceiling: auth.Member}, nil},
		{"higher", low, team.CreateTokenInput{Name: "ci", Ceiling: auth.Admin}, []string{"FORBIDDEN ceiling"}},
		{"no role", low, team.CreateTokenInput{Name: "ci", Ceiling: "KING"}, []string{"INPUT_INVALID ceiling"}},
		{"all at once", low, team.CreateTokenInput{Name: "\n", Ceiling: auth.Owner, ExpiresAt: ptr(now.Add(-time.Hour)), IdempotencyKey: ptr("\x00")},
			[]string{"NAME_INVALID name", "FORBIDDEN ceiling", "INPUT_INVALID expiresAt", "INPUT_INVALID idempotencyKey"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, err := f.CreateToken(f.as(c.who), c.in)
			refused(t, err, c.want...)
			if c.want != nil {
				return
			}
			require.False(t, out.Replayed)
			require.Equal(t, c.in.Ceiling, out.AccessToken.Ceiling)
			who, err := auth.NewTokens(f.db).Authenticate(t.Context(), *out.Secret)
			require.NoError(t, err)
			require.Equal(t, c.who.UserID, who.UserID)
			require.Equal(t, out.AccessToken.ID, who.TokenID)
			require.Equal(t, c.in.Ceiling, who.Ceiling)
			require.Equal(t, c.in.ExpiresAt == nil, who.ExpiresAt.IsZero())
			require.Equal(t, 1, f.audited("TOKEN_CREATED", out.AccessToken.ID))
		})
	}
}

func TestCreateTokenReplayHasNoSecret(t *testing.T) {
	f := newFixture(t)
	in := team.CreateTokenInput{Name: "ci", Ceiling: auth.Viewer, ExpiresAt: ptr(time.Now().Add(time.Hour)), IdempotencyKey: ptr("k")}
	first, err := f.CreateToken(f.as(f.owner), in)
	require.NoError(t, err)
	require.NotNil(t, first.Secret)
	f.later(2 * time.Hour) // the replay is told although the token has expired
	again, err := f.CreateToken(f.as(f.owner), in)
	require.NoError(t, err)
	require.True(t, again.Replayed)
	require.Nil(t, again.Secret)
	require.Equal(t, first.AccessToken, again.AccessToken)
	require.Zero(t, f.count("SELECT count(*) FROM idempotency_key i WHERE i::text LIKE ?", "%"+*first.Secret+"%"))
	f.later(26 * time.Hour)
	_, err = f.CreateToken(f.as(f.owner), in)
	refused(t, err, "INPUT_INVALID expiresAt")
}

func TestRevokeToken(t *testing.T) {
	f := newFixture(t)
	out, err := f.CreateToken(f.as(f.owner), team.CreateTokenInput{Name: "ci", Ceiling: auth.Viewer})
	require.NoError(t, err)
	id := out.AccessToken.ID
	bob := f.user("bob", auth.Owner, auth.Owner)

	_, err = f.RevokeToken(f.as(bob), team.RevokeTokenInput{TokenID: id})
	refused(t, err, "NOT_FOUND tokenId")
	hidden, err := f.Token(f.as(bob), id)
	require.NoError(t, err)
	require.Nil(t, hidden)
	f.said.take()
	first, err := f.RevokeToken(f.as(f.owner), team.RevokeTokenInput{TokenID: id})
	require.NoError(t, err)
	require.NotNil(t, first.RevokedAt)
	require.Equal(t, []string{"token:" + string(id) + " 2"}, f.said.take())
	again, err := f.RevokeToken(f.as(f.owner), team.RevokeTokenInput{TokenID: id})
	require.NoError(t, err)
	require.Equal(t, first, again)
	require.Empty(t, f.said.take())
	require.Equal(t, 1, f.audited("TOKEN_REVOKED", id))

	_, err = auth.NewTokens(f.db).Authenticate(t.Context(), *out.Secret)
	faulted(t, err, fault.Unauthenticated)
	_, err = f.RevokeToken(f.as(f.owner), team.RevokeTokenInput{TokenID: ident.New(ident.Token)})
	refused(t, err, "NOT_FOUND tokenId")
}

func TestAuthenticateRefuses(t *testing.T) {
	f := newFixture(t)
	out, err := f.CreateToken(f.as(f.owner), team.CreateTokenInput{
		Name: "ci", Ceiling: auth.Viewer, ExpiresAt: ptr(time.Now().Add(time.Hour)),
	})
	require.NoError(t, err)
	f.later(2 * time.Hour)
	strange, _ := auth.NewToken()
	for _, c := range []struct{ name, bearer string }{
		{"empty", ""}, {"unknown", strange}, {"expired", *out.Secret}, {"cut", f.token[:40]}, {"longer", f.token + "x"},
		{"endless", f.token + strings.Repeat("x", 1<<20)}, {"other case", strings.ToUpper(f.token)}, {"binary", "\x00\xff"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := auth.NewTokens(f.db).Authenticate(t.Context(), c.bearer)
			faulted(t, err, fault.Unauthenticated)
			require.NotContains(t, err.Error(), "bzt_")
		})
	}
	_, err = auth.NewTokens(f.db).Authenticate(t.Context(), f.token)
	require.NoError(t, err)
	f.db.Close()
	_, err = auth.NewTokens(f.db).Authenticate(t.Context(), f.token)
	require.Error(t, err)
	var refusal *fault.Fault
	require.NotErrorAs(t, err, &refusal, "a database that is away says nothing about a token")
}

func TestTokensAreStoredAsHashes(t *testing.T) {
	f := newFixture(t)
	require.Zero(t, f.count("SELECT count(*) FROM access_token a WHERE a::text LIKE ?", "%"+f.token[4:]+"%"))
	require.Equal(t, 1, f.count("SELECT count(*) FROM access_token WHERE hash = sha256(convert_to(?, 'UTF8'))", f.token))
}
