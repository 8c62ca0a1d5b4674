// Package page has the arguments and the cursors of Relay connections.
//
// Cursors are keysets, never offsets: a row added or removed while a client
// pages makes it neither skip nor repeat one. Ids sort by the time they were
// made, so the id alone is the key of every list that is ordered by age.
//
// The package is a leaf: it knows no domain and imports only the standard
// library.
package page

import (
	"encoding/base64"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The bounds of `first` and `last`.
const (
	DefaultSize = 25
	MaxSize     = 100
)

// Cursor is an opaque place in a list.
type Cursor string

const cursorVersion = "1"

// NewCursor makes a cursor that holds the parts; a part must not contain a NUL.
func NewCursor(parts ...string) Cursor {
	return Cursor(base64.RawURLEncoding.EncodeToString([]byte(cursorVersion + "\x00" + strings.Join(parts, "\x00"))))
}

// Parts gives back the n parts that the cursor was made of. A cursor that was
// not made by this version of the product, or for another list, is an error.
func (c Cursor) Parts(n int) ([]string, error) {
	const longest = 512
	if len(c) > longest {
		return nil, fmt.Errorf("the cursor is too long: pass one that this list answered")
	}
	raw, err := base64.RawURLEncoding.DecodeString(string(c))
	if err != nil || !utf8.Valid(raw) {
		return nil, fmt.Errorf("the cursor is malformed: pass one that this list answered")
	}
	parts := strings.Split(string(raw), "\x00")
	if len(parts) != n+1 || parts[0] != cursorVersion {
		return nil, fmt.Errorf("the cursor belongs to another list: pass one that this list answered")
	}
	return parts[1:], nil
}

// MarshalGQL writes the cursor as a string.
func (c Cursor) MarshalGQL(w io.Writer) {
	_, _ = io.WriteString(w, strconv.Quote(string(c))) // the response writer reports its own errors
}

// UnmarshalGQL reads a cursor; its content is checked by the list it is for.
func (c *Cursor) UnmarshalGQL(v any) error {
	text, ok := v.(string)
	if !ok {
		return fmt.Errorf("a cursor is a string, not %T", v)
	}
	*c = Cursor(text)
	return nil
}

// Args are the paging arguments of a connection field.
type Args struct {
	First, Last   *int
	After, Before *Cursor
}

// Window is a checked Args: how many, from where, in which direction.
type Window struct {
	// Size is between 0 and MaxSize.
	Size int
	// Backward means the last Size items before Before.
	Backward bool
	After    *Cursor
	Before   *Cursor
}

// Window checks the arguments and fills in the default size.
func (a Args) Window() (Window, error) {
	w := Window{Size: DefaultSize, After: a.After, Before: a.Before}
	if a.First != nil && a.Last != nil {
		return w, fmt.Errorf("pass first or last, not both")
	}
	n := a.First
	if a.Last != nil {
		n, w.Backward = a.Last, true
	}
	if n != nil {
		if *n < 0 || *n > MaxSize {
			return w, fmt.Errorf("first and last are between 0 and %d, not %d", MaxSize, *n)
		}
		w.Size = *n
	}
	return w, nil
}

// Page is one page of T, in the list's own order whatever the direction.
type Page[T any] struct {
	Items                []T
	HasNext, HasPrevious bool
}

// Cut makes a page of up to size+1 items that were read in the window's
// direction: the extra one only says that there are more.
func Cut[T any](w Window, read []T) Page[T] {
	more := len(read) > w.Size
	if more {
		read = read[:w.Size]
	}
	p := Page[T]{Items: read}
	if w.Backward {
		for i, j := 0, len(read)-1; i < j; i, j = i+1, j-1 {
			read[i], read[j] = read[j], read[i]
		}
		p.HasPrevious, p.HasNext = more, w.Before != nil
	} else {
		p.HasNext, p.HasPrevious = more, w.After != nil
	}
	return p
}
