package names_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"biztraak.dev/vm/internal/fault"
	"biztraak.dev/vm/internal/names"
)

func TestNames(t *testing.T) {
	for _, c := range []struct {
		name             string
		text             string
		title, component bool
	}{
		{"a word", "web", true, true},
		{"words", "My web server 2", true, true},
		{"marks inside", "a-b_c.d", true, true},
		{"a digit first", "2nd", true, true},
		{"one character", "x", true, true},
		{"other alphabets", "Größe 北京", true, false},
		{"a symbol", "a/b", true, false},
		{"a hyphen first", "-web", true, false},
		{"an underscore first", "_web", true, false},
		{"a dot first", ".web", true, false},
		{"empty", "", false, false},
		{"only spaces", "   ", false, false},
		{"a space first", " web", false, false},
		{"a space last", "web ", false, false},
		{"a line break", "a\nb", false, false},
		{"a NUL", "a\x00b", false, false},
		{"not UTF-8", "a\xffb", false, false},
		{"an invisible character", "a\u200bb", false, false},
		{"63 characters", strings.Repeat("a", 63), true, true},
		{"64 characters", strings.Repeat("a", 64), true, false},
		{"80 characters of three bytes", strings.Repeat("北", 80), true, false},
		{"81 characters", strings.Repeat("a", 81), false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := fault.Input("name")
			for _, check := range []struct {
				got fault.Refusals
				ok  bool
			}{{names.Title(c.text, path), c.title}, {names.Component(c.text, path), c.component}} {
				if check.ok {
					require.Empty(t, check.got)
					continue
				}
				require.NotEmpty(t, check.got)
				for _, r := range check.got {
					require.Equal(t, fault.NameInvalid, r.Code)
					require.Equal(t, path, r.Path)
					require.NotContains(t, r.Message, "\x00")
				}
			}
		})
	}
}

func TestAllThatIsWrongWithANameIsSaid(t *testing.T) {
	require.Len(t, names.Title(" a\nb", nil), 2, "the space and the line break")
}

func TestSlug(t *testing.T) {
	for text, want := range map[string]string{
		"Web":                  "web",
		"My  web -- server_2.": "my-web-server-2",
		"-a-":                  "a",
		"Größe":                "gr-e",
		"北京":                   "x",
		"":                     "x",
		"İstanbul":             "istanbul",
		"a\u212a":              "ak",
	} {
		require.Equal(t, want, names.Slug(text), "%q", text)
	}
}

func TestSlugsAreFitForURLs(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		slug := names.Slug(rapid.String().Draw(r, "name"))
		require.Regexp(r, `^[a-z0-9]+(-[a-z0-9]+)*$`, slug)
		require.Equal(r, slug, names.Slug(slug))
	})
}
