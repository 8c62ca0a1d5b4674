package graph

import (
	"context"

	"biztraak.dev/vm/graph/model"
	"biztraak.dev/vm/internal/team"
)

func (r *mutationResolver) ConnectCloudAccount(ctx context.Context, input team.ConnectAccountInput) (*model.ConnectCloudAccountPayload, error) {
	done, err := r.Teams.ConnectAccount(ctx, input)
	refusals, err := refused(ctx, err)
	out := &model.ConnectCloudAccountPayload{UserErrors: refusals}
	if done != nil {
		out.CloudAccount, out.Replayed = done.CloudAccount, done.Replayed
	}
	return out, err
}
