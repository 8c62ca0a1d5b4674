package builtin_test

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/catalog/builtin"
	"biztraak.dev/vm/internal/catalog/composition"
	"biztraak.dev/vm/internal/catalog/manifest"
)

var update = flag.Bool("update", false, "write the golden files anew")

func load(t *testing.T) (templates, addOns []manifest.Manifest) {
	t.Helper()
	items, err := builtin.Load()
	require.NoError(t, err)
	for _, item := range items {
		if item.Kind == manifest.KindTemplate {
			templates = append(templates, item)
		} else {
			addOns = append(addOns, item)
		}
	}
	return templates, addOns
}

func slugs(items []manifest.Manifest) []string {
	found := make([]string, 0, len(items))
	for _, item := range items {
		found = append(found, item.Metadata.Slug)
	}
	return found
}

func TestLoadIsTheWholeCatalog(t *testing.T) {
	templates, addOns := load(t)
	require.Equal(t, []string{"code-environment", "n8n", "ollama", "plain-debian"}, slugs(templates))
	require.Equal(t, []string{
		"docker", "ingress", "ingress-tls", "managed-deploy", "node", "python", "security-tools", "terminal",
	}, slugs(addOns))
}

func TestFilesAreNamedByTheirSlugs(t *testing.T) {
	templates, addOns := load(t)
	for folder, items := range map[string][]manifest.Manifest{"templates": templates, "addons": addOns} {
		files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
		require.NoError(t, err)
		for i, file := range files {
			files[i] = strings.TrimSuffix(filepath.Base(file), ".yaml")
		}
		require.ElementsMatch(t, files, slugs(items))
	}
}

func TestItemsDescribeThemselves(t *testing.T) {
	templates, addOns := load(t)
	for _, item := range slices.Concat(templates, addOns) {
		require.Greater(t, len(item.Metadata.Description), 100, item.String())
		require.NotEmpty(t, item.Metadata.Links, item.String())
	}
	for _, template := range templates {
		require.Len(t, template.Template.BaseImages, len(manifest.ProviderKinds()), template.String())
	}
}

// TestScriptsAndFilesAreWellFormed finds what would only fail on a machine.
func TestScriptsAndFilesAreWellFormed(t *testing.T) {
	templates, addOns := load(t)
	for _, item := range slices.Concat(templates, addOns) {
		for _, step := range item.Contribution().ApplySteps {
			for _, file := range step.Files {
				if strings.HasSuffix(file.Path, ".json") {
					require.True(t, json.Valid([]byte(file.Content)), "%s: %s", item, file.Path)
				}
			}
			if step.Run == nil {
				continue
			}
			for _, script := range []string{step.Run.Check, step.Run.Script} {
				shell := exec.Command("sh", "-n")
				shell.Stdin = strings.NewReader(script)
				out, err := shell.CombinedOutput()
				require.NoError(t, err, "%s: %s: %s", item, step.Name, out)
			}
		}
	}
}

// TestEveryCapabilityCanBeHad: a capability without an item would be a promise
// that no machine keeps.
func TestEveryCapabilityCanBeHad(t *testing.T) {
	templates, addOns := load(t)
	want := map[manifest.Capability][]string{
		manifest.HostedContainerRuntime:      {"docker"},
		manifest.ReverseProxyPathRouting:     {"ingress"},
		manifest.ReverseProxyHostnameRouting: {"ingress", "ingress-tls"},
		manifest.TLSTermination:              {"ingress", "ingress-tls"},
		manifest.ManagedHostedWorkloadDeploy: {"docker", "managed-deploy"},
	}
	for _, template := range templates {
		for _, capability := range manifest.Capabilities() {
			c, problems := composition.Resolve(composition.Request{Template: template, Catalog: addOns})
			require.Empty(t, problems)
			expected := want[capability]
			if c.Gives(manifest.HostedContainerRuntime) {
				expected = slices.DeleteFunc(slices.Clone(expected), func(slug string) bool { return slug == "docker" })
			}
			set, found := composition.SmallestSet(composition.Request{Template: template, Catalog: addOns}, capability)
			require.True(t, found)
			var got []string
			for _, ref := range set {
				got = append(got, ref.Slug)
			}
			require.ElementsMatch(t, expected, got, "%s on %s", capability, template)
		}
	}
}

func TestEveryPairComposesOrExplainsItself(t *testing.T) {
	templates, addOns := load(t)
	for _, template := range templates {
		for i, one := range addOns {
			for _, other := range addOns[i:] {
				chosen := []manifest.Manifest{one, other}
				name := strings.Join(append([]string{template.Metadata.Slug}, slugs(chosen)...), "+")
				t.Run(name, func(t *testing.T) { composesOrExplains(t, template, chosen, addOns) })
			}
		}
	}
}

// composesOrExplains follows the advice of each problem and expects no problem
// to be left.
func composesOrExplains(t *testing.T, template manifest.Manifest, chosen, catalog []manifest.Manifest) {
	t.Helper()
	_, problems := composition.Resolve(composition.Request{Template: template, AddOns: chosen, Catalog: catalog})
	for _, problem := range problems {
		require.Equal(t, composition.CodeAddOnRequires, problem.Code, problem.Message)
		require.NotEmpty(t, problem.Add, problem.Message)
		for _, ref := range problem.Add {
			require.Contains(t, problem.Message, ref.String())
			at := slices.IndexFunc(catalog, func(m manifest.Manifest) bool { return m.Metadata.Slug == ref.Slug })
			chosen = append(chosen, catalog[at])
		}
	}
	_, problems = composition.Resolve(composition.Request{Template: template, AddOns: chosen, Catalog: catalog})
	require.Empty(t, problems)
}

func TestCompositionsAreGolden(t *testing.T) {
	templates, addOns := load(t)
	for _, template := range templates {
		t.Run(template.Metadata.Slug, func(t *testing.T) {
			c, problems := composition.Resolve(composition.Request{Template: template, AddOns: addOns, Catalog: addOns})
			require.Empty(t, problems)
			text, err := json.MarshalIndent(c, "", "  ")
			require.NoError(t, err)
			file := filepath.Join("testdata", template.Metadata.Slug+".composition.json")
			if *update {
				require.NoError(t, os.MkdirAll("testdata", 0o755))
				require.NoError(t, os.WriteFile(file, append(text, '\n'), 0o600))
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, string(want), string(text)+"\n")
		})
	}
}
