package graph

import (
	"context"

	"biztraak.dev/vm/graph/gen"
	"biztraak.dev/vm/graph/model"
	"biztraak.dev/vm/internal/auth"
	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/team"
)

func (r *queryResolver) Viewer(ctx context.Context) (*model.Viewer, error) {
	if _, err := auth.From(ctx); err != nil {
		return nil, err
	}
	return &model.Viewer{}, nil
}

func (r *queryResolver) Platform(ctx context.Context) (*model.Platform, error) {
	return &model.Platform{
		Version:        r.Version,
		Features:       &model.PlatformFeatures{DeployVMEnabled: r.DeployVMEnabled},
		CloudProviders: r.CloudProviders,
	}, nil
}

func (r *queryResolver) Node(ctx context.Context, id ident.ID) (model.Node, error) {
	return loadsFrom(ctx).node(ctx, id)
}

func (r *queryResolver) Nodes(ctx context.Context, ids []ident.ID) ([]model.Node, error) {
	if err := checkNodes(ids); err != nil {
		return nil, err
	}
	return loadsFrom(ctx).nodes(ctx, ids)
}

func (r *viewerResolver) User(ctx context.Context, obj *model.Viewer) (*team.User, error) {
	who, err := auth.From(ctx)
	if err != nil {
		return nil, err
	}
	return requiredOne(loadsFrom(ctx).users.one(ctx, who.UserID))
}

func (r *viewerResolver) Token(ctx context.Context, obj *model.Viewer) (*team.AccessToken, error) {
	who, err := auth.From(ctx)
	if err != nil {
		return nil, err
	}
	return requiredOne(r.Resolver.Teams.Token(ctx, who.TokenID))
}

func (r *viewerResolver) Teams(ctx context.Context, obj *model.Viewer) ([]*team.Team, error) {
	mine, err := r.Resolver.Teams.Mine(ctx)
	loadsFrom(ctx).sawTeams(mine...)
	return mine, err
}

func (r *Resolver) Mutation() gen.MutationResolver { return &mutationResolver{r} }

func (r *Resolver) Query() gen.QueryResolver { return &queryResolver{r} }

func (r *Resolver) Subscription() gen.SubscriptionResolver { return &subscriptionResolver{r} }

func (r *Resolver) Viewer() gen.ViewerResolver { return &viewerResolver{r} }

type (
	mutationResolver     struct{ *Resolver }
	queryResolver        struct{ *Resolver }
	subscriptionResolver struct{ *Resolver }
	viewerResolver       struct{ *Resolver }
)
