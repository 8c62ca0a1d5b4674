package seal

import (
	"errors"
	"fmt"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/tink"

	"biztraak.dev/vm/internal/ident"
)

// Sealer seals and opens secrets. It is safe for concurrent use.
type Sealer struct{ aead tink.AEAD }

// errUnopened deliberately says no more: why a ciphertext cannot be opened is of
// use to an attacker only.
var errUnopened = errors.New("open secret: it was sealed with another keyset or for another row, or it is damaged")

func newSealer(h *keyset.Handle) (*Sealer, error) {
	primitive, err := aead.New(h)
	if err != nil {
		return nil, err
	}
	return &Sealer{aead: primitive}, nil
}

// Seal encrypts and authenticates plaintext for the row with the id. Sealed
// bytes that are moved to another row cannot be opened there, so nobody who can
// write to the database can lend one team's secret to another.
func (s *Sealer) Seal(plaintext []byte, row ident.ID) ([]byte, error) {
	if row == "" {
		return nil, errors.New("seal secret: it belongs to no row")
	}
	sealed, err := s.aead.Encrypt(plaintext, []byte(row))
	if err != nil {
		return nil, fmt.Errorf("seal secret: %w", err)
	}
	return sealed, nil
}

// Open gives back what Seal was given for the same row.
func (s *Sealer) Open(sealed []byte, row ident.ID) ([]byte, error) {
	plaintext, err := s.aead.Decrypt(sealed, []byte(row))
	if err != nil {
		return nil, errUnopened
	}
	return plaintext, nil
}
