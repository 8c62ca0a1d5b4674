package store

import (
	"database/sql/driver"
	"fmt"
	"strings"

	"biztraak.dev/vm/internal/ident"
)

// IDs is a list of ids as one parameter or column of the type text[], so that
// a list of any length is one statement and one plan. Ids have no character
// that an array literal needs quoted, so the literal is plain.
type IDs []ident.ID

// Value writes the array literal.
func (a IDs) Value() (driver.Value, error) {
	parts := make([]string, len(a))
	for i, id := range a {
		parts[i] = string(id)
	}
	return "{" + strings.Join(parts, ",") + "}", nil
}

// Scan reads an array literal.
func (a *IDs) Scan(src any) error {
	var text string
	switch v := src.(type) {
	case nil:
	case string:
		text = v
	case []byte:
		text = string(v)
	default:
		return fmt.Errorf("a list of ids is text, not %T", src)
	}
	*a = nil
	if text = strings.Trim(text, "{}"); text == "" {
		return nil
	}
	for part := range strings.SplitSeq(text, ",") {
		*a = append(*a, ident.ID(part))
	}
	return nil
}
