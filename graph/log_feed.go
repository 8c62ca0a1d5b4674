package graph

import (
	"context"

	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/syslog"
)

// followLog follows the log of a VM provider.
func (r *Resolver) followLog(ctx context.Context, request syslog.FeedRequest) (<-chan *syslog.FeedBatch, error) {
	id := ident.ID(request.ProviderID)
	found, err := r.VMs.Provider(ctx, id)
	if err != nil {
		return nil, err
	}
	if found == nil {
		return gone[syslog.FeedBatch](), nil
	}
	s, err := newStream[syslog.FeedBatch](ctx, r, found.TeamID)
	if err != nil {
		return nil, err
	}
	feed, err := r.Logs.Feed(s.ctx, request) //nolint:contextcheck // the stream's own, which is made of ctx
	if err != nil {
		s.close()
		return nil, err
	}
	f := &logFeed{stream: s, providerID: id, feed: feed}
	return s.start(f.run), nil
}

// logFeed is one follower of a VM provider's log.
type logFeed struct {
	*stream[syslog.FeedBatch]
	providerID ident.ID
	feed       *syslog.Feed
	batch      *syslog.FeedBatch
}

func (f *logFeed) run() error {
	defer f.feed.Close()
	for {
		if more, err := f.patiently(f.wait, f.exists); err != nil || !more {
			return err
		}
		if !f.send(f.batch) {
			return nil
		}
	}
}

func (f *logFeed) wait(ctx context.Context) error {
	batch, err := f.feed.Next(ctx)
	f.batch = &batch
	return err
}

func (f *logFeed) exists(ctx context.Context) (bool, error) {
	found, err := f.resolver.VMs.Provider(ctx, f.providerID)
	return found != nil, err
}
