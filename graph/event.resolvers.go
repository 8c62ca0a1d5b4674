package graph

import (
	"context"

	"biztraak.dev/vm/graph/gen"
	"biztraak.dev/vm/graph/model"
	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/operation"
	"biztraak.dev/vm/internal/page"
	"biztraak.dev/vm/internal/team"
)

func (r *componentEventResolver) Subject(ctx context.Context, objs []*model.ComponentEvent) ([]model.Node, error) {
	return subjects(ctx, objs)
}

func (r *componentEventResolver) Operation(ctx context.Context, objs []*model.ComponentEvent) ([]*operation.Operation, error) {
	return optional(ctx, loadsFrom(ctx).operations, idsOf(recorded(objs), operationOfEvent))
}

func (r *componentEventResolver) Actor(ctx context.Context, objs []*model.ComponentEvent) ([]*team.User, error) {
	return optional(ctx, loadsFrom(ctx).users, idsOf(recorded(objs), actorOfEvent))
}

func (r *operationEventResolver) Subject(ctx context.Context, objs []*model.OperationEvent) ([]model.Node, error) {
	return subjects(ctx, objs)
}

func (r *operationEventResolver) Operation(ctx context.Context, objs []*model.OperationEvent) ([]*operation.Operation, error) {
	return optional(ctx, loadsFrom(ctx).operations, idsOf(recorded(objs), operationOfEvent))
}

func (r *operationEventResolver) Actor(ctx context.Context, objs []*model.OperationEvent) ([]*team.User, error) {
	return optional(ctx, loadsFrom(ctx).users, idsOf(recorded(objs), actorOfEvent))
}

func (r *providerStatusEventResolver) Subject(ctx context.Context, objs []*model.ProviderStatusEvent) ([]model.Node, error) {
	return subjects(ctx, objs)
}

func (r *providerStatusEventResolver) Operation(ctx context.Context, objs []*model.ProviderStatusEvent) ([]*operation.Operation, error) {
	return optional(ctx, loadsFrom(ctx).operations, idsOf(recorded(objs), operationOfEvent))
}

func (r *providerStatusEventResolver) Actor(ctx context.Context, objs []*model.ProviderStatusEvent) ([]*team.User, error) {
	return optional(ctx, loadsFrom(ctx).users, idsOf(recorded(objs), actorOfEvent))
}

func (r *subscriptionResolver) ProjectEvents(ctx context.Context, projectID ident.ID, after *page.Cursor) (<-chan *model.EventBatch, error) {
	return r.followEvents(ctx, projectID, after)
}

func (r *Resolver) ComponentEvent() gen.ComponentEventResolver { return &componentEventResolver{r} }

func (r *Resolver) OperationEvent() gen.OperationEventResolver { return &operationEventResolver{r} }

func (r *Resolver) ProviderStatusEvent() gen.ProviderStatusEventResolver {
	return &providerStatusEventResolver{r}
}

type (
	componentEventResolver      struct{ *Resolver }
	operationEventResolver      struct{ *Resolver }
	providerStatusEventResolver struct{ *Resolver }
)
