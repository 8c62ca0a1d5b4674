package graph

import (
	"context"

	"biztraak.dev/vm/graph/gen"
	"biztraak.dev/vm/graph/model"
	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/page"
	"biztraak.dev/vm/internal/project"
	"biztraak.dev/vm/internal/team"
)

func (r *mutationResolver) CreateTeam(ctx context.Context, input team.CreateInput) (*model.CreateTeamPayload, error) {
	done, err := r.Teams.Create(ctx, input)
	refusals, err := refused(ctx, err)
	out := &model.CreateTeamPayload{UserErrors: refusals}
	if done != nil {
		out.Team, out.Replayed = done.Team, done.Replayed
	}
	return out, err
}

func (r *mutationResolver) UpdateTeamMember(ctx context.Context, input team.UpdateMemberInput) (*model.UpdateTeamMemberPayload, error) {
	done, err := r.Teams.UpdateMember(ctx, input)
	refusals, err := refused(ctx, err)
	return &model.UpdateTeamMemberPayload{Member: done, UserErrors: refusals}, err
}

func (r *mutationResolver) RemoveTeamMember(ctx context.Context, input team.RemoveMemberInput) (*model.RemoveTeamMemberPayload, error) {
	done, err := r.Teams.RemoveMember(ctx, input)
	refusals, err := refused(ctx, err)
	return &model.RemoveTeamMemberPayload{Team: done, UserErrors: refusals}, err
}

func (r *mutationResolver) CreateAccessToken(ctx context.Context, input team.CreateTokenInput) (*model.CreateAccessTokenPayload, error) {
	done, err := r.Teams.CreateToken(ctx, input)
	refusals, err := refused(ctx, err)
	out := &model.CreateAccessTokenPayload{UserErrors: refusals}
	if done != nil {
		out.AccessToken, out.Secret, out.Replayed = done.AccessToken, done.Secret, done.Replayed
	}
	return out, err
}

func (r *mutationResolver) RevokeAccessToken(ctx context.Context, input team.RevokeTokenInput) (*model.RevokeAccessTokenPayload, error) {
	done, err := r.Teams.RevokeToken(ctx, input)
	refusals, err := refused(ctx, err)
	return &model.RevokeAccessTokenPayload{AccessToken: done, UserErrors: refusals}, err
}

func (r *queryResolver) Team(ctx context.Context, id ident.ID) (*team.Team, error) {
	return loadsFrom(ctx).teams.one(ctx, id)
}

func (r *teamResolver) Members(ctx context.Context, obj *team.Team, first *int, after *page.Cursor, last *int, before *page.Cursor) (*model.Connection[*team.Member], error) {
	l := loadsFrom(ctx)
	return connectOne(ctx, l, l.members(pageArgs(first, after, last, before)), obj.ID)
}

func (r *teamResolver) CloudAccounts(ctx context.Context, obj *team.Team, first *int, after *page.Cursor, last *int, before *page.Cursor) (*model.Connection[*team.Account], error) {
	l := loadsFrom(ctx)
	return connectOne(ctx, l, l.cloudAccounts(pageArgs(first, after, last, before)), obj.ID)
}

func (r *teamResolver) Projects(ctx context.Context, obj *team.Team, first *int, after *page.Cursor, last *int, before *page.Cursor) (*model.Connection[*project.Project], error) {
	l := loadsFrom(ctx)
	return connectOne(ctx, l, l.projectsOf(pageArgs(first, after, last, before)), obj.ID)
}

func (r *Resolver) Team() gen.TeamResolver { return &teamResolver{r} }

type teamResolver struct{ *Resolver }
