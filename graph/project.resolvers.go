package graph

import (
	"context"

	"biztraak.dev/vm/graph/gen"
	"biztraak.dev/vm/graph/model"
	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/operation"
	"biztraak.dev/vm/internal/page"
	"biztraak.dev/vm/internal/project"
	"biztraak.dev/vm/internal/team"
	"biztraak.dev/vm/internal/vm"
)

func (r *mutationResolver) CreateProject(ctx context.Context, input project.CreateInput) (*model.CreateProjectPayload, error) {
	done, err := r.Projects.Create(ctx, input)
	refusals, err := refused(ctx, err)
	out := &model.CreateProjectPayload{UserErrors: refusals}
	if done != nil {
		out.Project, out.Replayed = done.Project, done.Replayed
	}
	return out, err
}

func (r *mutationResolver) UpdateProject(ctx context.Context, input project.UpdateInput) (*model.UpdateProjectPayload, error) {
	done, err := r.Projects.Update(ctx, input)
	refusals, err := refused(ctx, err)
	return &model.UpdateProjectPayload{Project: done, UserErrors: refusals}, err
}

func (r *mutationResolver) DeleteProject(ctx context.Context, input project.DeleteInput) (*model.DeleteProjectPayload, error) {
	done, err := r.Projects.Delete(ctx, input)
	refusals, err := refused(ctx, err)
	return &model.DeleteProjectPayload{DeletedProjectID: orNil(done), UserErrors: refusals}, err
}

func (r *projectResolver) Team(ctx context.Context, obj *project.Project) (*team.Team, error) {
	return requiredOne(loadsFrom(ctx).teams.one(ctx, obj.TeamID))
}

func (r *projectResolver) Components(ctx context.Context, obj *project.Project, kind *string, first *int, after *page.Cursor, last *int, before *page.Cursor) (*model.Connection[model.ProjectComponent], error) {
	l := loadsFrom(ctx)
	return connectOne(ctx, l, l.components(kind, pageArgs(first, after, last, before)), obj.ID)
}

func (r *projectResolver) VirtualMachines(ctx context.Context, obj *project.Project, first *int, after *page.Cursor, last *int, before *page.Cursor) (*model.Connection[*vm.VM], error) {
	l := loadsFrom(ctx)
	return connectOne(ctx, l, l.virtualMachines(pageArgs(first, after, last, before)), obj.ID)
}

func (r *projectResolver) Operations(ctx context.Context, obj *project.Project, statuses []operation.Status, first *int, after *page.Cursor, last *int, before *page.Cursor) (*model.Connection[*operation.Operation], error) {
	l := loadsFrom(ctx)
	return connectOne(ctx, l, l.projectOperations(statuses, pageArgs(first, after, last, before)), obj.ID)
}

func (r *projectResolver) Events(ctx context.Context, obj *project.Project, first *int, after *page.Cursor) (*model.Connection[model.ProjectEvent], error) {
	l := loadsFrom(ctx)
	return connectOne(ctx, l, l.projectEvents(page.Args{First: first, After: after}), obj.ID)
}

func (r *queryResolver) Project(ctx context.Context, id ident.ID) (*project.Project, error) {
	return loadsFrom(ctx).projects.one(ctx, id)
}

func (r *Resolver) Project() gen.ProjectResolver { return &projectResolver{r} }

type projectResolver struct{ *Resolver }
