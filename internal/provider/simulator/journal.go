package simulator

import (
	"cmp"
	"fmt"
	"time"

	"biztraak.dev/vm/internal/guest"
)

// position is the place of a line in a journal: the phase, and the line in it.
// Lines are in order of their positions; positions are never used again.
type position struct{ event, part, index int }

func (p position) compare(q position) int {
	return cmp.Or(cmp.Compare(p.event, q.event), cmp.Compare(p.part, q.part), cmp.Compare(p.index, q.index))
}

func (p position) String() string { return fmt.Sprintf("%x.%x.%x", p.event, p.part, p.index) }

// beginning comes before every line.
func beginning() position { return position{event: -1} }

// cursor is the text of a position. It names the machine, so that it is foreign
// to every other one.
func (m machine) cursor(p position) string { return "s=" + digest(m.id) + ";i=" + p.String() }

// seek reads a cursor of this machine. False when it is another machine's, or
// from a future that this machine does not know.
func (m machine) seek(cursor string) (position, bool) {
	var p position
	if _, err := fmt.Sscanf(cursor, "s="+digest(m.id)+";i=%x.%x.%x", &p.event, &p.part, &p.index); err != nil {
		return position{}, false
	}
	// Writing it again catches what the scan is too kind to refuse.
	return p, m.cursor(p) == cursor && p.event >= 0 && p.event < len(m.History) && p.part >= 0 && p.index >= 0
}

// journal reads at most limit entries after a position that were written by now.
// When it ends at the live end, next is when the following line is due if
// nothing happens until then; zero when none is. The cost grows with the history
// and the limit, not with the age of the machine.
func (m machine) journal(after position, limit int, now time.Time) (entries []guest.JournalEntry, last position, next time.Time) {
	last = after
	for _, p := range m.timeline() {
		start := position{event: p.event, part: p.part}
		if beyond := (position{event: after.event, part: after.part}); start.compare(beyond) < 0 {
			continue
		} else if start == beyond {
			start.index = after.index + 1
		}
		for ; ; start.index++ {
			l, at, ok := p.line(start.index)
			if !ok || !p.covers(at) {
				break
			}
			if at.After(now) {
				return entries, last, at
			}
			if len(entries) == limit {
				return entries, last, time.Time{}
			}
			entries = append(entries, guest.JournalEntry{
				Cursor: m.cursor(start), Time: at, Unit: l.unit, Priority: l.priority, Message: m.render(l.text, start),
			})
			last = start
		}
	}
	return entries, last, time.Time{}
}
