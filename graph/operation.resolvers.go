package graph

import (
	"context"

	"biztraak.dev/vm/graph/gen"
	"biztraak.dev/vm/graph/model"
	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/operation"
	"biztraak.dev/vm/internal/team"
)

func (r *mutationResolver) CancelOperation(ctx context.Context, input operation.CancelInput) (*model.CancelOperationPayload, error) {
	done, err := r.Operations.Cancel(ctx, input)
	refusals, err := refused(ctx, err)
	return &model.CancelOperationPayload{Operation: done, UserErrors: refusals}, err
}

func (r *mutationResolver) RetryOperation(ctx context.Context, input operation.RetryInput) (*model.RetryOperationPayload, error) {
	done, err := r.Operations.Retry(ctx, input)
	refusals, err := refused(ctx, err)
	out := &model.RetryOperationPayload{UserErrors: refusals}
	if done != nil {
		out.Operation, out.Replayed = done.Operation, done.Replayed
	}
	return out, err
}

func (r *operationResolver) Target(ctx context.Context, objs []*operation.Operation) ([]model.Node, error) {
	return loadsFrom(ctx).nodes(ctx, idsOf(objs, func(o *operation.Operation) ident.ID { return o.TargetID }))
}

func (r *operationResolver) Steps(ctx context.Context, objs []*operation.Operation) ([][]*operation.Step, error) {
	return pointers(loadsFrom(ctx).steps.all(ctx, idsOf(objs, func(o *operation.Operation) ident.ID { return o.ID })))
}

func (r *operationResolver) Actor(ctx context.Context, objs []*operation.Operation) ([]*team.User, error) {
	return optional(ctx, loadsFrom(ctx).users, idsOf(objs, func(o *operation.Operation) ident.ID { return o.ActorID }))
}

func (r *queryResolver) Operation(ctx context.Context, id ident.ID) (*operation.Operation, error) {
	return loadsFrom(ctx).operations.one(ctx, id)
}

func (r *subscriptionResolver) Operation(ctx context.Context, id ident.ID) (<-chan *operation.Operation, error) {
	return watch(ctx, r.Resolver, id, r.Operations.Get, func(o *operation.Operation) home { return home{o.TeamID, o.ProjectID} })
}

func (r *Resolver) Operation() gen.OperationResolver { return &operationResolver{r} }

type operationResolver struct{ *Resolver }
