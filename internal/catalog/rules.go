package catalog

import (
	"cmp"
	"slices"

	"golang.org/x/mod/semver"

	"biztraak.dev/vm/internal/ident"
)

// newest keeps the newest version of each item, by slug. A team's item of the
// same slug as everybody's is another item, and comes after it.
func newest(rows []versionRow) []ident.ID {
	slices.SortFunc(rows, func(a, b versionRow) int {
		return cmp.Or(
			cmp.Compare(a.Slug, b.Slug),
			cmp.Compare(a.TeamID, b.TeamID),
			semver.Compare("v"+b.Version, "v"+a.Version),
			// Versions that differ only in build metadata are equal to semver.
			cmp.Compare(b.Version, a.Version),
		)
	})
	rows = slices.CompactFunc(rows, func(a, b versionRow) bool { return a.Slug == b.Slug && a.TeamID == b.TeamID })
	ids := make([]ident.ID, len(rows))
	for i, r := range rows {
		ids[i] = r.ID
	}
	return ids
}
