package syslog

import (
	"fmt"
	"slices"
	"strings"

	"biztraak.dev/vm/internal/fault"
)

const (
	// maxFilterUnits and maxContains (bytes) bound what a client can ask for.
	maxFilterUnits = 50
	maxContains    = 256
)

// Filter chooses lines; a line must meet every part that is set. The zero value
// chooses all.
type Filter struct {
	// Sources and Units list what is let through; empty means any.
	Sources []Source
	Units   []string
	// MinPriority is the least severe priority that is let through, 0 to 7; a
	// lower number is more severe. nil means any.
	MinPriority *int
	// Contains is text that the plain message holds, byte for byte.
	Contains string
}

// Validate refuses a filter that cannot be met or is too long, with a
// BAD_REQUEST fault.
func (f Filter) Validate() error {
	for _, s := range f.Sources {
		if s != Journal && s != Console && s != Platform {
			return fault.New(fault.BadRequest, "filter.sources: %q is not a source of log lines", string(s))
		}
	}
	if len(f.Units) > maxFilterUnits {
		return fault.New(fault.BadRequest, "filter.units: at most %d units, not %d", maxFilterUnits, len(f.Units))
	}
	if p := f.MinPriority; p != nil && (*p < 0 || *p > maxPriority) {
		return fault.New(fault.BadRequest, "filter.minPriority: between 0 and %d, not %d", maxPriority, *p)
	}
	if len(f.Contains) > maxContains {
		return fault.New(fault.BadRequest, "filter.contains: at most %d bytes, not %d", maxContains, len(f.Contains))
	}
	for _, text := range append(slices.Clone(f.Units), f.Contains) {
		if strings.ContainsRune(text, 0) || strings.ToValidUTF8(text, "") != text {
			return fault.New(fault.BadRequest, "filter: text is UTF-8 without NUL")
		}
	}
	return nil
}

func (f Filter) empty() bool {
	return len(f.Sources) == 0 && len(f.Units) == 0 && f.MinPriority == nil && f.Contains == ""
}

// match is where for a line in memory. The two must agree.
func (f Filter) match(l Line) bool {
	return (len(f.Sources) == 0 || slices.Contains(f.Sources, l.Source)) &&
		(len(f.Units) == 0 || slices.Contains(f.Units, l.Unit)) &&
		(f.MinPriority == nil || l.Priority <= *f.MinPriority) &&
		strings.Contains(l.PlainMessage, f.Contains)
}

// where is the filter as conditions that begin with AND; their parameters are
// added to those of the statement.
func (f Filter) where(args *[]any) string {
	var b strings.Builder
	add := func(format string, arg any) {
		*args = append(*args, arg)
		fmt.Fprintf(&b, " AND "+format, len(*args))
	}
	if len(f.Sources) > 0 {
		add("source = ANY($%d::text[])", f.Sources)
	}
	if len(f.Units) > 0 {
		add("unit = ANY($%d::text[])", f.Units)
	}
	if f.MinPriority != nil {
		add("priority <= $%d", *f.MinPriority)
	}
	if f.Contains != "" {
		add("strpos(COALESCE(plain_message, message), $%d) > 0", f.Contains)
	}
	return b.String()
}
