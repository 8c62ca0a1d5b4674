package team

import (
	"context"
	"fmt"
	"net/mail"
	"strings"

	"biztraak.dev/vm/internal/auth"
	"biztraak.dev/vm/internal/fault"
	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/names"
	"biztraak.dev/vm/internal/operation"
)

// longestEmail is the longest address that can be delivered to (RFC 5321,
// 4.5.3.1, less the angle brackets), in bytes.
const longestEmail = 254

// BootstrappedError means that this installation has its first team already.
type BootstrappedError struct {
	// TeamID is that team.
	TeamID ident.ID
}

// Error says what to do instead.
func (e *BootstrappedError) Error() string {
	return fmt.Sprintf("this installation has its first team already (%s): its owners make further teams and tokens through the API", e.TeamID)
}

// Bootstrap makes the first user, team and token of an installation and answers
// the token's text, once: *BootstrappedError for the second call, refusals for a
// name or an address out of form. The token has the ceiling OWNER and does not
// expire. There is no actor yet, so only the operator's command may call it.
func (s *Service) Bootstrap(ctx context.Context, teamName, email string) (token string, teamID ident.ID, err error) {
	if err := append(names.Title(teamName, []string{"team"}), checkEmail(email)...).Err(); err != nil {
		return "", "", err
	}
	err = s.writer.Write(ctx, func(tx *operation.Tx) error {
		user, team := ident.New(ident.User), ident.New(ident.Team)
		if err := insertUser(tx.DB, User{ID: user, Name: nameOf(email), Email: email}, tx.Now); err != nil {
			return err
		}
		if err := makeTeam(tx, team, teamName, user); err != nil {
			return err
		}
		row := tokenRow{ID: ident.New(ident.Token), Name: "bootstrap", Ceiling: auth.Owner, CreatedAt: tx.Now}
		text, hash := auth.NewToken()
		if err := insertToken(tx.DB, user, row, hash); err != nil {
			return err
		}
		token, teamID = text, team
		if err := auditToken(tx, user, "TOKEN_CREATED", row); err != nil {
			return err
		}
		return tx.Exec("INSERT INTO bootstrap (team_id) VALUES (?)", team).Error
	})
	if err == nil {
		return token, teamID, nil
	}
	if first, lookErr := s.bootstrapped(ctx); lookErr == nil && first != "" {
		err = &BootstrappedError{TeamID: first}
	}
	return "", "", fmt.Errorf("bootstrap: %w", err)
}

// bootstrapped is the first team of this installation; empty for none yet.
func (s *Service) bootstrapped(ctx context.Context) (ident.ID, error) {
	var team ident.ID
	err := s.db.Gorm(ctx).Raw("SELECT team_id FROM bootstrap").Scan(&team).Error
	return team, err
}

func checkEmail(email string) fault.Refusals {
	parsed, err := mail.ParseAddress(email)
	if err == nil && parsed.Address == email && len(email) <= longestEmail {
		return nil
	}
	return fault.Refuse(fault.InputInvalid, []string{"email"}, "%q is not an e-mail address such as jane@example.com", email)
}

// nameOf makes a name for a person of whom only the address is known.
func nameOf(email string) string {
	local, _, _ := strings.Cut(email, "@")
	return local
}
