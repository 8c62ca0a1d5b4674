package auth

import (
	"gorm.io/gorm"

	"biztraak.dev/vm/internal/fault"
)

// Visible narrows a query to what the actor may see: rows whose team, in the
// column named, they are a member of. Select scope_member.role to learn as what.
func Visible(q *gorm.DB, a Actor, teamColumn string) *gorm.DB {
	return q.Joins("JOIN team_member scope_member ON scope_member.team_id = "+teamColumn+
		" AND scope_member.user_id = ?", a.UserID)
}

// RoleOf reads the actor's role in a team after the token's ceiling; empty for
// no member.
func RoleOf(tx *gorm.DB, a Actor, teamID any) (Role, error) {
	var role Role
	err := tx.Raw("SELECT role FROM team_member WHERE team_id = ? AND user_id = ?", teamID, a.UserID).Scan(&role).Error
	if err != nil || role == "" {
		return "", err
	}
	return Lower(role, a.Ceiling), nil
}

// Require refuses the verb unless the role is enough for it.
func Require(role Role, v Verb, path []string) fault.Refusals {
	if May(role, v) {
		return nil
	}
	return fault.Refuse(fault.Forbidden, path,
		"to %s you need the role %s, and your role here (or the ceiling of your token) is %s. Ask an owner of the team, or use another token.",
		v, Needs(v), role)
}
