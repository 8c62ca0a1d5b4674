package syslog

import (
	"strings"
	"time"
	"unicode"

	"biztraak.dev/vm/internal/page"
)

// Source says where a line comes from.
type Source string

// The sources of lines.
const (
	// Journal lines come from the guest's systemd journal, each exactly once.
	Journal Source = "JOURNAL"
	// Console lines are the boot output, best effort.
	Console Source = "CONSOLE"
	// Platform lines are ours: cloud calls, steps, gaps; each exactly once.
	Platform Source = "PLATFORM"
)

const (
	// MaxMessage is the longest message in bytes; the rest is cut off.
	MaxMessage = 64 << 10
	// maxUnit is the longest unit name in bytes.
	maxUnit = 256
	// lineOverhead is about what a row takes beside its texts, in bytes. The
	// same number stands in the statement of quota.go.
	lineOverhead = 64

	// The priorities of RFC 5424, of which syslog has no others.
	maxPriority     = 7
	defaultPriority = 6
)

// Line is one line of a log.
type Line struct {
	// Seq is the number of the line, from 1; set when it is stored.
	Seq int64
	// Day is the UTC date on which it was stored; set when it is stored.
	Day time.Time
	// Time is when the line was written by its own clock, in UTC with
	// microseconds; the present when zero.
	Time   time.Time
	Source Source
	// Unit is the systemd unit or the tag that wrote it; may be empty.
	Unit string
	// Priority is between 0 (emergency) and 7 (debug); others become 6 (info).
	Priority int
	// Message may hold line feeds, tabs and colors (SGR sequences); on the way
	// in, anything.
	Message string
	// PlainMessage is Message without colors; set when it is stored.
	PlainMessage string
	// Truncated says that the message was longer than MaxMessage; set when it
	// is stored.
	Truncated bool
}

// Cursor is the place right after the line.
func (l Line) Cursor() page.Cursor { return place{day: l.Day, seq: l.Seq}.cursor() }

// size is what the line takes in the store, in bytes, roughly.
func (l Line) size() int {
	n := lineOverhead + len(l.Unit) + len(l.Message)
	if l.PlainMessage != l.Message {
		n += len(l.PlainMessage)
	}
	return n
}

// plainColumn is what the column plain_message holds.
func (l Line) plainColumn() *string {
	if l.PlainMessage == l.Message {
		return nil
	}
	return &l.PlainMessage
}

// cleaned makes lines that the database takes, whatever they were before: a line
// that it refuses would be sent again and again and hold up all that follow.
func cleaned(lines []Line, now time.Time) (out []Line, bytes int64) {
	out = make([]Line, len(lines))
	for i, l := range lines {
		l.Message, l.PlainMessage, l.Truncated = clean(l.Message)
		l.Unit = cleanUnit(l.Unit)
		if l.Priority < 0 || l.Priority > maxPriority {
			l.Priority = defaultPriority
		}
		if l.Time.IsZero() {
			l.Time = now
		}
		l.Time = cleanTime(l.Time)
		out[i] = l
		bytes += int64(l.size())
	}
	return out, bytes
}

// cleanTime keeps clocks that have gone mad within what every reader can show.
func cleanTime(t time.Time) time.Time {
	oldest, newest := time.Unix(0, 0), time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)
	if t.Before(oldest) {
		t = oldest
	}
	if t.After(newest) {
		t = newest
	}
	return t.UTC().Truncate(time.Microsecond)
}

func cleanUnit(unit string) string {
	unit = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(unit, "\uFFFD"))
	return cut(unit, maxUnit)
}
