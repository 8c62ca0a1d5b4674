package store

import (
	"gorm.io/gorm"

	"biztraak.dev/vm/internal/fault"
	"biztraak.dev/vm/internal/page"
)

// Keyset narrows and orders a query to one page of the window, keyed by the id
// column named, and reads one row more than the page so that page.Cut can tell
// whether there are more.
func Keyset(q *gorm.DB, w page.Window, column string) (*gorm.DB, error) {
	if w.After != nil {
		key, err := idOf(*w.After)
		if err != nil {
			return nil, err
		}
		q = q.Where(column+" > ?", key)
	}
	if w.Before != nil {
		key, err := idOf(*w.Before)
		if err != nil {
			return nil, err
		}
		q = q.Where(column+" < ?", key)
	}
	order := column
	if w.Backward {
		order += " DESC"
	}
	return q.Order(order).Limit(w.Size + 1), nil
}

// IDCursor is the cursor of a row in a list that is ordered by id.
func IDCursor(id string) page.Cursor { return page.NewCursor(id) }

func idOf(c page.Cursor) (string, error) {
	parts, err := c.Parts(1)
	if err != nil {
		return "", fault.New(fault.BadRequest, "%s", err.Error())
	}
	return parts[0], nil
}
