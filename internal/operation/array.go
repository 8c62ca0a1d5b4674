package operation

import (
	"database/sql/driver"
	"strings"
)

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
