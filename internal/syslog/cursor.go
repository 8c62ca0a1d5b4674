package syslog

import (
	"strconv"
	"time"

	"biztraak.dev/vm/internal/fault"
	"biztraak.dev/vm/internal/page"
)

// cursorKind keeps cursors of other lists out.
const cursorKind = "log"

// place is what a cursor of a log holds: the place right after the line seq,
// and a day on or before that of the next line, which tells the partitions in
// which no line after it can be. Numbers start at 1, so seq 0 is the beginning.
type place struct {
	day time.Time
	seq int64
}

func (p place) cursor() page.Cursor {
	return page.NewCursor(cursorKind, p.day.Format(time.DateOnly), strconv.FormatInt(p.seq, 10))
}

// parsePlace reads a cursor, nil for none; a malformed one is a BAD_REQUEST fault.
func parsePlace(c *page.Cursor) (*place, error) {
	if c == nil {
		return nil, nil
	}
	parts, err := c.Parts(3)
	if err != nil {
		return nil, fault.New(fault.BadRequest, "%s", err.Error())
	}
	day, dayErr := time.Parse(time.DateOnly, parts[1])
	seq, seqErr := strconv.ParseInt(parts[2], 10, 64)
	if parts[0] != cursorKind || dayErr != nil || seqErr != nil || seq < 0 {
		return nil, fault.New(fault.BadRequest, "the cursor belongs to another list: pass one that this list answered")
	}
	return &place{day: day, seq: seq}, nil
}

// CursorExpiredError says that lines after a cursor are gone, by age or by the
// limit of bytes.
type CursorExpiredError struct {
	// First is the cursor right before the oldest line there is: reading after
	// it gives everything that is left.
	First page.Cursor
}

// Error says what happened and what to do.
func (e *CursorExpiredError) Error() string {
	return "lines after this cursor are no longer kept; continue after the first available cursor"
}

// check refuses a place that lines were dropped behind of, or that no line has
// reached yet.
func (p place) check(b bounds) error {
	if p.seq < b.first-1 {
		return &CursorExpiredError{First: b.start().cursor()}
	}
	if p.seq > b.head {
		return fault.New(fault.BadRequest, "the cursor belongs to another log: pass one that this list answered")
	}
	return nil
}
