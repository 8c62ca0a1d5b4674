package syslog

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"biztraak.dev/vm/internal/fault"
	"biztraak.dev/vm/internal/page"
)

// Page reads one page of a log, oldest line first. It fails with a BAD_REQUEST
// fault for malformed arguments, and with *CursorExpiredError when lines between
// the cursor and the page are no longer kept.
func (s *Store) Page(ctx context.Context, providerID string, args page.Args, filter Filter) (page.Page[Line], error) {
	var none page.Page[Line]
	w, err := args.Window()
	if err != nil {
		return none, fault.New(fault.BadRequest, "%s", err.Error())
	}
	if err := filter.Validate(); err != nil {
		return none, err
	}
	after, err := parsePlace(w.After)
	if err != nil {
		return none, err
	}
	before, err := parsePlace(w.Before)
	if err != nil {
		return none, err
	}
	params := []any{providerID, w.Size + 1}
	var where strings.Builder
	where.WriteString("provider_id = $1")
	if after != nil {
		params = append(params, after.day, after.seq)
		fmt.Fprintf(&where, " AND ingested_on >= $%d AND seq > $%d", len(params)-1, len(params))
	}
	if before != nil {
		// The cursor of a line is the place after it, so its number is the bound.
		// The day is no bound here: it may be earlier than that of the line.
		params = append(params, before.seq)
		fmt.Fprintf(&where, " AND seq < $%d", len(params))
	}
	where.WriteString(filter.where(&params))
	order := "ingested_on, seq"
	if w.Backward {
		order = "ingested_on DESC, seq DESC"
	}
	lines, err := s.query(ctx, "SELECT "+lineColumns+" FROM log_line WHERE "+where.String()+" ORDER BY "+order+" LIMIT $2", params)
	if err != nil {
		return none, err
	}
	// Checked last: lines that retention takes away during the read are noticed.
	if err := s.check(ctx, providerID, after, before); err != nil {
		return none, err
	}
	return page.Cut(w, lines), nil
}

// check refuses places that the log as it is now does not have.
func (s *Store) check(ctx context.Context, providerID string, places ...*place) error {
	places = slices.DeleteFunc(places, func(p *place) bool { return p == nil })
	if len(places) == 0 {
		return nil
	}
	b, err := s.bounds(ctx, providerID)
	if err != nil {
		return err
	}
	for _, p := range places {
		if err := p.check(b); err != nil {
			return err
		}
	}
	return nil
}
