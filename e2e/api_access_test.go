package e2e_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/app"
	"biztraak.dev/vm/internal/devstack/redistest"
	"biztraak.dev/vm/internal/transport/wsclient"
)

// accessBound is when a subscription must have ended after access is lost.
const accessBound = 5 * time.Second

// endsWith waits until the stream ends with the code, within the bound.
func (u *apiStream) endsWith(code string) {
	u.t.Helper()
	ctx, cancel := context.WithTimeout(u.ctx, accessBound)
	defer cancel()
	for {
		_, err := u.stream.Next(ctx)
		if err == nil {
			continue
		}
		var closed *wsclient.CloseError
		if errors.As(err, &closed) {
			require.Equal(u.t, "UNAUTHENTICATED", code, "only a token closes the connection")
			require.Equal(u.t, 4403, closed.Code)
			return
		}
		require.Equal(u.t, code, refusedOperation(u.t, err).Extensions.Code)
		return
	}
}

// TestAccessLoss takes access away in one process while it is used in another:
// what the person follows there ends, with Redis and without, and nothing else
// does.
func TestAccessLoss(t *testing.T) {
	t.Parallel()
	for _, withRedis := range []bool{true, false} {
		t.Run(map[bool]string{true: "with Redis", false: "without Redis"}[withRedis], func(t *testing.T) {
			redis := redistest.Real(t)
			e := furnish(startAPI(t, app.Roles{Serve: true}, redis.URL()))
			other := e.at(e.serve(app.Roles{Serve: true}, nil))
			if !withRedis {
				redis.Stop()
			}
			e.losesAccess(other)
		})
	}
}

func (e *estate) losesAccess(other *api) {
	e.t.Helper()
	project := e.project(e.owner, e.team)
	vm := e.vm(e.owner, project)
	leaving, demoted := e.api.person("Lea"), e.api.person("Dan")
	e.join(e.team, leaving, "MEMBER")
	e.join(e.team, demoted, "MEMBER")
	own := e.project(leaving, e.makeTeam(leaving))
	revoked, revokedBearer := e.token(e.owner.user, "OWNER", nil)

	follow := func(bearer, document string, variables object) *apiStream {
		u := e.subscribe(e.dial(bearer), document, variables)
		u.next()
		return u
	}
	events := object{"p": project}
	stays := follow(e.owner.bearer, followEvents, events)
	staysOwn := follow(leaving.bearer, followEvents, object{"p": own})
	goes := []*apiStream{
		follow(leaving.bearer, followEvents, events), follow(leaving.bearer, followVM, object{"id": vm}),
	}
	may := follow(demoted.bearer, followEvents, events)
	cut := []*apiStream{follow(revokedBearer, followEvents, events), follow(revokedBearer, followVM, object{"id": vm})}

	other.must(e.owner.bearer, `mutation($t: ID!, $u: ID!) { removeTeamMember(input: { teamId: $t, userId: $u }) { userErrors { code message } } }`,
		object{"t": e.team, "u": leaving.user})
	for _, u := range goes {
		u.endsWith("FORBIDDEN")
	}
	other.must(e.owner.bearer, `mutation($t: ID!) { revokeAccessToken(input: { tokenId: $t }) { userErrors { code message } } }`,
		object{"t": revoked})
	for _, u := range cut {
		u.endsWith("UNAUTHENTICATED")
	}
	other.must(e.owner.bearer, `mutation($t: ID!, $u: ID!) { updateTeamMember(input: { teamId: $t, userId: $u, role: VIEWER }) {
		userErrors { code message } } }`, object{"t": e.team, "u": demoted.user})
	e.rename(vm, "still-there")
	for _, u := range []*apiStream{stays, may} {
		u.until(func(d object) bool { return dig(d, "projectEvents", "events", 0, "kind") == "COMPONENT_UPDATED" })
	}
	e.vm(leaving, own)
	staysOwn.until(func(d object) bool { return dig(d, "projectEvents", "events", 0, "kind") == "COMPONENT_CREATED" })
}

// TestTokenExpiryClosesConnections follows with a token that expires.
func TestTokenExpiryClosesConnections(t *testing.T) {
	t.Parallel()
	e := newEstate(t, app.Roles{Serve: true})
	_, bearer := e.token(e.owner.user, "OWNER", ptr(time.Now().Add(3*time.Second)))
	conn := e.dial(bearer)
	u := e.subscribe(conn, followEvents, object{"p": e.project(e.owner, e.team)})
	u.next()
	select {
	case <-conn.Done():
	case <-time.After(patience):
		t.Fatal("the connection outlives its token")
	}
	var closed *wsclient.CloseError
	require.ErrorAs(t, conn.Err(), &closed)
	require.Equal(t, 4403, closed.Code)
	_, err := wsclient.Dial(t.Context(), e.url, bearer)
	require.ErrorAs(t, err, &closed)
	require.Equal(t, 4403, closed.Code)
}
