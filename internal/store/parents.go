package store

import (
	"gorm.io/gorm"

	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/page"
)

// PagesOf reads one page for each parent, in the order of the parents, in one
// statement. The inner query is that of one parent: it names the parent's id
// w.of_id, is narrowed, ordered and limited for the window, and answers columns
// that T, a flat struct, has. The order repeats the inner one in terms of the
// answered columns, such as "id" or "id DESC".
func PagesOf[T any](g *gorm.DB, parents []ident.ID, inner *gorm.DB, order string, w page.Window) ([]page.Page[T], error) {
	var rows []struct {
		Ord int
		Row T `gorm:"embedded"`
	}
	err := g.Raw(`SELECT w.ord, x.* FROM unnest(?::text[]) WITH ORDINALITY AS w(of_id, ord)
		CROSS JOIN LATERAL (?) x ORDER BY ord, `+order, IDs(parents), inner).Scan(&rows).Error
	if err != nil {
		return nil, err
	}
	read := make([][]T, len(parents))
	for _, r := range rows {
		read[r.Ord-1] = append(read[r.Ord-1], r.Row)
	}
	out := make([]page.Page[T], len(parents))
	for i := range out {
		out[i] = page.Cut(w, read[i])
	}
	return out, nil
}

// CountsOf counts the rows of the inner query for each parent, in the order of
// the parents, in one statement. The inner query names the parent's id w.of_id.
func CountsOf(g *gorm.DB, parents []ident.ID, inner *gorm.DB) ([]int, error) {
	counts := make([]int, 0, len(parents))
	err := g.Raw(`SELECT x.n FROM unnest(?::text[]) WITH ORDINALITY AS w(of_id, ord)
		CROSS JOIN LATERAL (SELECT count(*) AS n FROM (?) c) x ORDER BY ord`, IDs(parents), inner).Scan(&counts).Error
	return counts, err
}

// IDOrder is the order of a list by id, read in the window's direction, for
// PagesOf.
func IDOrder(w page.Window) string {
	if w.Backward {
		return "id DESC"
	}
	return "id"
}
