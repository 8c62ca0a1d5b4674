package team

import (
	"context"
	"fmt"

	"biztraak.dev/vm/internal/auth"
	"biztraak.dev/vm/internal/fault"
	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/operation"
	"biztraak.dev/vm/internal/page"
	"biztraak.dev/vm/internal/store"
)

// MembersOf reads one page of the members of each team, oldest first, in one
// statement; empty for a team that the actor may not see.
func (s *Service) MembersOf(ctx context.Context, teams []ident.ID, args page.Args) ([]page.Page[*Member], error) {
	who, err := auth.From(ctx)
	if err != nil {
		return nil, err
	}
	w, err := window(args)
	if err != nil {
		return nil, err
	}
	inner, err := memberWindow(visibleMembers(s.db.Gorm(ctx), who).Where("m.team_id = w.of_id"), w)
	if err != nil {
		return nil, err
	}
	pages, err := store.PagesOf[memberRow](s.db.Gorm(ctx), teams, inner, memberOrder(w), w)
	if err != nil {
		return nil, fmt.Errorf("list members: %w", err)
	}
	return publicPages(pages, (*memberRow).public), nil
}

// CountMembersOf counts the members of each team, in one statement.
func (s *Service) CountMembersOf(ctx context.Context, teams []ident.ID) ([]int, error) {
	who, err := auth.From(ctx)
	if err != nil {
		return nil, err
	}
	counts, err := store.CountsOf(s.db.Gorm(ctx), teams, visibleMembers(s.db.Gorm(ctx), who).Where("m.team_id = w.of_id"))
	if err != nil {
		return nil, fmt.Errorf("count members: %w", err)
	}
	return counts, nil
}

// member reads one membership; nil when it is absent or not visible.
func (s *Service) member(ctx context.Context, who auth.Actor, team, user ident.ID) (*Member, error) {
	var row memberRow
	err := visibleMembers(s.db.Gorm(ctx), who).Where("m.team_id = ? AND m.user_id = ?", team, user).Scan(&row).Error
	if err != nil {
		return nil, fmt.Errorf("read member: %w", err)
	}
	if row.UserID == "" {
		return nil, nil //nolint:nilnil // absent and not visible are the same, and no error
	}
	return row.public(), nil
}

// UpdateMember changes a member's role and answers the member as they are then.
func (s *Service) UpdateMember(ctx context.Context, in UpdateMemberInput) (*Member, error) {
	who, err := auth.From(ctx)
	if err != nil {
		return nil, err
	}
	form := knownRole(in.Role, fault.Input("role"))
	change := memberChange{who: who, team: in.TeamID, user: in.UserID, form: form}
	err = s.changeMember(ctx, change, func(tx *operation.Tx, m membership) error {
		refused := append(form, m.mayManage()...)
		if len(refused) == 0 && in.Role == auth.Owner {
			refused = auth.Require(m.actor, auth.ManageOwners, fault.Input("role"))
		}
		if err := refused.Err(); err != nil || in.Role == m.target {
			return err
		}
		if err := m.keepsOwner(tx, fault.Input("role")); err != nil {
			return err
		}
		if err := store.One(tx.Exec("UPDATE team_member SET role = ? WHERE team_id = ? AND user_id = ?",
			in.Role, in.TeamID, in.UserID)); err != nil {
			return err
		}
		return s.accessChanged(tx, AuditEvent{
			TeamID: in.TeamID, ActorID: who.UserID, Action: "MEMBER_ROLE_CHANGED", ObjectID: in.UserID,
			Detail: map[string]any{"before": m.target, "after": in.Role},
		})
	})
	if err != nil {
		return nil, fmt.Errorf("update member: %w", err)
	}
	return s.member(ctx, who, in.TeamID, in.UserID)
}

// RemoveMember takes a member out of a team and answers the team; nil when it
// was the actor who left.
func (s *Service) RemoveMember(ctx context.Context, in RemoveMemberInput) (*Team, error) {
	who, err := auth.From(ctx)
	if err != nil {
		return nil, err
	}
	change := memberChange{who: who, team: in.TeamID, user: in.UserID}
	err = s.changeMember(ctx, change, func(tx *operation.Tx, m membership) error {
		if in.UserID != who.UserID {
			if err := m.mayManage().Err(); err != nil {
				return err
			}
		}
		if err := m.keepsOwner(tx, fault.Input("userId")); err != nil {
			return err
		}
		if err := store.One(tx.Exec("DELETE FROM team_member WHERE team_id = ? AND user_id = ?",
			in.TeamID, in.UserID)); err != nil {
			return err
		}
		return s.accessChanged(tx, AuditEvent{
			TeamID: in.TeamID, ActorID: who.UserID, Action: "MEMBER_REMOVED", ObjectID: in.UserID,
			Detail: map[string]any{"before": m.target},
		})
	})
	if err != nil {
		return nil, fmt.Errorf("remove member: %w", err)
	}
	return s.Get(ctx, in.TeamID)
}

// membership is what a change of a member is decided by; it stays true until the
// end of the transaction.
type membership struct {
	team ident.ID
	// actor is the role of who asks, after the ceiling of their token; target is
	// the role that the member has.
	actor, target auth.Role
}

// memberChange is whose membership is to be changed, and by whom.
type memberChange struct {
	who        auth.Actor
	team, user ident.ID
	// form is what is wrong with the input itself; it is answered together with
	// what is not there.
	form fault.Refusals
}

// changeMember finds the member under the lock of the team and runs do.
func (s *Service) changeMember(ctx context.Context, c memberChange, do func(*operation.Tx, membership) error) error {
	return s.writer.Write(ctx, func(tx *operation.Tx) error {
		// Asked before the lock, so that nobody can hold up a team of others.
		role, err := roleIn(tx.DB, c.team, c.who.UserID)
		if err == nil && role != "" {
			if err = lockTeam(tx.DB, c.team); err == nil {
				role, err = roleIn(tx.DB, c.team, c.who.UserID)
			}
		}
		if err != nil {
			return err
		}
		if role == "" {
			return append(c.form, notFound(fault.Input("teamId"), "team")...)
		}
		target, err := roleIn(tx.DB, c.team, c.user)
		if err != nil {
			return err
		}
		if target == "" {
			return append(c.form, notFound(fault.Input("userId"), "member of this team")...)
		}
		return do(tx, membership{team: c.team, actor: auth.Lower(role, c.who.Ceiling), target: target})
	})
}

// mayManage refuses whoever may not change this member: owners are changed by
// owners only.
func (m membership) mayManage() fault.Refusals {
	if m.target == auth.Owner {
		return auth.Require(m.actor, auth.ManageOwners, fault.Input("userId"))
	}
	return auth.Require(m.actor, auth.ManageMembers, fault.Input("teamId"))
}

// keepsOwner refuses a change that takes the last owner away.
func (m membership) keepsOwner(tx *operation.Tx, path []string) error {
	if m.target != auth.Owner {
		return nil
	}
	owners, err := ownersOf(tx.DB, m.team)
	if err != nil {
		return err
	}
	if owners > 1 {
		return nil
	}
	return lastOwner(path)
}

// accessChanged ends what the member may no longer follow, and writes down why.
func (s *Service) accessChanged(tx *operation.Tx, why AuditEvent) error {
	if err := tx.AccessChanged(why.TeamID, why.ObjectID); err != nil {
		return fmt.Errorf("announce access: %w", err)
	}
	return Audit(tx, why)
}
