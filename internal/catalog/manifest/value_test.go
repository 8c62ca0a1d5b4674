package manifest_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"biztraak.dev/vm/internal/catalog/manifest"
)

func TestNormalizeRoute(t *testing.T) {
	cases := map[string]struct{ in, want string }{
		"already normal":       {"/app", "/app"},
		"leading slash added":  {"app", "/app"},
		"trailing dropped":     {"/app/", "/app"},
		"repeated collapsed":   {"//a///b//", "/a/b"},
		"case kept":            {"/Shop", "/Shop"},
		"all marks":            {"/a-b_c.d~e", "/a-b_c.d~e"},
		"dots inside":          {"/.well-known/a..b", "/.well-known/a..b"},
		"empty":                {"", ""},
		"root":                 {"/", ""},
		"only slashes":         {"///", ""},
		"dot segment":          {"/a/./b", ""},
		"dot dot segment":      {"/a/..", ""},
		"percent":              {"/a%2fb", ""},
		"query":                {"/a?b", ""},
		"star":                 {"/a*", ""},
		"brace":                {"/{a}", ""},
		"backslash":            {`/a\b`, ""},
		"control":              {"/a\x00", ""},
		"letter outside ASCII": {"/é", ""},
		"bad UTF-8":            {"/\xff", ""},
		"too long":             {"/" + strings.Repeat("a", 255), ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := manifest.NormalizeRoute(c.in)
			if c.want == "" {
				require.ErrorContains(t, err, "route")
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

func TestNormalizeRouteIsStable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		route := rapid.StringMatching(`[/a-zA-Z0-9._~%?-]{0,20}`).Draw(t, "route")
		once, err := manifest.NormalizeRoute(route)
		if err != nil {
			return
		}
		twice, err := manifest.NormalizeRoute(once)
		require.NoError(t, err)
		require.Equal(t, once, twice)
	})
}

func TestAmountsHaveOneText(t *testing.T) {
	cases := map[string]struct {
		into     any
		in, want string
	}{
		"thousandths":       {new(manifest.MilliCPU), "500m", "500m"},
		"whole processors":  {new(manifest.MilliCPU), "2", "2000m"},
		"mebibytes":         {new(manifest.ByteSize), "1536Mi", "1536Mi"},
		"gibibytes":         {new(manifest.ByteSize), "3Gi", "3Gi"},
		"mebibytes of a Gi": {new(manifest.ByteSize), "2048Mi", "2Gi"},
		"hours of a day":    {new(manifest.Duration), "PT36H", "P1DT12H"},
		"minutes of hours":  {new(manifest.Duration), "PT90M", "PT1H30M"},
		"days":              {new(manifest.Duration), "P30D", "P30D"},
		"zero":              {new(manifest.Duration), "PT", "PT0M"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, json.Unmarshal([]byte(`"`+c.in+`"`), c.into))
			text, err := json.Marshal(c.into)
			require.NoError(t, err)
			require.Equal(t, `"`+c.want+`"`, string(text))
		})
	}
}

func TestAmountsRefuse(t *testing.T) {
	cases := map[string]struct {
		into any
		in   string
	}{
		"cpu in words":      {new(manifest.MilliCPU), "two"},
		"cpu below zero":    {new(manifest.MilliCPU), "-1"},
		"size without unit": {new(manifest.ByteSize), "512"},
		"size in MB":        {new(manifest.ByteSize), "512MB"},
		"size of no number": {new(manifest.ByteSize), "Gi"},
		"months":            {new(manifest.Duration), "P1M"},
		"seconds":           {new(manifest.Duration), "PT10S"},
		"below zero":        {new(manifest.Duration), "-PT1H"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			require.Error(t, json.Unmarshal([]byte(`"`+c.in+`"`), c.into))
		})
	}
}

func TestDurationKeepsMinutes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := manifest.Duration(time.Duration(rapid.IntRange(0, 60*24*365).Draw(t, "minutes")) * time.Minute)
		var got manifest.Duration
		require.NoError(t, got.UnmarshalText([]byte(want.String())))
		require.Equal(t, want, got)
	})
}

func TestDigest(t *testing.T) {
	digest := func(text string) string {
		m, err := manifest.Parse([]byte(text))
		require.NoError(t, err)
		sum, err := m.Digest()
		require.NoError(t, err)
		return sum
	}
	same := map[string]string{
		"a comment":                    "# comment\n" + template,
		"another spelling of cpu":      strings.Replace(template, `"2"`, "2000m", 1),
		"quotes":                       strings.Replace(template, "name: Lab", `name: "Lab"`, 1),
		"another order of the fields":  strings.Replace(template, "  slug: lab\n  version: 1.0.0\n", "  version: 1.0.0\n  slug: lab\n", 1),
		"another spelling of duration": strings.Replace(template, "PT8H", "PT480M", 1),
	}
	for name, text := range same {
		t.Run(name, func(t *testing.T) {
			require.NotEqual(t, template, text)
			require.Equal(t, digest(template), digest(text))
		})
	}
	changed := map[string]string{
		"text":     strings.Replace(template, "Hello.", "Goodbye.", 1),
		"resource": strings.Replace(template, "10Gi", "11Gi", 1),
		"icon":     strings.Replace(template, "flask", "tube", 1),
	}
	for name, text := range changed {
		t.Run(name, func(t *testing.T) {
			require.NotEqual(t, digest(template), digest(text))
		})
	}
	t.Run("the same for ever", func(t *testing.T) {
		require.Equal(t, addOnDigest, digest(addOn))
	})
	t.Run("of half a manifest", func(t *testing.T) {
		_, err := manifest.Manifest{Kind: manifest.KindAddOn}.Digest()
		require.ErrorContains(t, err, "AddOnPack")
	})
}

// addOnDigest changes only if the digest of published items would change, and
// then every stored item looks changed.
const addOnDigest = "sha256:badb6f0c5a8b3393e4014424e00c1c61cd075cd87794e1f1b6e83ef4e473f312"

func TestStoredManifestReadsBack(t *testing.T) {
	for _, text := range []string{template, addOn} {
		m, err := manifest.Parse([]byte(text))
		require.NoError(t, err)
		stored, err := json.Marshal(m)
		require.NoError(t, err)
		var back manifest.Manifest
		require.NoError(t, json.Unmarshal(stored, &back))
		require.Equal(t, m, back)
		again, err := manifest.Parse(stored)
		require.NoError(t, err, "JSON is YAML too")
		require.Equal(t, m, again)
	}
}

func TestStoredManifestRefuses(t *testing.T) {
	for name, stored := range map[string]string{
		"unknown kind":       `{"kind":"Machine"}`,
		"unknown field":      `{"kind":"AddOnPack","shade":"red","spec":{}}`,
		"unknown spec field": `{"kind":"AddOnPack","spec":{"least":{}}}`,
		"no spec":            `{"kind":"AddOnPack"}`,
	} {
		t.Run(name, func(t *testing.T) {
			var m manifest.Manifest
			require.Error(t, json.Unmarshal([]byte(stored), &m))
			require.Equal(t, manifest.Manifest{}, m)
		})
	}
}
