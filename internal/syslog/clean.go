package syslog

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// clean makes a message that can be stored and shown, and its plain form.
//
//   - Bytes that are not UTF-8 become U+FFFD.
//   - Control characters go, NUL among them; line feeds and tabs stay, but not
//     line feeds at the end.
//   - Control sequences (ECMA-48: CSI, OSC, DCS and the like) go. Colors (SGR)
//     stay in message and go from plain. A sequence without an end loses its
//     beginning only, so that no program can hide what follows it.
//   - A carriage return that no line feed follows starts its line again, as on
//     a terminal: of a progress bar only the last state that shows anything
//     stays. Cursor movements are not carried out.
//   - What is longer than MaxMessage after all that is cut at a character, and
//     truncated is true.
//
// clean(message) gives message and plain again.
func clean(raw string) (message, plain string, truncated bool) {
	s := strings.ToValidUTF8(raw, "\uFFFD")
	if len(s) <= MaxMessage && textRun(s) == len(s) { // nearly every line
		return s, s, false
	}
	var c cleaner
	for len(s) > 0 && !c.finished {
		s = s[c.next(s):]
	}
	c.endLine()
	message, plain = string(c.message), string(c.plain)
	return strings.TrimRight(message, "\n"), strings.TrimRight(plain, "\n"), c.full
}

// cleaner builds the two forms of a message.
type cleaner struct {
	message, plain []byte
	// messageAt and plainAt are where the current line begins.
	messageAt, plainAt int
	// full means that the limit was met; what follows in the line is left out.
	full bool
	// finished means that it was met in a line that has ended.
	finished bool
	// best is the last state of the current line that shows anything.
	best state
}

// state is a line as it was before a carriage return.
type state struct {
	message, plain []byte
	full, set      bool
}

// next takes the first token of s and says how long it is.
func (c *cleaner) next(s string) int {
	if n := textRun(s); n > 0 {
		c.addText(s[:n])
		return n
	}
	switch s[0] {
	case '\n':
		c.endLine()
		c.add("\n", "\n")
		c.messageAt, c.plainAt = len(c.message), len(c.plain)
		c.finished = c.full
		return 1
	case '\r':
		if len(s) > 1 && s[1] != '\n' {
			c.restartLine()
		}
		return 1
	case esc:
		n, color := escape(s)
		if color {
			c.add(s[:n], "")
		}
		return n
	case c1Lead:
		n, color := c1(s)
		if color {
			c.add(string(esc)+"["+s[2:n], "")
		}
		return n
	}
	return 1
}

// add appends to both forms, or marks the line full when it does not fit.
func (c *cleaner) add(message, plain string) {
	if c.full || len(c.message)+len(message) > MaxMessage {
		c.full = true
		return
	}
	c.message, c.plain = append(c.message, message...), append(c.plain, plain...)
}

func (c *cleaner) addText(text string) {
	if room := MaxMessage - len(c.message); len(text) > room && !c.full {
		part := cut(text, room)
		c.add(part, part)
		c.full = true
		return
	}
	c.add(text, text)
}

// blank says whether the current line shows nothing.
func (c *cleaner) blank() bool {
	return len(bytes.TrimSpace(c.plain[c.plainAt:])) == 0
}

func (c *cleaner) restartLine() {
	if !c.blank() {
		c.best = state{
			message: append(c.best.message[:0], c.message[c.messageAt:]...),
			plain:   append(c.best.plain[:0], c.plain[c.plainAt:]...),
			full:    c.full, set: true,
		}
	}
	c.message, c.plain, c.full = c.message[:c.messageAt], c.plain[:c.plainAt], false
}

func (c *cleaner) endLine() {
	if c.best.set && c.blank() {
		c.message = append(c.message[:c.messageAt], c.best.message...)
		c.plain = append(c.plain[:c.plainAt], c.best.plain...)
		c.full = c.best.full
	}
	c.best.set = false
}

// cut gives the beginning of s in at most n bytes, ending with a whole character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
