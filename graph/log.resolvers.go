package graph

import (
	"context"

	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/page"
	"biztraak.dev/vm/internal/syslog"
)

func (r *subscriptionResolver) SystemLogs(ctx context.Context, providerID ident.ID, after *page.Cursor, tail int, filter *syslog.Filter) (<-chan *syslog.FeedBatch, error) {
	return r.followLog(ctx, syslog.FeedRequest{ProviderID: string(providerID), After: after, Tail: tail, Filter: orAll(filter)})
}
