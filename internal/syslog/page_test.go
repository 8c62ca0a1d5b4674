package syslog

import (
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/fault"
	"biztraak.dev/vm/internal/page"
)

func badRequest(t testing.TB, err error) {
	t.Helper()
	var f *fault.Fault
	require.ErrorAs(t, err, &f)
	require.Equal(t, fault.BadRequest, f.Code)
}

// threeDays makes lines 1-4, 5-8 and 9-12 on three days.
func threeDays(t testing.TB) *world {
	w := newWorld(t)
	for day := range 3 {
		if day > 0 {
			w.passDays(t, 1)
		}
		w.append(t, numbered(day*4+1, 4)...)
	}
	return w
}

func TestPage(t *testing.T) {
	w := threeDays(t)
	lines := w.all(t)
	at := func(seq int) *page.Cursor { c := lines[seq-1].Cursor(); return &c }
	n := func(n int) *int { return &n }
	tests := []struct {
		name                 string
		args                 page.Args
		want                 []int64
		hasNext, hasPrevious bool
	}{
		{"default", page.Args{}, []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, false, false},
		{"first", page.Args{First: n(2)}, []int64{1, 2}, true, false},
		{"after, over a midnight", page.Args{First: n(3), After: at(3)}, []int64{4, 5, 6}, true, true},
		{"after the end of a day", page.Args{First: n(1), After: at(4)}, []int64{5}, true, true},
		{"after the last", page.Args{After: at(12)}, []int64{}, false, true},
		{"last", page.Args{Last: n(3)}, []int64{10, 11, 12}, false, true},
		{"last before, over a midnight", page.Args{Last: n(3), Before: at(6)}, []int64{3, 4, 5}, true, true},
		{"before the first", page.Args{Last: n(3), Before: at(1)}, []int64{}, true, false},
		{"between", page.Args{After: at(3), Before: at(6)}, []int64{4, 5}, false, true},
		{"none", page.Args{First: n(0)}, []int64{}, true, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := w.Page(t.Context(), provider, tt.args, Filter{})
			require.NoError(t, err)
			require.Equal(t, tt.want, seqs(got.Items))
			require.Equal(t, tt.hasNext, got.HasNext, "hasNext")
			require.Equal(t, tt.hasPrevious, got.HasPrevious, "hasPrevious")
		})
	}
}

func TestPageRefuses(t *testing.T) {
	w := threeDays(t)
	cursor := func(c page.Cursor) *page.Cursor { return &c }
	day := time.Now().UTC()
	n := 101
	tests := []struct {
		name   string
		args   page.Args
		filter Filter
	}{
		{"no cursor at all", page.Args{After: cursor("%%%")}, Filter{}},
		{"cursor of another list", page.Args{After: cursor(page.NewCursor("prj_1"))}, Filter{}},
		{"cursor of another kind", page.Args{Before: cursor(page.NewCursor("x", day.Format(time.DateOnly), "1"))}, Filter{}},
		{"bad day", page.Args{After: cursor(page.NewCursor("log", "2025-99-01", "1"))}, Filter{}},
		{"bad number", page.Args{After: cursor(page.NewCursor("log", day.Format(time.DateOnly), "x"))}, Filter{}},
		{"negative number", page.Args{After: cursor(page.NewCursor("log", day.Format(time.DateOnly), "-1"))}, Filter{}},
		{"beyond the end", page.Args{After: cursor(place{day: day, seq: 13}.cursor())}, Filter{}},
		{"too large a page", page.Args{First: &n}, Filter{}},
		{"unknown source", page.Args{}, Filter{Sources: []Source{"PRINTER"}}},
		{"priority out of range", page.Args{}, Filter{MinPriority: new(8)}},
		{"too many units", page.Args{}, Filter{Units: make([]string, maxFilterUnits+1)}},
		{"too long a text", page.Args{}, Filter{Contains: strings.Repeat("x", maxContains+1)}},
		{"NUL", page.Args{}, Filter{Contains: "a\x00"}},
		{"invalid UTF-8", page.Args{}, Filter{Units: []string{"\xff"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := w.Page(t.Context(), provider, tt.args, tt.filter)
			badRequest(t, err)
		})
	}
}

func TestFilter(t *testing.T) {
	w := newWorld(t)
	w.append(t,
		Line{Source: Platform, Unit: "step", Priority: 6, Message: "starting"},
		Line{Source: Journal, Unit: "caddy.service", Priority: 3, Message: "\x1b[31mup\x1b[0mstream down"},
		Line{Source: Journal, Unit: "ssh.service", Priority: 4, Message: "100% _done_"},
		Line{Source: Console, Unit: "", Priority: 7, Message: "Booting"},
	)
	tests := []struct {
		name   string
		filter Filter
		want   []int64
	}{
		{"all", Filter{}, []int64{1, 2, 3, 4}},
		{"source", Filter{Sources: []Source{Platform, Console}}, []int64{1, 4}},
		{"unit", Filter{Units: []string{"caddy.service", "step"}}, []int64{1, 2}},
		{"priority", Filter{MinPriority: new(4)}, []int64{2, 3}},
		{"text across a color", Filter{Contains: "upstream"}, []int64{2}},
		{"text is no pattern", Filter{Contains: "%"}, []int64{3}},
		{"text has case", Filter{Contains: "boot"}, []int64{}},
		{"every part must hold", Filter{Sources: []Source{Journal}, MinPriority: new(3), Contains: "down"}, []int64{2}},
		{"and none does", Filter{Sources: []Source{Journal}, Units: []string{"step"}}, []int64{}},
	}
	lines := w.all(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := w.Page(t.Context(), provider, page.Args{}, tt.filter)
			require.NoError(t, err)
			require.Equal(t, tt.want, seqs(got.Items))
			matched := []int64{}
			for _, l := range lines {
				if tt.filter.match(l) {
					matched = append(matched, l.Seq)
				}
			}
			require.Equal(t, tt.want, matched, "in memory")
		})
	}
}

// A read after a number must not open the partitions of the days before it, nor
// sort what the indexes have in order.
func TestLoadLeavesOldPartitionsAlone(t *testing.T) {
	w := threeDays(t)
	lines := w.all(t)
	rows, err := w.pool.Query(t.Context(), "EXPLAIN (COSTS off, ANALYZE, TIMING off, SUMMARY off)"+loadStatement, provider, 8, 2)
	require.NoError(t, err)
	plan, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	text := strings.Join(plan, "\n")
	for _, old := range []int{1, 5} {
		require.Regexp(t, partitionName(lines[old-1].Day)+`[^\n]*\(never executed\)`, text)
	}
	// How the one day to begin with is found is the planner's to decide: a log has
	// few days.
	require.NotContains(t, text, "Sort Key: log_line")
}
