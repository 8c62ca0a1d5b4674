package syslog

import "strings"

const (
	esc = '\x1b'
	bel = '\a'
	del = 0x7f
	// c1Lead and c1Last bound the UTF-8 form of the C1 controls, U+0080 to
	// U+009F: the lead byte, then a byte up to c1Last.
	c1Lead = 0xc2
	c1Last = 0x9f
	// maxColor is the longest color sequence that is kept, in bytes.
	maxColor = 64
)

// textRun says how many bytes at the beginning of s are text: no controls but
// tabs, and no beginning of a sequence.
func textRun(s string) int {
	for i := range len(s) {
		b := s[i]
		if b < ' ' && b != '\t' || b == del || b == c1Lead && s[i+1] <= c1Last { // UTF-8 is valid, so a byte follows
			return i
		}
	}
	return len(s)
}

// escape measures the sequence at the beginning of s, which starts with ESC.
// color says that it is an SGR sequence.
func escape(s string) (n int, color bool) {
	if len(s) == 1 {
		return 1, false
	}
	switch b := s[1]; {
	case b == '[':
		return csi(s, 2)
	case strings.IndexByte("]PX^_", b) >= 0:
		return controlString(s, 2), false
	case b >= 0x20 && b <= 0x2f: // such as the choice of a character set
		i := 2
		for i < len(s) && s[i] >= 0x20 && s[i] <= 0x2f {
			i++
		}
		if i < len(s) && s[i] >= 0x30 && s[i] < del {
			return i + 1, false
		}
		return 1, false
	case b >= 0x30 && b < del:
		return 2, false
	}
	return 1, false
}

// c1 is escape for the one-character forms of the same sequences.
func c1(s string) (n int, color bool) {
	switch s[1] {
	case 0x9b:
		return csi(s, 2)
	case 0x90, 0x98, 0x9d, 0x9e, 0x9f:
		return controlString(s, 2), false
	}
	return 2, false
}

// csi measures a control sequence whose introducer ends at i: parameters,
// intermediates, a final byte. Without a final byte it ends where it breaks off.
func csi(s string, i int) (n int, color bool) {
	begin := i
	for i < len(s) && s[i] >= 0x30 && s[i] <= 0x3f {
		i++
	}
	color = strings.Trim(s[begin:i], "0123456789;:") == "" && i < len(s) && s[i] == 'm' && i < maxColor
	for i < len(s) && s[i] >= 0x20 && s[i] <= 0x2f {
		i++
	}
	if i < len(s) && s[i] >= 0x40 && s[i] < del {
		i++
	}
	return i, color
}

// controlString measures a string such as a window title, whose introducer ends
// at i: up to BEL or ST. A string that does not end in its line, or in which
// another sequence begins, is its introducer only; so no byte is looked at twice.
func controlString(s string, i int) int {
	begin := i
	for ; i < len(s); i++ {
		switch {
		case s[i] == bel:
			return i + 1
		case s[i] == esc && strings.HasPrefix(s[i+1:], `\`), s[i] == c1Lead && strings.HasPrefix(s[i+1:], "\x9c"):
			return i + 2
		case s[i] == esc || s[i] == '\n' || s[i] == c1Lead && s[i+1] <= c1Last:
			return begin
		}
	}
	return begin
}
