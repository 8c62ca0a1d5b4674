package auth

import (
	"context"
	"time"

	"biztraak.dev/vm/internal/fault"
	"biztraak.dev/vm/internal/ident"
)

// Actor is the user who asks and the token they ask with.
type Actor struct {
	UserID  ident.ID
	TokenID ident.ID
	// Ceiling bounds the role in every team.
	Ceiling Role
	// ExpiresAt is when the token stops working; zero for never.
	ExpiresAt time.Time
}

type actorKey struct{}

// WithActor puts the actor into the context of a request.
func WithActor(ctx context.Context, a Actor) context.Context {
	return context.WithValue(ctx, actorKey{}, a)
}

// From takes the actor out of the context. Without one the request was not let
// in, and nothing may be done: UNAUTHENTICATED.
func From(ctx context.Context) (Actor, error) {
	a, ok := ctx.Value(actorKey{}).(Actor)
	if !ok {
		return Actor{}, fault.New(fault.Unauthenticated, "this needs an access token")
	}
	return a, nil
}
