package syslog

import (
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestClean(t *testing.T) {
	tests := []struct {
		name, raw, message, plain string
		truncated                 bool
	}{
		{name: "text stays", raw: "héllo wörld\t✓", message: "héllo wörld\t✓"},
		{name: "nothing", raw: "", message: ""},
		{name: "line feeds stay inside and go at the end", raw: "a\n\nb\n\n", message: "a\n\nb"},
		{name: "windows line ends", raw: "a\r\nb\r\n", message: "a\nb"},
		{name: "invalid bytes", raw: "a\xff\xfeb", message: "a\uFFFDb"},
		{name: "NUL, bell, delete", raw: "a\x00b\ac\x7f", message: "abc"},
		{name: "color", raw: "\x1b[1;31mred\x1b[0m", message: "\x1b[1;31mred\x1b[0m", plain: "red"},
		{name: "true color", raw: "\x1b[38:2::1:2:3mx", message: "\x1b[38:2::1:2:3mx", plain: "x"},
		{name: "color in one character", raw: "\u009b31mred", message: "\x1b[31mred", plain: "red"},
		{name: "endless color", raw: "\x1b[" + strings.Repeat("1;", 50) + "mx", message: "x"},
		{name: "private mode that ends in m", raw: "\x1b[>4;2mx", message: "x"},
		{name: "cursor movement", raw: "\x1b[2J\x1b[1;1Hx\x1b[K", message: "x"},
		{name: "sequence without an end", raw: "x\x1b[31", message: "x"},
		{name: "escape alone", raw: "x\x1b", message: "x"},
		{name: "control inside a sequence", raw: "\x1b\x00[31mx", message: "[31mx"},
		{name: "character set", raw: "\x1b(Bx", message: "x"},
		{name: "two-character sequence", raw: "\x1b7x\x1b8", message: "x"},
		{name: "window title", raw: "\x1b]0;title\ax", message: "x"},
		{name: "link", raw: "\x1b]8;;http://x\x1b\\text\x1b]8;;\x1b\\", message: "text"},
		{name: "device string", raw: "\x1bPq#0\x1b\\x", message: "x"},
		{name: "string in one-character form", raw: "\u009dtitle\u009cx", message: "x"},
		{name: "string without an end hides nothing", raw: "\x1b]evil\nnext", message: "evil\nnext"},
		{name: "other one-character control", raw: "a\u0085b", message: "ab"},
		{name: "no-break space is text", raw: "a\u00a0b", message: "a\u00a0b"},
		{name: "progress bar", raw: "10%\r50%\r100%", message: "100%"},
		{name: "progress bar with an end", raw: "10%\r100%\r\ndone", message: "100%\ndone"},
		{name: "progress bar that is wiped", raw: "10%\r100%\r      \r", message: "100%"},
		{name: "progress bar replaced by text", raw: "10%\r\x1b[2K\rdone\n", message: "done"},
		{name: "progress bar in a second line", raw: "start\n1%\r2%\r3%", message: "start\n3%"},
		{name: "too long", raw: strings.Repeat("x", MaxMessage+1), message: strings.Repeat("x", MaxMessage), truncated: true},
		{name: "just not too long", raw: strings.Repeat("x", MaxMessage), message: strings.Repeat("x", MaxMessage)},
		{
			name: "cut at a character", raw: strings.Repeat("x", MaxMessage-1) + "é",
			message: strings.Repeat("x", MaxMessage-1), truncated: true,
		},
		{
			name: "cut before a color", raw: strings.Repeat("x", MaxMessage-2) + "\x1b[31mred",
			message: strings.Repeat("x", MaxMessage-2), truncated: true,
		},
		{name: "long only because of a progress bar", raw: strings.Repeat("working\r", MaxMessage) + "done", message: "done"},
		{name: "a long state that is replaced", raw: strings.Repeat("x", MaxMessage+9) + "\rdone", message: "done"},
		{
			name: "lines after a cut are left out", raw: strings.Repeat("x", MaxMessage) + "\nmore\rrest",
			message: strings.Repeat("x", MaxMessage), truncated: true,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			message, plain, truncated := clean(tt.raw)
			if tt.plain == "" {
				tt.plain = tt.message
			}
			require.Equal(t, tt.message, message)
			require.Equal(t, tt.plain, plain)
			require.Equal(t, tt.truncated, truncated)
		})
	}
}

var (
	colors   = regexp.MustCompile(`\x1b\[[0-9;:]*m`)
	controls = regexp.MustCompile(`[\x00-\x08\x0b-\x1f\x7f\x{80}-\x{9f}]`)
)

func FuzzClean(f *testing.F) {
	for _, seed := range []string{
		"plain", "\x1b[31mred\x1b[0m", "\x1b]0;t\ax", "1%\r2%\r\n3", "a\xff\u009b1mb\u009d", "\x1b\x1b[[m", "a\n\x1b[0m\n", "\x1b(\r\n\x00",
		strings.Repeat("ab\x1b[1m\r\n", 20),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		message, plain, _ := clean(raw)
		require.LessOrEqual(t, len(message), MaxMessage)
		require.True(t, utf8.ValidString(message))
		require.False(t, controls.MatchString(plain), "%q", plain)
		require.Equal(t, plain, strings.TrimRight(colors.ReplaceAllString(message, ""), "\n"), "raw %q", raw)
		again, plainAgain, truncated := clean(message)
		require.Equal(t, message, again)
		require.Equal(t, plain, plainAgain)
		require.False(t, truncated)
	})
}

// A program in a guest must not be able to keep the follower busy.
func TestCleanTakesLinearTime(t *testing.T) {
	for _, part := range []string{"\u009d", "\x1b]", "\x1b[", "\x1b(", "\u009b", "x\r", "\x1b[1m\r", "\xff", "\n"} {
		begin := time.Now()
		clean(strings.Repeat(part, 4<<20/len(part)))
		require.Less(t, time.Since(begin), 5*time.Second, "%q", part) // quadratic would be hours
	}
}

func TestCleaned(t *testing.T) {
	now := time.Date(2025, 6, 1, 12, 0, 0, 1234, time.UTC)
	lines, bytes := cleaned([]Line{
		{Message: "\x1b[1mhi", Unit: "a\x00\xff.service", Priority: 99},
		{Message: "x", Priority: 3, Time: time.Date(12345, 1, 1, 0, 0, 0, 0, time.UTC)},
		{Message: "x", Priority: -1, Time: time.Date(-5, 1, 1, 0, 0, 0, 0, time.UTC), Unit: strings.Repeat("é", maxUnit)},
	}, now)
	require.Equal(t, now.Truncate(time.Microsecond), lines[0].Time)
	require.Equal(t, "a\uFFFD.service", lines[0].Unit)
	require.Equal(t, 6, lines[0].Priority)
	require.Equal(t, "hi", lines[0].PlainMessage)
	require.Equal(t, 3, lines[1].Priority)
	require.Equal(t, 9999, lines[1].Time.Year())
	require.Equal(t, 1970, lines[2].Time.Year())
	require.Len(t, lines[2].Unit, maxUnit)
	require.EqualValues(t, 3*lineOverhead+len("\x1b[1mhihi")+len(lines[0].Unit)+1+1+maxUnit, bytes)
}
