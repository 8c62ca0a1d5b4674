package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"time"

	"biztraak.dev/vm/internal/fault"
	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/store"
)

const (
	// tokenPrefix lets people, and scanners for leaked secrets, tell what a token
	// is for.
	tokenPrefix = "bzt_"
	secretBytes = 32
	// longestBearer is far above the length of a token: what is beyond it is not
	// worth hashing.
	longestBearer = 256
)

// NewToken makes the text of a new access token, `bzt_` and 43 base64url
// characters (256 random bits), and the hash of it that is stored.
//
// The hash is a plain SHA-256: a secret of this size cannot be guessed, so a slow
// hash would only make every request slow.
func NewToken() (text string, hash []byte) {
	var secret [secretBytes]byte
	_, _ = rand.Read(secret[:]) // it never fails (crypto/rand)
	text = tokenPrefix + base64.RawURLEncoding.EncodeToString(secret[:])
	return text, hashToken(text)
}

func hashToken(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return sum[:]
}

// Tokens knows whom an access token stands for.
type Tokens struct{ db *store.DB }

// NewTokens makes a Tokens.
func NewTokens(db *store.DB) *Tokens { return &Tokens{db: db} }

// Authenticate answers the actor that the token stands for now. A token that is
// malformed, unknown, expired or revoked is a *fault.Fault UNAUTHENTICATED; any
// other error means that it cannot be told now. The work is the same in all of
// these cases, one hash and one look-up of it, so the time that an answer takes
// tells nothing about the tokens that exist.
func (t *Tokens) Authenticate(ctx context.Context, bearer string) (Actor, error) {
	if len(bearer) > longestBearer {
		bearer = bearer[:longestBearer]
	}
	var found struct {
		ID        ident.ID
		UserID    ident.ID
		Ceiling   Role
		ExpiresAt *time.Time
	}
	err := t.db.Gorm(ctx).Raw(`SELECT id, user_id, ceiling, expires_at FROM access_token
		WHERE hash = ? AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > app_now())`,
		hashToken(bearer)).Scan(&found).Error
	if err != nil {
		return Actor{}, fmt.Errorf("look up access token: %w", err)
	}
	if found.ID == "" {
		return Actor{}, fault.New(fault.Unauthenticated, "the access token is not valid: it is unknown, expired or revoked")
	}
	who := Actor{UserID: found.UserID, TokenID: found.ID, Ceiling: found.Ceiling}
	if found.ExpiresAt != nil {
		who.ExpiresAt = found.ExpiresAt.UTC()
	}
	return who, nil
}
