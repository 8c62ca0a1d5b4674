package scalar

import (
	"github.com/99designs/gqlgen/graphql"

	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/page"
)

// longestCursor is the most characters of a cursor that is looked at; ours have
// a quarter of that.
const longestCursor = 512

// MarshalID writes an ID.
func MarshalID(id ident.ID) graphql.Marshaler { return quoted(string(id)) }

// UnmarshalID reads an ID: well-formed text of a known kind. Whether it leads
// anywhere is asked where it is used.
func UnmarshalID(v any) (ident.ID, error) {
	s, err := text("an ID", v)
	if err != nil {
		return "", err
	}
	id, err := ident.Parse(s)
	if err != nil {
		return "", refuse("%s", err.Error())
	}
	return id, nil
}

// MarshalCursor writes a Cursor.
func MarshalCursor(c page.Cursor) graphql.Marshaler { return quoted(string(c)) }

// UnmarshalCursor reads a Cursor of any list; the list that it is passed to
// refuses one of another.
func UnmarshalCursor(v any) (page.Cursor, error) {
	s, err := text("a Cursor", v)
	if err != nil {
		return "", err
	}
	for _, r := range s {
		if !isURLBase64(r) {
			return "", refuse("the cursor is malformed: pass one that this list answered")
		}
	}
	if s == "" || len(s) > longestCursor {
		return "", refuse("a cursor has 1 to %d characters: pass one that this list answered", longestCursor)
	}
	return page.Cursor(s), nil
}

func isURLBase64(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_'
}
