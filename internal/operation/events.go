package operation

import (
	"context"
	"fmt"
	"strconv"

	"biztraak.dev/vm/internal/fault"
	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/page"
	"biztraak.dev/vm/internal/store"
)

// EventCursor is the place after the event with the number.
func EventCursor(seq int64) page.Cursor { return page.NewCursor("event", strconv.FormatInt(seq, 10)) }

// EventSeq reads a cursor of a project's events.
func EventSeq(c page.Cursor) (int64, error) {
	parts, err := c.Parts(2)
	if err != nil {
		return 0, fault.New(fault.BadRequest, "%s", err.Error())
	}
	seq, err := strconv.ParseInt(parts[1], 10, 64)
	if parts[0] != "event" || err != nil || seq < 0 {
		return 0, fault.New(fault.BadRequest, "the cursor belongs to another list: pass one that this list answered")
	}
	return seq, nil
}

const eventColumns = `project_id, seq, kind, occurred_at, subject_id, coalesce(operation_id, '') AS operation_id,
	coalesce(actor_id, '') AS actor_id, coalesce(status, '') AS status, coalesce(step, '') AS step`

// EventsAfter reads up to limit events of a project that follow the number, in
// order. The actor must have been found to see the project.
func (s *Service) EventsAfter(ctx context.Context, project ident.ID, after int64, limit int) ([]Event, error) {
	var rows []Event
	err := s.db.Gorm(ctx).Raw(`SELECT `+eventColumns+`
		FROM event WHERE project_id = ? AND seq > ? ORDER BY seq LIMIT ?`, project, after, limit).Scan(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("read events: %w", err)
	}
	return rows, nil
}

// EventPagesOf reads one page of the events of each project, oldest first, in
// one statement. The actor must have been found to see the projects.
func (s *Service) EventPagesOf(ctx context.Context, projects []ident.ID, args page.Args) ([]page.Page[Event], error) {
	w, err := args.Window()
	if err != nil {
		return nil, fault.New(fault.BadRequest, "%s", err.Error())
	}
	var after int64
	if w.After != nil {
		if after, err = EventSeq(*w.After); err != nil {
			return nil, err
		}
	}
	inner := s.db.Gorm(ctx).Table("event").Select(eventColumns).
		Where("project_id = w.of_id AND seq > ?", after).Order("seq").Limit(w.Size + 1)
	pages, err := store.PagesOf[Event](s.db.Gorm(ctx), projects, inner, "seq", w)
	if err != nil {
		return nil, fmt.Errorf("list events: %w", err)
	}
	return pages, nil
}

// ProjectHeads answers the number of the newest event of each project; what is
// gone is left out.
func (s *Service) ProjectHeads(ctx context.Context, projects []string) (map[string]int64, error) {
	return s.heads(ctx, `SELECT id AS key, event_seq AS seq FROM project WHERE id = ANY(?::text[])`, projects)
}

// AccessHeads answers how often what a user may do in a team has changed, for
// keys of the form team/user.
func (s *Service) AccessHeads(ctx context.Context, keys []string) (map[string]int64, error) {
	return s.heads(ctx, `SELECT key, a.access_version AS seq FROM unnest(?::text[]) key JOIN team_access a
		ON a.team_id = split_part(key, '/', 1) AND a.user_id = split_part(key, '/', 2)`, keys)
}

// TokenHeads answers how often the right of each access token has changed.
func (s *Service) TokenHeads(ctx context.Context, tokens []string) (map[string]int64, error) {
	return s.heads(ctx, `SELECT id AS key, access_version AS seq FROM access_token WHERE id = ANY(?::text[])`, tokens)
}

func (s *Service) heads(ctx context.Context, query string, keys []string) (map[string]int64, error) {
	var rows []struct {
		Key string
		Seq int64
	}
	if err := s.db.Gorm(ctx).Raw(query, textArray(keys)).Scan(&rows).Error; err != nil {
		return nil, fmt.Errorf("read stream heads: %w", err)
	}
	out := make(map[string]int64, len(rows))
	for _, r := range rows {
		out[r.Key] = r.Seq
	}
	return out, nil
}
