package project

import (
	"context"
	"fmt"

	"biztraak.dev/vm/internal/auth"
	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/operation"
	"biztraak.dev/vm/internal/page"
	"biztraak.dev/vm/internal/store"
)

// Deps are what the room needs of others.
type Deps struct {
	DB     *store.DB
	Writer *operation.Writer
}

// Service is what can be done with projects. The actor is taken out of the
// context; without one, every method is UNAUTHENTICATED.
type Service struct {
	db     *store.DB
	writer *operation.Writer
}

// NewService makes a Service.
func NewService(d Deps) *Service { return &Service{db: d.DB, writer: d.Writer} }

// Get reads a project; nil when it is absent or not visible to the actor.
func (s *Service) Get(ctx context.Context, id ident.ID) (*Project, error) {
	found, err := s.Many(ctx, []ident.ID{id})
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

// Many reads projects in the order asked, nil for each that is absent or not
// visible to the actor.
func (s *Service) Many(ctx context.Context, wanted []ident.ID) ([]*Project, error) {
	who, err := auth.From(ctx)
	if err != nil {
		return nil, err
	}
	var rows []row
	if err := visible(s.db.Gorm(ctx), who).Where("p.id = ANY(?::text[])", store.IDs(wanted)).Scan(&rows).Error; err != nil {
		return nil, fmt.Errorf("read projects: %w", err)
	}
	byID := make(map[ident.ID]*Project, len(rows))
	for i := range rows {
		byID[rows[i].ID] = rows[i].public(who)
	}
	out := make([]*Project, len(wanted))
	for i, id := range wanted {
		out[i] = byID[id]
	}
	return out, nil
}

// PagesOf reads one page of the projects of each team, oldest first, in one
// statement; empty for a team that the actor may not see.
func (s *Service) PagesOf(ctx context.Context, teams []ident.ID, args page.Args) ([]page.Page[*Project], error) {
	who, err := auth.From(ctx)
	if err != nil {
		return nil, err
	}
	w, err := window(args)
	if err != nil {
		return nil, err
	}
	inner, err := store.Keyset(visible(s.db.Gorm(ctx), who).Where("p.team_id = w.of_id"), w, "p.id")
	if err != nil {
		return nil, err
	}
	pages, err := store.PagesOf[row](s.db.Gorm(ctx), teams, inner, store.IDOrder(w), w)
	if err != nil {
		return nil, fmt.Errorf("list projects: %w", err)
	}
	return pointers(pages, func(r *row) *Project { return r.public(who) }), nil
}

// CountOf counts the projects of each team, in one statement.
func (s *Service) CountOf(ctx context.Context, teams []ident.ID) ([]int, error) {
	who, err := auth.From(ctx)
	if err != nil {
		return nil, err
	}
	counts, err := store.CountsOf(s.db.Gorm(ctx), teams, visible(s.db.Gorm(ctx), who).Where("p.team_id = w.of_id"))
	if err != nil {
		return nil, fmt.Errorf("count projects: %w", err)
	}
	return counts, nil
}

// ComponentsOf reads one page of the components of each project, oldest first,
// in one statement: those of the kind, or all for nil.
func (s *Service) ComponentsOf(
	ctx context.Context, projects []ident.ID, kind *string, args page.Args,
) ([]page.Page[*Component], error) {
	who, err := auth.From(ctx)
	if err != nil {
		return nil, err
	}
	w, err := window(args)
	if err != nil {
		return nil, err
	}
	inner, err := store.Keyset(visibleComponents(s.db.Gorm(ctx), who, kind), w, "c.id")
	if err != nil {
		return nil, err
	}
	pages, err := store.PagesOf[Component](s.db.Gorm(ctx), projects, inner, store.IDOrder(w), w)
	if err != nil {
		return nil, fmt.Errorf("list components: %w", err)
	}
	return pointers(pages, func(c *Component) *Component { return c }), nil
}

// CountComponentsOf counts the components of each project, in one statement:
// those of the kind, or all for nil.
func (s *Service) CountComponentsOf(ctx context.Context, projects []ident.ID, kind *string) ([]int, error) {
	who, err := auth.From(ctx)
	if err != nil {
		return nil, err
	}
	counts, err := store.CountsOf(s.db.Gorm(ctx), projects, visibleComponents(s.db.Gorm(ctx), who, kind))
	if err != nil {
		return nil, fmt.Errorf("count components: %w", err)
	}
	return counts, nil
}
