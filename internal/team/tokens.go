package team

import (
	"context"
	"fmt"

	"biztraak.dev/vm/internal/auth"
	"biztraak.dev/vm/internal/fault"
	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/names"
	"biztraak.dev/vm/internal/operation"
	"biztraak.dev/vm/internal/store"
)

// Token reads one of the actor's own tokens; nil when it is absent or another
// user's.
func (s *Service) Token(ctx context.Context, id ident.ID) (*AccessToken, error) {
	who, err := auth.From(ctx)
	if err != nil {
		return nil, err
	}
	var row tokenRow
	err = s.db.Gorm(ctx).Raw("SELECT "+tokenColumns+" FROM access_token WHERE id = ? AND user_id = ?",
		id, who.UserID).Scan(&row).Error
	if err != nil {
		return nil, fmt.Errorf("read access token: %w", err)
	}
	if row.ID == "" {
		return nil, nil //nolint:nilnil // absent and not visible are the same, and no error
	}
	return row.public(), nil
}

// CreateToken makes a token for the actor. Its text is answered by the call that
// made it and never again.
func (s *Service) CreateToken(ctx context.Context, in CreateTokenInput) (*CreatedToken, error) {
	who, err := auth.From(ctx)
	if err != nil {
		return nil, err
	}
	form := append(names.Title(in.Name, fault.Input("name")), operation.CheckKey(in.IdempotencyKey)...)
	if bad := knownRole(in.Ceiling, fault.Input("ceiling")); bad != nil {
		form = append(form, bad...)
	} else {
		form = append(form, ceilingWithin(who, in.Ceiling)...)
	}
	if len(form) > 0 {
		now, err := store.Now(s.db.Gorm(ctx))
		if err != nil {
			return nil, fmt.Errorf("create access token: %w", err)
		}
		return nil, append(form, expiry(in.ExpiresAt, now)...)
	}
	req := operation.Request{
		Scope: who.UserID, ActorID: who.UserID, Mutation: "createAccessToken", Key: in.IdempotencyKey, Input: in,
	}
	var id ident.ID
	var secret string
	replay, err := s.once(ctx, req, func(tx *operation.Tx) (ident.ID, error) {
		if r := expiry(in.ExpiresAt, tx.Now); r != nil {
			return "", r
		}
		row := tokenRow{ID: ident.New(ident.Token), Name: in.Name, Ceiling: in.Ceiling, ExpiresAt: in.ExpiresAt, CreatedAt: tx.Now}
		text, hash := auth.NewToken()
		if err := insertToken(tx.DB, who.UserID, row, hash); err != nil {
			return "", err
		}
		id, secret = row.ID, text
		return id, auditToken(tx, who.UserID, "TOKEN_CREATED", row)
	})
	if err != nil {
		return nil, fmt.Errorf("create access token: %w", err)
	}
	out := &CreatedToken{Replayed: replay != nil}
	if out.Replayed {
		id = replay.ObjectIDs[0]
	} else {
		out.Secret = &secret
	}
	out.AccessToken, err = s.Token(ctx, id)
	return out, err
}

// RevokeToken ends one of the actor's tokens; ending it again is no error.
func (s *Service) RevokeToken(ctx context.Context, in RevokeTokenInput) (*AccessToken, error) {
	who, err := auth.From(ctx)
	if err != nil {
		return nil, err
	}
	err = s.writer.Write(ctx, func(tx *operation.Tx) error {
		var row tokenRow
		err := tx.Raw("SELECT "+tokenColumns+" FROM access_token WHERE id = ? AND user_id = ? FOR UPDATE",
			in.TokenID, who.UserID).Scan(&row).Error
		switch {
		case err != nil:
			return err
		case row.ID == "":
			return notFound(fault.Input("tokenId"), "access token of yours")
		case row.RevokedAt != nil:
			return nil
		}
		if err := store.One(tx.Exec("UPDATE access_token SET revoked_at = ? WHERE id = ?", tx.Now, row.ID)); err != nil {
			return err
		}
		if err := tx.TokenChanged(row.ID); err != nil {
			return err
		}
		return auditToken(tx, who.UserID, "TOKEN_REVOKED", row)
	})
	if err != nil {
		return nil, fmt.Errorf("revoke access token: %w", err)
	}
	return s.Token(ctx, in.TokenID)
}
