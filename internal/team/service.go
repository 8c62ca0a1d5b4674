package team

import (
	"context"
	"fmt"

	"biztraak.dev/vm/internal/auth"
	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/operation"
	"biztraak.dev/vm/internal/provider"
	"biztraak.dev/vm/internal/seal"
	"biztraak.dev/vm/internal/store"
)

// Deps are what the room needs of others.
type Deps struct {
	DB      *store.DB
	Writer  *operation.Writer
	Sealer  *seal.Sealer
	Drivers *provider.Registry
}

// Service is what can be done with teams, their members, tokens and accounts.
// The actor is taken out of the context; without one, every method that does not
// say otherwise is UNAUTHENTICATED.
type Service struct {
	db      *store.DB
	writer  *operation.Writer
	sealer  *seal.Sealer
	drivers *provider.Registry
}

// NewService makes a Service.
func NewService(d Deps) *Service {
	return &Service{db: d.DB, writer: d.Writer, sealer: d.Sealer, drivers: d.Drivers}
}

// Get reads a team; nil when it is absent or the actor is no member.
func (s *Service) Get(ctx context.Context, id ident.ID) (*Team, error) {
	found, err := s.Many(ctx, []ident.ID{id})
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

// Many reads teams in the order asked, nil for each that is absent or not
// visible to the actor.
func (s *Service) Many(ctx context.Context, wanted []ident.ID) ([]*Team, error) {
	found, err := s.teamsWhere(ctx, "t.id = ANY(?::text[])", ids(wanted))
	if err != nil {
		return nil, err
	}
	return inOrder(wanted, found, func(t *Team) ident.ID { return t.ID }), nil
}

// Mine reads the teams that the actor is a member of, oldest first.
func (s *Service) Mine(ctx context.Context) ([]*Team, error) {
	return s.teamsWhere(ctx, "true")
}

func (s *Service) teamsWhere(ctx context.Context, cond string, args ...any) ([]*Team, error) {
	who, err := auth.From(ctx)
	if err != nil {
		return nil, err
	}
	var rows []teamRow
	err = visibleTeams(s.db.Gorm(ctx), who).Where(cond, args...).Order("t.id").Scan(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("read teams: %w", err)
	}
	out := make([]*Team, len(rows))
	for i := range rows {
		out[i] = rows[i].public(who)
	}
	return out, nil
}

// User reads a user; nil when they are absent or share no team with the actor.
func (s *Service) User(ctx context.Context, id ident.ID) (*User, error) {
	found, err := s.Users(ctx, []ident.ID{id})
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

// Users reads users in the order asked, nil for each that is absent or shares no
// team with the actor. Everybody sees themselves.
func (s *Service) Users(ctx context.Context, wanted []ident.ID) ([]*User, error) {
	who, err := auth.From(ctx)
	if err != nil {
		return nil, err
	}
	var found []*User
	err = s.db.Gorm(ctx).Raw(`SELECT u.id, u.name, u.email FROM app_user u
		WHERE u.id = ANY(?::text[]) AND (u.id = ? OR EXISTS (
			SELECT FROM team_member theirs JOIN team_member mine ON mine.team_id = theirs.team_id
			WHERE theirs.user_id = u.id AND mine.user_id = ?))`, ids(wanted), who.UserID, who.UserID).Scan(&found).Error
	if err != nil {
		return nil, fmt.Errorf("read users: %w", err)
	}
	return inOrder(wanted, found, func(u *User) ident.ID { return u.ID }), nil
}
