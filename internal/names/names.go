// Package names checks the names that people give to things.
//
// The package is a leaf: it knows no domain and imports only fault and the
// standard library.
package names

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"biztraak.dev/vm/internal/fault"
)

// The longest names, in characters.
const (
	longestTitle     = 80
	longestComponent = 63
)

// Title checks the name of a team, a project, an account or a token: 1 to 80
// printable characters with no space at either end. It answers the refusals at
// the path, none when the name is good.
func Title(name string, path []string) fault.Refusals {
	return check(name, longestTitle, path, func(r rune) bool { return unicode.IsPrint(r) })
}

// Component checks the name of a part of a project, which also becomes a
// machine's name in clouds: 1 to 63 ASCII letters, digits, spaces, `-`, `_` and
// `.`, beginning with a letter or a digit.
func Component(name string, path []string) fault.Refusals {
	r := check(name, longestComponent, path, func(r rune) bool {
		return r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(" -_.", r))
	})
	if r == nil && strings.ContainsRune("-_.", rune(name[0])) {
		r = fault.Refuse(fault.NameInvalid, path, "a name begins with a letter or a digit, not with %q", name[:1])
	}
	return r
}

func check(name string, longest int, path []string, allowed func(rune) bool) fault.Refusals {
	var out fault.Refusals
	switch {
	case !utf8.ValidString(name):
		out.Add(fault.NameInvalid, path, "the name is not valid UTF-8 text")
		return out
	case strings.TrimSpace(name) == "":
		out.Add(fault.NameInvalid, path, "the name is empty: give it 1 to %d characters", longest)
		return out
	case utf8.RuneCountInString(name) > longest:
		out.Add(fault.NameInvalid, path, "the name has %d characters: at most %d are possible", utf8.RuneCountInString(name), longest)
		return out
	case strings.TrimSpace(name) != name:
		out.Add(fault.NameInvalid, path, "the name begins or ends with a space: leave that out")
	}
	for _, r := range name {
		if !allowed(r) {
			out.Add(fault.NameInvalid, path, "the name has the character %U, which names here cannot have", r)
			break
		}
	}
	return out
}

// Slug is the name in a form fit for URLs: lower-case ASCII letters, digits and
// single hyphens; "x" when nothing of the name is left.
func Slug(name string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(name) {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	if s := strings.Trim(b.String(), "-"); s != "" {
		return s
	}
	return "x"
}
