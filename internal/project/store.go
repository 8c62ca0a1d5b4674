package project

import (
	"fmt"
	"time"

	"gorm.io/gorm"

	"biztraak.dev/vm/internal/auth"
	"biztraak.dev/vm/internal/fault"
	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/page"
)

// row is a project as it is read for an actor.
type row struct {
	ID        ident.ID
	TeamID    ident.ID
	Name      string
	Slug      string
	Version   int
	CreatedAt time.Time
	ScopeRole auth.Role
}

// visible is the query for the projects that the actor may see.
func visible(g *gorm.DB, who auth.Actor) *gorm.DB {
	q := g.Table("project p").
		Select("p.id, p.team_id, p.name, p.slug, p.version, p.created_at, scope_member.role AS scope_role")
	return auth.Visible(q, who, "p.team_id")
}

func (r *row) public(who auth.Actor) *Project {
	return &Project{
		ID: r.ID, TeamID: r.TeamID, Name: r.Name, Slug: r.Slug, Version: r.Version, CreatedAt: r.CreatedAt.UTC(),
		Role: auth.Lower(r.ScopeRole, who.Ceiling),
	}
}

// visibleComponents is the query for the components that the actor may see, of
// one project named w.of_id; those of the kind, or all for nil.
func visibleComponents(g *gorm.DB, who auth.Actor, kind *string) *gorm.DB {
	q := g.Table("component c").Select("c.id, c.project_id, c.kind, c.name, c.slug").Where("c.project_id = w.of_id")
	if kind != nil {
		q = q.Where("c.kind = ?", *kind)
	}
	return auth.Visible(q, who, "c.team_id")
}

// locked reads a project that the actor may see under its row lock; nil for none.
// Nobody can add a component until the transaction ends.
func locked(tx *gorm.DB, who auth.Actor, id ident.ID) (*Project, error) {
	var found row
	// Whether the actor may see it is decided again after the wait for the lock.
	for _, lock := range []string{" FOR UPDATE OF p", ""} {
		found = row{}
		err := tx.Raw(`SELECT p.id, p.team_id, p.name, p.slug, p.version, p.created_at, m.role AS scope_role
			FROM project p JOIN team_member m ON m.team_id = p.team_id AND m.user_id = ?
			WHERE p.id = ?`+lock, who.UserID, id).Scan(&found).Error
		if err != nil {
			return nil, fmt.Errorf("lock project: %w", err)
		}
		if found.ID == "" {
			return nil, nil //nolint:nilnil // absent and not visible are the same, and no error
		}
	}
	return found.public(who), nil
}

// nameUsed says whether another project of the team has the name, regardless of
// case.
func nameUsed(tx *gorm.DB, p *Project, name string) (bool, error) {
	var used bool
	err := tx.Raw("SELECT EXISTS (SELECT FROM project WHERE team_id = ? AND lower(name) = lower(?) AND id <> ?)",
		p.TeamID, name, p.ID).Scan(&used).Error
	if err != nil {
		return false, fmt.Errorf("look up name: %w", err)
	}
	return used, nil
}

// componentIDs are the first components of a project, one more than are named.
func componentIDs(tx *gorm.DB, project ident.ID) ([]ident.ID, error) {
	var ids []ident.ID
	err := tx.Raw("SELECT id FROM component WHERE project_id = ? ORDER BY id LIMIT ?", project, mostUsers+1).Scan(&ids).Error
	if err != nil {
		return nil, fmt.Errorf("read components: %w", err)
	}
	return ids, nil
}

// remove deletes an empty project with its history.
func remove(tx *gorm.DB, project ident.ID) error {
	for _, sql := range []string{
		"DELETE FROM operation WHERE project_id = ?", // with its steps and locks
		"DELETE FROM project WHERE id = ?",           // with its events
	} {
		if err := tx.Exec(sql, project).Error; err != nil {
			return fmt.Errorf("delete project: %w", err)
		}
	}
	return nil
}

// window checks paging arguments.
func window(args page.Args) (page.Window, error) {
	w, err := args.Window()
	if err != nil {
		return w, fault.New(fault.BadRequest, "%s", err.Error())
	}
	return w, nil
}

// pointers turns pages of rows into pages of what is answered.
func pointers[R, T any](in []page.Page[R], public func(*R) *T) []page.Page[*T] {
	out := make([]page.Page[*T], len(in))
	for i, p := range in {
		items := make([]*T, len(p.Items))
		for j := range p.Items {
			items[j] = public(&p.Items[j])
		}
		out[i] = page.Page[*T]{Items: items, HasNext: p.HasNext, HasPrevious: p.HasPrevious}
	}
	return out
}
