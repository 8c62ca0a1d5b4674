package graph

import (
	"context"
	"time"

	"biztraak.dev/vm/internal/auth"
	"biztraak.dev/vm/internal/fault"
	"biztraak.dev/vm/internal/hub"
	"biztraak.dev/vm/internal/ident"
)

// guard watches whether an actor may go on following something of a team. The
// hub tells when the actor's access or token has changed, at the latest within
// its poll.
type guard struct {
	deps   Deps
	who    auth.Actor
	teamID ident.ID
	access *hub.Subscription
	token  *hub.Subscription
	// changed holds a token after a change that leaves access: what the actor
	// may do with an object can be different now.
	changed chan struct{}
}

func newGuard(d Deps, who auth.Actor, teamID ident.ID) *guard {
	return &guard{
		deps: d, who: who, teamID: teamID, changed: make(chan struct{}, 1),
		access: d.Hub.Subscribe(hub.AccessStream(teamID, who.UserID)),
		token:  d.Hub.Subscribe(hub.TokenStream(who.TokenID)),
	}
}

// begin checks the token, which may have ended since the connection was opened,
// and has the guard ignore changes up to now: what is read from here on takes
// them into account.
func (g *guard) begin(ctx context.Context) error {
	pair := string(g.teamID) + "/" + string(g.who.UserID)
	access, err := g.deps.Operations.AccessHeads(ctx, []string{pair})
	if err != nil {
		return err
	}
	tokens, err := g.deps.Operations.TokenHeads(ctx, []string{string(g.who.TokenID)})
	if err != nil {
		return err
	}
	g.access.Skip(access[pair])
	g.token.Skip(tokens[string(g.who.TokenID)])
	return g.checkToken(ctx)
}

// close ends the watch.
func (g *guard) close() {
	g.access.Close()
	g.token.Close()
}

// watch calls lost once, with the reason, when access ends. It returns then, or
// with the context.
func (g *guard) watch(ctx context.Context, lost func(error)) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-g.access.C():
		case <-g.token.C():
		}
		g.access.Take()
		g.token.Take()
		if err := g.check(ctx); err != nil {
			lost(err)
			return
		}
		select {
		case g.changed <- struct{}{}:
		default:
		}
	}
}

// check fails with UNAUTHENTICATED when the token has ended, with FORBIDDEN when
// the actor has left the team, and with whatever keeps it from telling.
func (g *guard) check(ctx context.Context) error {
	if err := g.checkToken(ctx); err != nil {
		return err
	}
	team, err := g.deps.Teams.Get(ctx, g.teamID)
	if err != nil {
		return err
	}
	if team == nil {
		return fault.New(fault.TopForbidden, "you are no longer a member of the team; ask an owner of it")
	}
	return nil
}

func (g *guard) checkToken(ctx context.Context) error {
	token, err := g.deps.Teams.Token(ctx, g.who.TokenID)
	if err != nil {
		return err
	}
	if token == nil || token.RevokedAt != nil || token.ExpiresAt != nil && !token.ExpiresAt.After(time.Now()) {
		return fault.New(fault.Unauthenticated, "the access token has been revoked or has expired; connect again with another one")
	}
	return nil
}
