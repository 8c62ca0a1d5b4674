package graph

import (
	"context"

	"biztraak.dev/vm/graph/model"
	"biztraak.dev/vm/internal/fault"
	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/operation"
	"biztraak.dev/vm/internal/page"
)

// mostEvents is how many events a batch has at most.
const mostEvents = 200

// followEvents follows the events of a project from a cursor on, or from now on.
// The first batch may be empty: it tells where the feed begins.
func (r *Resolver) followEvents(ctx context.Context, projectID ident.ID, after *page.Cursor) (<-chan *model.EventBatch, error) {
	found, err := r.Projects.Get(ctx, projectID)
	if err != nil {
		return nil, err
	}
	if found == nil {
		return gone[model.EventBatch](), nil
	}
	s, err := newStream[model.EventBatch](ctx, r, found.TeamID)
	if err != nil {
		return nil, err
	}
	f := &eventFeed{stream: s, projectID: projectID}
	if err := f.begin(after); err != nil {
		s.close()
		return nil, err
	}
	return s.start(f.run), nil
}

// eventFeed is one follower of a project's events.
type eventFeed struct {
	*stream[model.EventBatch]
	projectID ident.ID
	// at is the number of the last event that was sent, head the newest known.
	at, head int64
}

// begin finds the place to start from, which must not be beyond the head.
func (f *eventFeed) begin(after *page.Cursor) (err error) {
	if f.head, err = f.follow(f.projectID); err != nil {
		return err
	}
	f.at = f.head
	if after == nil {
		return nil
	}
	if f.at, err = operation.EventSeq(*after); err != nil {
		return err
	}
	if f.at > f.head {
		return fault.New(fault.BadRequest, "the cursor belongs to another project: pass one that this feed answered")
	}
	return nil
}

func (f *eventFeed) run() error {
	for told := false; ; told = true {
		events, err := f.next()
		if err != nil {
			return err
		}
		if len(events) > 0 {
			f.at = events[len(events)-1].Seq
		}
		if len(events) > 0 || !told {
			batch := &model.EventBatch{Events: model.NewProjectEvents(events), EndCursor: operation.EventCursor(f.at)}
			if !f.send(batch) {
				return nil
			}
		}
		if len(events) > 0 && f.at < f.head {
			continue
		}
		if more, err := f.patiently(f.wait, f.exists); err != nil || !more {
			return err
		}
	}
}

// next reads what follows, as far as anything is known to.
func (f *eventFeed) next() ([]operation.Event, error) {
	if f.at >= f.head {
		return nil, nil
	}
	events, _, err := f.resolver.events.Next(f.ctx, string(f.projectID), f.at, mostEvents)
	return events, err
}

func (f *eventFeed) wait(ctx context.Context) error {
	wake, err := f.wakes.Wait(ctx)
	if err == nil {
		f.head = max(f.head, wake.Seq)
	}
	return err
}

func (f *eventFeed) exists(ctx context.Context) (bool, error) {
	found, err := f.resolver.Projects.Get(ctx, f.projectID)
	return found != nil, err
}
