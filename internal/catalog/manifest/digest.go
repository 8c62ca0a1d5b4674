package manifest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// Canonical returns the manifest as canonical JSON: keys sorted, no space, no
// escapes that JSON does not ask for. Comments, layout and the spelling of
// amounts ("2" or "2000m") of the original text are gone; the order of lists
// stays. Optional fields that are absent are left out, so a field that the
// format gains later changes no older manifest.
func (m Manifest) Canonical() ([]byte, error) {
	data, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode manifest %s: %w", m, err)
	}
	// Maps are written in the order of their keys, structs are not.
	var plain any
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := decoder.Decode(&plain); err != nil {
		return nil, fmt.Errorf("encode manifest %s: %w", m, err)
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(plain); err != nil {
		return nil, fmt.Errorf("encode manifest %s: %w", m, err)
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// Digest is "sha256:" and the hash of [Manifest.Canonical] in hexadecimal. Two
// manifests of the same slug and version must have the same digest; otherwise
// a published version was changed. A Manifest that does not have exactly the
// spec of its kind, which [Parse] never returns, has no digest: an error.
func (m Manifest) Digest() (string, error) {
	data, err := m.Canonical()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}
