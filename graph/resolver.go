package graph

import (
	"context"

	"biztraak.dev/vm/internal/hub"
	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/operation"
)

// keptEvents is how many events of a project stay in memory for its followers.
const keptEvents = 1000

// Resolver is the root of all resolvers.
type Resolver struct {
	Deps
	presenter presenter
	// events shares the reading of projects' events between their followers.
	events *hub.Ring[operation.Event]
}

func newResolver(d Deps) *Resolver {
	load := func(ctx context.Context, projectID string, after int64, limit int) ([]operation.Event, error) {
		return d.Operations.EventsAfter(ctx, ident.ID(projectID), after, limit)
	}
	return &Resolver{
		Deps:      d,
		presenter: presenter{log: d.Log},
		events:    hub.NewRing(load, func(e operation.Event) int64 { return e.Seq }, keptEvents),
	}
}
