package operation

import (
	"database/sql/driver"
	"fmt"
	"strings"

	"biztraak.dev/vm/internal/ident"
)

// ids is a text[] of ids. Ids have no character that an array literal needs
// quoted, so the literal is plain.
type ids []ident.ID

// Value writes the array literal.
func (a ids) Value() (driver.Value, error) {
	parts := make([]string, len(a))
	for i, id := range a {
		parts[i] = string(id)
	}
	return "{" + strings.Join(parts, ",") + "}", nil
}

// Scan reads an array literal.
func (a *ids) Scan(src any) error {
	var text string
	switch v := src.(type) {
	case string:
		text = v
	case []byte:
		text = string(v)
	default:
		return fmt.Errorf("an array of ids is text, not %T", src)
	}
	*a = nil
	text = strings.Trim(text, "{}")
	if text == "" {
		return nil
	}
	for part := range strings.SplitSeq(text, ",") {
		*a = append(*a, ident.ID(part))
	}
	return nil
}

// textArray is a text[] of any texts, written as a quoted array literal.
type textArray []string

var arrayQuoter = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// Value writes the array literal.
func (a textArray) Value() (driver.Value, error) {
	parts := make([]string, len(a))
	for i, s := range a {
		parts[i] = `"` + arrayQuoter.Replace(s) + `"`
	}
	return "{" + strings.Join(parts, ",") + "}", nil
}
