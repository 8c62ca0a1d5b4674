package operation

import (
	"context"
	"fmt"
	"slices"

	"gorm.io/gorm"

	"biztraak.dev/vm/internal/auth"
	"biztraak.dev/vm/internal/fault"
	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/page"
	"biztraak.dev/vm/internal/store"
)

// Service reads operations and steers them for people.
type Service struct {
	db       *store.DB
	writer   *Writer
	registry Registry
}

// NewService makes a Service.
func NewService(db *store.DB, w *Writer, r Registry) *Service {
	return &Service{db: db, writer: w, registry: r}
}

type visibleRow struct {
	row
	role auth.Role
}

func (s *Service) visible(ctx context.Context, who auth.Actor, id ident.ID) (*visibleRow, error) {
	// The row is a named field: gorm leaves out what is embedded by a name that is
	// not exported.
	var found struct {
		Row       row `gorm:"embedded"`
		ScopeRole auth.Role
	}
	q := s.db.Gorm(ctx).Table("operation").Select("operation.*, scope_member.role AS scope_role")
	err := auth.Visible(q, who, "operation.team_id").Where("operation.id = ?", id).Scan(&found).Error
	if err != nil {
		return nil, fmt.Errorf("read operation: %w", err)
	}
	if found.Row.ID == "" {
		return nil, nil //nolint:nilnil // absent and not visible are the same, and no error
	}
	return &visibleRow{row: found.Row, role: auth.Lower(found.ScopeRole, who.Ceiling)}, nil
}

func (s *Service) byID(tx *gorm.DB, id ident.ID) (row, error) {
	var o row
	err := tx.Raw(`SELECT * FROM operation WHERE id = ?`, id).Scan(&o).Error
	return o, err
}

// Get reads an operation; nil when it is absent or not visible to the actor.
func (s *Service) Get(ctx context.Context, id ident.ID) (*Operation, error) {
	who, err := auth.From(ctx)
	if err != nil {
		return nil, err
	}
	found, err := s.visible(ctx, who, id)
	if err != nil || found == nil {
		return nil, err
	}
	return s.public(&found.row), nil
}

// Many reads operations by id, in the order asked, nil for each that is absent
// or not visible to the actor.
func (s *Service) Many(ctx context.Context, wanted []ident.ID) ([]*Operation, error) {
	who, err := auth.From(ctx)
	if err != nil {
		return nil, err
	}
	var rows []row
	q := s.db.Gorm(ctx).Table("operation").Select("operation.*")
	err = auth.Visible(q, who, "operation.team_id").Where("operation.id IN ?", wanted).Scan(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("read operations: %w", err)
	}
	byID := map[ident.ID]*Operation{}
	for i := range rows {
		byID[rows[i].ID] = s.public(&rows[i])
	}
	out := make([]*Operation, len(wanted))
	for i, id := range wanted {
		out[i] = byID[id]
	}
	return out, nil
}

// List is which operations a page is of.
type List struct {
	// Of are the objects whose operations are wanted, one page for each: projects,
	// or things that operations are done to. The actor must have been found to
	// see them.
	Of []ident.ID
	// Statuses narrows to these; empty for all.
	Statuses []Status
	Page     page.Args
}

// PagesOf reads one page of operations for each object, in one statement.
func (s *Service) PagesOf(ctx context.Context, l List) ([]page.Page[*Operation], error) {
	w, err := l.Page.Window()
	if err != nil {
		return nil, fault.New(fault.BadRequest, "%s", err.Error())
	}
	inner, err := s.listQuery(ctx, l, &w)
	if err != nil {
		return nil, err
	}
	pages, err := store.PagesOf[row](s.db.Gorm(ctx), l.Of, inner, store.IDOrder(w), w)
	if err != nil {
		return nil, fmt.Errorf("list operations: %w", err)
	}
	out := make([]page.Page[*Operation], len(pages))
	for i, p := range pages {
		out[i] = page.Page[*Operation]{HasNext: p.HasNext, HasPrevious: p.HasPrevious}
		for k := range p.Items {
			out[i].Items = append(out[i].Items, s.public(&p.Items[k]))
		}
	}
	return out, nil
}

// CountOf counts the operations of each object.
func (s *Service) CountOf(ctx context.Context, l List) ([]int, error) {
	inner, err := s.listQuery(ctx, l, nil)
	if err != nil {
		return nil, err
	}
	out, err := store.CountsOf(s.db.Gorm(ctx), l.Of, inner)
	if err != nil {
		return nil, fmt.Errorf("count operations: %w", err)
	}
	return out, nil
}

// listQuery is the query for one object, whose id is w.of_id. A project's
// operations are found by the project, others by what they are done to or what
// is above it.
func (s *Service) listQuery(ctx context.Context, l List, w *page.Window) (*gorm.DB, error) {
	q := s.db.Gorm(ctx).Table("operation")
	if len(l.Of) > 0 && l.Of[0].Kind() == ident.Project {
		q = q.Where("project_id = w.of_id")
	} else {
		q = q.Where("(target_id = w.of_id OR ancestors @> ARRAY[w.of_id])")
	}
	if len(l.Statuses) > 0 {
		q = q.Where(statusFilter(l.Statuses))
	}
	if w == nil {
		return q, nil
	}
	return store.Keyset(q, *w, "id")
}

// statusFilter says the public statuses in terms of the row: a row that is
// queued between two steps is RUNNING for people.
func statusFilter(wanted []Status) string {
	sql := "false"
	for _, s := range wanted {
		switch s {
		case Queued:
			sql += " OR (status = 'QUEUED' AND started_at IS NULL)"
		case Running:
			sql += " OR status = 'RUNNING' OR (status = 'QUEUED' AND started_at IS NOT NULL)"
		case Succeeded, Failed, Canceled:
			sql += " OR status = '" + string(s) + "'"
		}
	}
	// Naming the live ones lets the partial index of live operations serve.
	if !slices.ContainsFunc(wanted, Status.Ended) {
		return "(" + sql + ") AND status IN ('QUEUED', 'RUNNING')"
	}
	return "(" + sql + ")"
}

// StepsOf reads the steps of each operation, in one statement. The actor must
// have been found to see the operations.
func (s *Service) StepsOf(ctx context.Context, ops []ident.ID) ([][]Step, error) {
	var rows []struct {
		Step
		OperationID ident.ID
	}
	err := s.db.Gorm(ctx).Raw(`SELECT operation_id, name, status, started_at, finished_at, detail
		FROM operation_step WHERE operation_id IN ? ORDER BY operation_id, idx`, ops).Scan(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("read steps: %w", err)
	}
	byOp := map[ident.ID][]Step{}
	for _, r := range rows {
		byOp[r.OperationID] = append(byOp[r.OperationID], r.Step)
	}
	out := make([][]Step, len(ops))
	for i, id := range ops {
		out[i] = byOp[id]
	}
	return out, nil
}

func publicStatus(o *row) Status {
	if o.Status == Queued && o.StartedAt != nil {
		return Running
	}
	return o.Status
}

func (s *Service) public(o *row) *Operation {
	out := &Operation{
		ID: o.ID, TeamID: o.TeamID, ProjectID: o.ProjectID, Kind: o.Kind, Status: publicStatus(o),
		TargetID: o.TargetID, Ancestors: o.Ancestors, Steps: len(s.registry[o.Kind].Steps), StepsDone: o.StepsDone,
		Attempt: o.Tries + o.Retries + 1, Cancelable: s.registry.cancelable(o), Simulated: o.Simulated,
		CreatedAt: o.CreatedAt.UTC(), StartedAt: o.StartedAt, FinishedAt: o.FinishedAt,
	}
	if o.ActorID != nil {
		out.ActorID = *o.ActorID
	}
	if o.Status == Failed || o.Status == Canceled {
		out.Error = errorOf(o)
	}
	return out
}
