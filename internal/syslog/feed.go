package syslog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"biztraak.dev/vm/internal/fault"
	"biztraak.dev/vm/internal/hub"
	"biztraak.dev/vm/internal/page"
)

// MaxTail is how far back a feed can start, in lines.
const MaxTail = 1000

// FeedRequest says what to follow.
type FeedRequest struct {
	ProviderID string
	// After is where to continue; nil starts with the last Tail lines that meet
	// the filter, 0 to MaxTail.
	After  *page.Cursor
	Tail   int
	Filter Filter
}

// FeedBatch is what one Next of a feed answers.
type FeedBatch struct {
	// Lines are in order; none when the batch only tells the cursor. They are
	// shared between followers and must not be changed.
	Lines []Line
	// EndCursor is where the next batch begins.
	EndCursor page.Cursor
	// Lagged says that the lines are from behind the live end.
	Lagged bool
}

// Feed follows one log. It is pulled: it holds a place, and nothing is queued
// for it, so a slow reader costs nothing and misses nothing. One goroutine uses
// it at a time.
type Feed struct {
	store      *Store
	providerID string
	filter     Filter
	sub        *hub.Subscription

	at   place // what is up to here was given or passed over
	head int64 // the newest number that is known of

	told   int64 // the number of the last EndCursor, -1 before the first
	toldAt time.Time
}

// Feed begins to follow. It fails with a BAD_REQUEST fault for a malformed
// request and with *CursorExpiredError when lines after the cursor are gone.
// Close the feed after use.
func (s *Store) Feed(ctx context.Context, r FeedRequest) (*Feed, error) {
	if err := r.Filter.Validate(); err != nil {
		return nil, err
	}
	if r.Tail < 0 || r.Tail > MaxTail {
		return nil, fault.New(fault.BadRequest, "tail is between 0 and %d, not %d", MaxTail, r.Tail)
	}
	// Subscribed first, so that a line stored during the reads below is a wake.
	f := &Feed{
		store: s, providerID: r.ProviderID, filter: r.Filter, told: -1, toldAt: time.Now(),
		sub: s.hub.Subscribe(hub.LogStream(r.ProviderID)),
	}
	if err := f.begin(ctx, r); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// begin finds the place to start from.
func (f *Feed) begin(ctx context.Context, r FeedRequest) error {
	after, err := parsePlace(r.After)
	if err != nil {
		return err
	}
	b, err := f.store.bounds(ctx, r.ProviderID)
	if err != nil {
		return err
	}
	f.head = b.head
	f.sub.Skip(b.head)
	if after != nil {
		f.at = *after
		return after.check(b)
	}
	f.at, err = f.store.tail(ctx, r, b)
	return err
}

// tail finds the place before the last lines that meet the filter.
func (s *Store) tail(ctx context.Context, r FeedRequest, b bounds) (place, error) {
	if r.Tail == 0 {
		return b.end(), nil
	}
	params := []any{r.ProviderID, b.head, r.Tail - 1}
	var p place
	err := s.pool.QueryRow(ctx, `
		SELECT ingested_on, seq - 1 FROM log_line
		WHERE provider_id = $1 AND seq <= $2`+r.Filter.where(&params)+`
		ORDER BY ingested_on DESC, seq DESC OFFSET $3 LIMIT 1`, params...).Scan(&p.day, &p.seq)
	if errors.Is(err, pgx.ErrNoRows) {
		return b.start(), nil
	}
	if err != nil {
		return p, fmt.Errorf("read end of log: %w", err)
	}
	return p, nil
}

// Close ends the feed.
func (f *Feed) Close() { f.sub.Close() }
