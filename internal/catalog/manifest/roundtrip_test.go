package manifest_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"

	"biztraak.dev/vm/internal/catalog/manifest"
)

// TestEveryManifestSurvivesYAML draws manifests from the Go types, writes them
// as YAML and expects the schema to accept and Parse to return the same.
func TestEveryManifestSurvivesYAML(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawManifest(t)
		data, err := json.Marshal(want)
		require.NoError(t, err)
		var plain any
		require.NoError(t, json.Unmarshal(data, &plain))
		text, err := yaml.Marshal(plain)
		require.NoError(t, err)
		got, err := manifest.Parse(text)
		require.NoError(t, err, "%s", text)
		require.Equal(t, want, got)
	})
}

func drawManifest(t *rapid.T) manifest.Manifest {
	m := manifest.Manifest{APIVersion: manifest.APIVersion, Metadata: manifest.Metadata{
		Slug:        slug().Draw(t, "slug"),
		Version:     rapid.StringMatching(`(0|[1-9][0-9]?)\.(0|[1-9]\d?)\.0(-rc\.[1-9])?`).Draw(t, "version"),
		Name:        line().Draw(t, "name"),
		Description: rapid.StringMatching(`[ -~\n]{1,60}`).Draw(t, "description"),
		Icon:        slug().Draw(t, "icon"),
		Links: list(t, "links", 2, func(t *rapid.T) manifest.Link {
			return manifest.Link{Title: line().Draw(t, "title"), URL: "https://" + slug().Draw(t, "host")}
		}),
	}}
	contribution := drawContribution(t)
	if rapid.Bool().Draw(t, "template") {
		m.Kind = manifest.KindTemplate
		m.Template = &manifest.TemplateSpec{
			BaseImages: rapid.MapOfN(rapid.SampledFrom(manifest.ProviderKinds()), slug(), 1, -1).Draw(t, "images"),
			Least: manifest.LeastResources{
				CPU: cpu().Draw(t, "cpu"), Memory: size().Draw(t, "memory"), Disk: size().Draw(t, "disk"),
			},
			DefaultShutdownTimer: manifest.Duration(time.Duration(rapid.IntRange(0, 40_000).Draw(t, "timer")) * time.Minute),
			Contribution:         contribution,
		}
		return m
	}
	m.Kind = manifest.KindAddOn
	m.AddOn = &manifest.AddOnSpec{
		ConflictsWith: slugs(t, "conflicts"),
		Fits:          slugs(t, "fits"),
		Contribution:  contribution,
	}
	if rapid.Bool().Draw(t, "extra") {
		m.AddOn.ExtraResources = &manifest.ExtraResources{Memory: size().Draw(t, "extra memory")}
	}
	if rapid.Bool().Draw(t, "requires") {
		m.AddOn.Requires = &manifest.Requires{AddOns: []string{slug().Draw(t, "required")}, Capabilities: capabilities(t)}
	}
	return m
}

func drawContribution(t *rapid.T) manifest.Contribution {
	return manifest.Contribution{
		ApplySteps:     list(t, "steps", 4, drawStep),
		Capabilities:   capabilities(t),
		ReservedRoutes: list(t, "routes", 2, func(t *rapid.T) string { return "/" + slug().Draw(t, "route") }),
		RuntimePaths: list(t, "paths", 2, func(t *rapid.T) manifest.RuntimePath {
			return manifest.RuntimePath{
				Name:     slug().Draw(t, "path name"),
				Kind:     rapid.SampledFrom([]manifest.RuntimePathKind{manifest.RuntimeTerminal, manifest.RuntimeIDE, manifest.RuntimeApp}).Draw(t, "path kind"),
				Port:     rapid.IntRange(1024, 65535).Draw(t, "port"),
				Protocol: rapid.SampledFrom([]manifest.Protocol{manifest.ProtocolHTTP, manifest.ProtocolWS}).Draw(t, "protocol"),
				Path:     "/",
			}
		}),
	}
}

func drawStep(t *rapid.T) manifest.Step {
	step := manifest.Step{Name: line().Draw(t, "step")}
	switch rapid.IntRange(0, 3).Draw(t, "action") {
	case 0:
		step.Packages = []string{slug().Draw(t, "package") + "0"}
	case 1:
		step.Files = []manifest.File{{
			Path:  "/etc/" + slug().Draw(t, "file"),
			Owner: "root",
			Mode:  rapid.StringMatching(`0[0-7]{3}`).Draw(t, "mode"),
			// The writer of this YAML library cannot write a tab before any text.
			Content: rapid.StringMatching(`([!-~][ -~\n\té]{0,80})?`).Draw(t, "content"),
		}}
	case 2:
		step.Units = []manifest.Unit{{
			Name:    slug().Draw(t, "unit") + ".service",
			State:   rapid.SampledFrom([]manifest.UnitState{manifest.UnitRunning, manifest.UnitStopped}).Draw(t, "state"),
			Enabled: rapid.Bool().Draw(t, "enabled"),
		}}
	default:
		step.Run = &manifest.Run{
			Check:  rapid.StringMatching(`[ -~\n]{1,40}`).Draw(t, "check"),
			Script: rapid.StringMatching(`[ -~\n]{1,80}`).Draw(t, "script"),
		}
	}
	return step
}

func slug() *rapid.Generator[string] {
	return rapid.StringMatching(`[a-z][a-z0-9]{0,6}(-[a-z0-9]{1,4})?`)
}
func line() *rapid.Generator[string] { return rapid.StringMatching(`[!-~é]([ -~é]{0,18}[!-~é])?`) }

func cpu() *rapid.Generator[manifest.MilliCPU] {
	return rapid.Map(rapid.IntRange(1, 999_999), func(n int) manifest.MilliCPU { return manifest.MilliCPU(n) })
}

func size() *rapid.Generator[manifest.ByteSize] {
	return rapid.Map(rapid.IntRange(1, 99_999), func(n int) manifest.ByteSize { return manifest.ByteSize(n) * manifest.MiB })
}

func capabilities(t *rapid.T) []manifest.Capability {
	return nilIfEmpty(rapid.SliceOfDistinct(rapid.SampledFrom(manifest.Capabilities()), rapid.ID[manifest.Capability]).Draw(t, "capabilities"))
}

func slugs(t *rapid.T, label string) []string {
	return nilIfEmpty(rapid.SliceOfNDistinct(slug(), 0, 3, rapid.ID[string]).Draw(t, label))
}

func list[T any](t *rapid.T, label string, most int, draw func(*rapid.T) T) []T {
	return nilIfEmpty(rapid.SliceOfN(rapid.Custom(draw), 0, most).Draw(t, label))
}

// nilIfEmpty: absent and empty lists are the same in the format.
func nilIfEmpty[T any](items []T) []T {
	if len(items) == 0 {
		return nil
	}
	return items
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		template, addOn, "", "a: &a [*a]", "{a: {b: [", "- no\n- 0777\n", "<<: {a: b}\n<<: {a: c}", "? [a]\n: b", "a: !!binary aa",
		"kind: AddOnPack\nspec: {fits: [a, a]}", "\xff\xfea\x00", "a: \"\\0\"", "---\n...\n---\nb", "spec: 1e999",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := manifest.Parse(text)
		if err != nil {
			var refusal *manifest.Error
			require.True(t, errors.As(err, &refusal), "%v", err)
			require.NotEmpty(t, refusal.Problems)
			return
		}
		manifest.Check(m)
		stored, err := m.Canonical()
		require.NoError(t, err)
		var back manifest.Manifest
		require.NoError(t, json.Unmarshal(stored, &back))
		again, err := back.Canonical()
		require.NoError(t, err)
		require.Equal(t, string(stored), string(again))
	})
}
