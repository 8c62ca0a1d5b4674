package syslog

import (
	"context"
	"errors"
	"time"
)

const (
	// feedLines is how many lines a batch of a feed has at most, feedPassed how
	// many a filter passes over before a batch tells the cursor.
	feedLines  = 200
	feedPassed = 10_000
)

// Next blocks until there is a batch: lines, or, at the beginning and after many
// lines or some time without a match, none and a cursor. It fails with
// *CursorExpiredError when retention has overtaken the reader, hub.ErrClosed
// when the server stops, or the context's error.
func (f *Feed) Next(ctx context.Context) (FeedBatch, error) {
	for {
		lines, lagged, err := f.read(ctx)
		if err != nil {
			return FeedBatch{}, err
		}
		if len(lines) > 0 || f.told < 0 || f.at.seq-f.told >= feedPassed || f.due() {
			f.told, f.toldAt = f.at.seq, time.Now()
			return FeedBatch{Lines: lines, EndCursor: f.at.cursor(), Lagged: lagged}, nil
		}
		if f.at.seq >= f.head {
			if err := f.wait(ctx); err != nil {
				return FeedBatch{}, err
			}
		}
	}
}

// due says that the cursor has moved and has not been told for some time.
func (f *Feed) due() bool {
	return f.at.seq != f.told && time.Since(f.toldAt) >= f.store.beat
}

// wait blocks until there may be more lines, or the cursor is due.
func (f *Feed) wait(ctx context.Context) error {
	if f.at.seq != f.told {
		beat, cancel := context.WithDeadline(ctx, f.toldAt.Add(f.store.beat))
		defer cancel()
		err := f.await(beat)
		if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
			return nil
		}
		return err
	}
	return f.await(ctx)
}

func (f *Feed) await(ctx context.Context) error {
	w, err := f.sub.Wait(ctx)
	if err == nil {
		f.head = max(w.Seq, f.at.seq)
	}
	return err
}

// read takes the next lines, as many as one read gives, and moves the place.
func (f *Feed) read(ctx context.Context) (lines []Line, lagged bool, err error) {
	if f.at.seq >= f.head {
		return nil, false, nil
	}
	// Near the end lines are in memory, or soon will be for everybody, and are
	// filtered here; further back the database filters.
	if f.filter.empty() || f.head-f.at.seq <= ringLines {
		return f.readShared(ctx)
	}
	lines, err = f.scan(ctx)
	return lines, f.at.seq < f.head, err
}

func (f *Feed) readShared(ctx context.Context) (lines []Line, lagged bool, err error) {
	read, live, err := f.store.ring.Next(ctx, f.providerID, f.at.seq, feedLines)
	if err != nil {
		return nil, false, err
	}
	if len(read) == 0 || read[0].Seq != f.at.seq+1 {
		// The lines that were announced are not there: dropped meanwhile, or
		// announced by mistake.
		b, err := f.store.bounds(ctx, f.providerID)
		if err == nil {
			err = f.at.check(b)
		}
		if f.head = b.head; err != nil || len(read) == 0 {
			return nil, false, err
		}
	}
	last := read[len(read)-1]
	f.at = place{day: last.Day, seq: last.Seq}
	if f.filter.empty() {
		return read, !live && f.at.seq < f.head, nil
	}
	for _, l := range read {
		if f.filter.match(l) {
			lines = append(lines, l)
		}
	}
	return lines, !live && f.at.seq < f.head, nil
}

// scan lets the database look through the next lines.
func (f *Feed) scan(ctx context.Context) ([]Line, error) {
	// Numbers up to a head that was read before the lines are all visible.
	before, err := f.store.bounds(ctx, f.providerID)
	if err != nil {
		return nil, err
	}
	f.head = before.head
	upTo := min(f.at.seq+feedPassed, f.head)
	params := []any{f.providerID, f.at.day, f.at.seq, upTo, feedLines}
	lines, err := f.store.query(ctx, `
		SELECT `+lineColumns+` FROM log_line
		WHERE provider_id = $1 AND ingested_on >= $2 AND seq > $3 AND seq <= $4`+f.filter.where(&params)+`
		ORDER BY ingested_on, seq LIMIT $5`, params)
	if err != nil {
		return nil, err
	}
	if err := f.store.check(ctx, f.providerID, &f.at); err != nil {
		return nil, err
	}
	if n := len(lines); n > 0 {
		f.at.day = lines[n-1].Day
	}
	f.at.seq = upTo
	if len(lines) == feedLines {
		f.at.seq = lines[feedLines-1].Seq
	}
	return lines, nil
}
