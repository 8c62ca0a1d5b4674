package operation

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"
	"unicode"
	"unicode/utf8"

	"biztraak.dev/vm/internal/fault"
	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/store"
)

// KeyLifetime is how long an idempotency key is kept.
const KeyLifetime = 24 * time.Hour

const longestKey = 100

// Request is what makes two calls the same call.
type Request struct {
	// Scope is the team, or the user where no team is concerned yet.
	Scope    ident.ID
	ActorID  ident.ID
	Mutation string
	// Key is the caller's; nil means that the call is not to be recognized.
	Key *string
	// Input is hashed as JSON; it must not hold the key itself.
	Input any
}

// Replay is the outcome of the first call with the same key.
type Replay struct {
	ObjectIDs   []ident.ID
	OperationID ident.ID
}

// CheckKey refuses a key that is out of form.
func CheckKey(key *string) fault.Refusals {
	if key == nil {
		return nil
	}
	ok := *key != "" && utf8.ValidString(*key) && utf8.RuneCountInString(*key) <= longestKey
	for _, r := range *key {
		ok = ok && unicode.IsPrint(r)
	}
	if ok {
		return nil
	}
	return fault.Refuse(fault.InputInvalid, fault.Input("idempotencyKey"),
		"an idempotency key is 1 to %d printable characters; a random UUID is a good one", longestKey)
}

// Once claims the request's key. It answers the outcome of the first call when
// there was one, and nil when this is it; a twin that runs at the same time is
// waited for, because its claim holds the row.
func (tx *Tx) Once(r Request) (*Replay, error) {
	if r.Key == nil {
		return nil, nil //nolint:nilnil // no key, no replay, no error
	}
	hash, err := hashOf(r.Input)
	if err != nil {
		return nil, err
	}
	if err := tx.Exec(`DELETE FROM idempotency_key WHERE scope = ? AND actor_id = ? AND mutation = ? AND key = ?
		AND created_at < app_now() - make_interval(secs => ?)`,
		r.Scope, r.ActorID, r.Mutation, *r.Key, KeyLifetime.Seconds()).Error; err != nil {
		return nil, fmt.Errorf("claim idempotency key: %w", err)
	}
	res := tx.Exec(`INSERT INTO idempotency_key (scope, actor_id, mutation, key, input_hash, created_at)
		VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`, r.Scope, r.ActorID, r.Mutation, *r.Key, hash, tx.Now)
	if res.Error != nil {
		return nil, fmt.Errorf("claim idempotency key: %w", res.Error)
	}
	if res.RowsAffected == 1 {
		return nil, nil //nolint:nilnil // the first call
	}
	return tx.replay(r, hash)
}

func (tx *Tx) replay(r Request, hash []byte) (*Replay, error) {
	var found struct {
		InputHash   []byte
		ObjectIDs   store.IDs `gorm:"column:object_ids;type:text[]"`
		OperationID *ident.ID
	}
	err := tx.Raw(`SELECT input_hash, object_ids, operation_id FROM idempotency_key
		WHERE scope = ? AND actor_id = ? AND mutation = ? AND key = ?`,
		r.Scope, r.ActorID, r.Mutation, *r.Key).Scan(&found).Error
	if err != nil {
		return nil, fmt.Errorf("read idempotency key: %w", err)
	}
	if !bytes.Equal(found.InputHash, hash) {
		return nil, fault.Refuse(fault.IdempotencyReused, fault.Input("idempotencyKey"),
			"this key was used for %s with another input within the last 24 hours; use a new key for new work", r.Mutation)
	}
	out := &Replay{ObjectIDs: found.ObjectIDs}
	if found.OperationID != nil {
		out.OperationID = *found.OperationID
	}
	return out, nil
}

// Remember stores the outcome of the call whose key Once has claimed.
func (tx *Tx) Remember(r Request, operationID ident.ID, objects ...ident.ID) error {
	if r.Key == nil {
		return nil
	}
	var op *ident.ID
	if operationID != "" {
		op = &operationID
	}
	err := tx.Exec(`UPDATE idempotency_key SET object_ids = ?, operation_id = ?
		WHERE scope = ? AND actor_id = ? AND mutation = ? AND key = ?`,
		store.IDs(objects), op, r.Scope, r.ActorID, r.Mutation, *r.Key).Error
	if err != nil {
		return fmt.Errorf("store idempotency key: %w", err)
	}
	return nil
}

func hashOf(input any) ([]byte, error) {
	raw, err := json.Marshal(input)
	if err != nil {
		return nil, fmt.Errorf("hash input: %w", err)
	}
	sum := sha256.Sum256(raw)
	return sum[:], nil
}
