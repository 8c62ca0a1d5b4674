package provider

import (
	"fmt"
	"io"
	"log/slog"
)

// Account is one set of credentials of one cloud, and the settings that go with
// it (an endpoint, a tenant, a network). The keys of Settings are the driver's.
type Account struct {
	ID          string
	Settings    map[string]string
	Credentials Secret
}

// redacted is what a Secret shows wherever it is printed.
const redacted = "[redacted]"

// Secret holds bytes that must not be printed. Every way in which Go turns a
// value into text (fmt verbs, slog, JSON, text) yields "[redacted]". The bytes
// sit in a closure, so that printing by reflection, as fmt does for unexported
// fields, finds an address and nothing else. The zero Secret is empty.
type Secret struct{ reveal func() []byte }

var (
	_ fmt.Formatter  = Secret{}
	_ fmt.Stringer   = Secret{}
	_ fmt.GoStringer = Secret{}
	_ slog.LogValuer = Secret{}
)

// NewSecret wraps a copy of value.
func NewSecret(value []byte) Secret {
	kept := append([]byte(nil), value...)
	return Secret{reveal: func() []byte { return append([]byte(nil), kept...) }}
}

// Reveal returns a copy of the bytes. Call it where the secret is sent, and
// nowhere else.
func (s Secret) Reveal() []byte {
	if s.reveal == nil {
		return nil
	}
	return s.reveal()
}

// Len is the number of bytes.
func (s Secret) Len() int { return len(s.Reveal()) }

// String implements fmt.Stringer.
func (Secret) String() string { return redacted }

// GoString implements fmt.GoStringer.
func (Secret) GoString() string { return redacted }

// Format implements fmt.Formatter, so that no verb (%x, %d, %q) finds a way
// round String.
func (Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// LogValue implements slog.LogValuer.
func (Secret) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText implements encoding.TextMarshaler.
func (Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// MarshalJSON implements json.Marshaler.
func (Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }
