package team

import (
	"context"
	"fmt"

	"biztraak.dev/vm/internal/auth"
	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/operation"
)

// OperatorToken makes a further token for an owner of the first team and answers
// its text, once. There is no actor, so only the operator's own commands may
// call it: it is how a development server gets back in when the token of an
// earlier start is gone.
func (s *Service) OperatorToken(ctx context.Context, name string) (string, error) {
	var token string
	err := s.writer.Write(ctx, func(tx *operation.Tx) error {
		var owner ident.ID
		if err := tx.Raw(`SELECT m.user_id FROM bootstrap b JOIN team_member m ON m.team_id = b.team_id
			WHERE m.role = 'OWNER' ORDER BY m.user_id LIMIT 1`).Scan(&owner).Error; err != nil {
			return err
		}
		row := tokenRow{ID: ident.New(ident.Token), Name: name, Ceiling: auth.Owner, CreatedAt: tx.Now}
		text, hash := auth.NewToken()
		if err := insertToken(tx.DB, owner, row, hash); err != nil {
			return err
		}
		token = text
		return auditToken(tx, owner, "TOKEN_CREATED", row)
	})
	if err != nil {
		return "", fmt.Errorf("make operator token: %w", err)
	}
	return token, nil
}
