package graph

import (
	"context"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
)

// freshLoads gives each response its own loaders, so that an event of a
// subscription that lives for hours is read anew; and each field of a mutation,
// because a later one is to see what an earlier one did.
type freshLoads struct{ deps Deps }

var (
	_ graphql.HandlerExtension     = (*freshLoads)(nil)
	_ graphql.ResponseInterceptor  = (*freshLoads)(nil)
	_ graphql.RootFieldInterceptor = (*freshLoads)(nil)
)

// ExtensionName names the extension in logs.
func (*freshLoads) ExtensionName() string { return "FreshLoads" }

// Validate has nothing to check.
func (*freshLoads) Validate(graphql.ExecutableSchema) error { return nil }

// InterceptResponse gives the response its loaders.
func (f *freshLoads) InterceptResponse(ctx context.Context, next graphql.ResponseHandler) *graphql.Response {
	ctx = withLoads(ctx, newLoads(f.deps))
	return next(rootedSubscription(ctx))
}

// InterceptRootField gives a field of a mutation loaders of its own.
func (f *freshLoads) InterceptRootField(ctx context.Context, next graphql.RootResolver) graphql.Marshaler {
	if graphql.GetOperationContext(ctx).Operation.Operation == ast.Mutation {
		ctx = withLoads(ctx, newLoads(f.deps))
	}
	return next(ctx)
}

// rootedSubscription makes paths in the events of a subscription begin with its
// field: the generated code resolves an event in the context of the response,
// which has none.
func rootedSubscription(ctx context.Context) context.Context {
	if !graphql.HasOperationContext(ctx) {
		return ctx
	}
	op := graphql.GetOperationContext(ctx)
	if op.Operation == nil || op.Operation.Operation != ast.Subscription {
		return ctx
	}
	fields := graphql.CollectFields(op, op.Operation.SelectionSet, []string{"Subscription"})
	if len(fields) != 1 {
		return ctx
	}
	return graphql.WithFieldContext(ctx, &graphql.FieldContext{Object: "Subscription", Field: fields[0]})
}
