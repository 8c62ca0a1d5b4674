package manifest_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/catalog/manifest"
)

const template = `apiVersion: biztraak.dev/v1
kind: VmTemplate
metadata:
  slug: lab
  version: 1.0.0
  name: Lab
  description: A machine to try things on.
  icon: flask
spec:
  baseImages:
    SIMULATOR: debian-12
  least: {cpu: "2", memory: 1Gi, disk: 10Gi}
  defaultShutdownTimer: PT8H
  capabilities: [HOSTED_CONTAINER_RUNTIME]
  reservedRoutes: [/lab]
  runtimePaths:
    - {name: editor, kind: IDE, port: 8443, protocol: HTTP, path: /}
  applySteps:
    - name: Install curl
      packages: [curl]
    - name: Write the greeting
      files:
        - path: /etc/motd
          owner: root
          mode: "0644"
          content: |
            Hello.
`

const addOn = `apiVersion: biztraak.dev/v1
kind: AddOnPack
metadata: {slug: extra, version: 0.1.0-rc.1, name: Extra, description: More., icon: plus}
spec:
  extraResources: {memory: 64Mi}
  requires: {capabilities: [HOSTED_CONTAINER_RUNTIME], addOns: [base]}
  conflictsWith: [other]
  fits: [lab]
  applySteps:
    - name: Start it
      units:
        - {name: extra.service, state: RUNNING, enabled: true, restartIfOlderThan: [/etc/extra.conf]}
    - name: Join
      run: {check: test -e /etc/joined, script: touch /etc/joined}
`

func TestParseReadsATemplate(t *testing.T) {
	m, err := manifest.Parse([]byte(template))
	require.NoError(t, err)
	require.Equal(t, manifest.Manifest{
		APIVersion: manifest.APIVersion,
		Kind:       manifest.KindTemplate,
		Metadata: manifest.Metadata{
			Slug: "lab", Version: "1.0.0", Name: "Lab",
			Description: "A machine to try things on.", Icon: "flask",
		},
		Template: &manifest.TemplateSpec{
			BaseImages:           map[manifest.ProviderKind]string{manifest.ProviderSimulator: "debian-12"},
			Least:                manifest.LeastResources{CPU: 2000, Memory: manifest.GiB, Disk: 10 * manifest.GiB},
			DefaultShutdownTimer: manifest.Duration(8 * 60 * 60 * 1e9),
			Contribution: manifest.Contribution{
				Capabilities:   []manifest.Capability{manifest.HostedContainerRuntime},
				ReservedRoutes: []string{"/lab"},
				RuntimePaths: []manifest.RuntimePath{{
					Name: "editor", Kind: manifest.RuntimeIDE, Port: 8443, Protocol: manifest.ProtocolHTTP, Path: "/",
				}},
				ApplySteps: []manifest.Step{
					{Name: "Install curl", Packages: []string{"curl"}},
					{Name: "Write the greeting", Files: []manifest.File{{
						Path: "/etc/motd", Owner: "root", Mode: "0644", Content: "Hello.\n",
					}}},
				},
			},
		},
	}, m)
}

func TestParseReadsAnAddOn(t *testing.T) {
	m, err := manifest.Parse([]byte(addOn))
	require.NoError(t, err)
	require.Nil(t, m.Template)
	require.Equal(t, &manifest.AddOnSpec{
		ExtraResources: &manifest.ExtraResources{Memory: 64 * manifest.MiB},
		Requires: &manifest.Requires{
			Capabilities: []manifest.Capability{manifest.HostedContainerRuntime}, AddOns: []string{"base"},
		},
		ConflictsWith: []string{"other"},
		Fits:          []string{"lab"},
		Contribution: manifest.Contribution{ApplySteps: []manifest.Step{
			{Name: "Start it", Units: []manifest.Unit{{
				Name: "extra.service", State: manifest.UnitRunning, Enabled: true,
				RestartIfOlderThan: []string{"/etc/extra.conf"},
			}}},
			{Name: "Join", Run: &manifest.Run{Check: "test -e /etc/joined", Script: "touch /etc/joined"}},
		}},
	}, m.AddOn)
}

// TestParseRefuses changes one place of the good template and expects exactly
// one problem, at that place.
func TestParseRefuses(t *testing.T) {
	cases := map[string]struct {
		old, new string
		code     manifest.Code
		want     string
	}{
		"an unknown field":            {"  icon: flask", "  icon: flask\n  shade: red", manifest.CodeUnknownField, "line 9: metadata.shade: "},
		"an unknown field of a step":  {"      packages: [curl]", "      packages: [curl]\n      user: root", manifest.CodeUnknownField, "line 21: spec.applySteps[0].user: "},
		"a missing field":             {"  icon: flask\n", "", manifest.CodeMissingField, "line 3: metadata.icon: "},
		"a missing kind":              {"kind: VmTemplate\n", "", manifest.CodeMissingField, "line 1: kind: "},
		"an unknown kind":             {"VmTemplate", "Machine", manifest.CodeInvalidValue, "line 2: kind: "},
		"an add-on's field":           {"  least:", "  fits: [a]\n  least:", manifest.CodeUnknownField, "line 12: spec.fits: "},
		"a duplicate key":             {"  name: Lab", "  name: Lab\n  name: Lob", manifest.CodeDuplicateKey, "line 7: metadata.name: stands a second time; the first is in line 6"},
		"an unquoted octal":           {`"0644"`, "0644", manifest.CodeAmbiguous, "line 25: spec.applySteps[1].files[0].mode: \"0644\" is read"},
		"an octal of YAML 1.2":        {`"0644"`, "0o644", manifest.CodeAmbiguous, "\"0o644\" is read as a number"},
		"an unquoted no":              {"name: Lab", "name: no", manifest.CodeAmbiguous, "line 6: metadata.name: \"no\" is read as a truth value"},
		"an unquoted On":              {"name: Lab", "name: On", manifest.CodeAmbiguous, "truth value"},
		"a version that is a decimal": {"version: 1.0.0", "version: 1.10", manifest.CodeAmbiguous, "metadata.version: \"1.10\" is read as a number"},
		"an exponent":                 {"name: Lab", "name: 1e3", manifest.CodeAmbiguous, "number"},
		"an underscore":               {"port: 8443", "port: 8_443", manifest.CodeAmbiguous, "runtimePaths[0].port"},
		"base 60":                     {"name: Lab", "name: 12:30", manifest.CodeAmbiguous, "time"},
		"a date":                      {"name: Lab", "name: 2026-11-30", manifest.CodeAmbiguous, "time"},
		"an infinity":                 {"name: Lab", "name: -.inf", manifest.CodeAmbiguous, "number"},
		"a number for text":           {"name: Lab", "name: 7", manifest.CodeInvalidValue, "put it in quotes if it is text"},
		"a truth value for text":      {"name: Lab", "name: true", manifest.CodeInvalidValue, "put it in quotes if it is text"},
		"nothing for text":            {"name: Lab", "name:", manifest.CodeInvalidValue, "metadata.name: is of type null"},
		"text for a number":           {"port: 8443", "port: web", manifest.CodeInvalidValue, "is of type string, not integer"},
		"a decimal for a number":      {"port: 8443", "port: 8443.0", manifest.CodeAmbiguous, "whole number"},
		"a reserved port":             {"port: 8443", "port: 22", manifest.CodeInvalidValue, "runtimePaths[0].port"},
		"an unknown capability":       {"HOSTED_CONTAINER_RUNTIME", "HostedContainerRuntime", manifest.CodeInvalidValue, "capabilities[0]"},
		"an unknown provider":         {"SIMULATOR", "AZURE", manifest.CodeUnknownField, "baseImages.AZURE"},
		"a step with two actions":     {"packages: [curl]", "packages: [curl]\n      run: {check: a, script: b}", manifest.CodeInvalidValue, "line 19: spec.applySteps[0]: a step has exactly one"},
		"a step with no action":       {"      packages: [curl]\n", "", manifest.CodeInvalidValue, "a step has exactly one"},
		"a package with an option":    {"[curl]", `["-y"]`, manifest.CodeInvalidValue, "applySteps[0].packages[0]"},
		"a set-id file":               {`"0644"`, `"4755"`, manifest.CodeInvalidValue, "mode"},
		"a relative path":             {"/etc/motd", "etc/motd", manifest.CodeInvalidValue, "files[0].path"},
		"a timer in months":           {"PT8H", "P1M", manifest.CodeInvalidValue, "defaultShutdownTimer"},
		"a timer of nothing":          {"PT8H", "P", manifest.CodeInvalidValue, "defaultShutdownTimer"},
		"a timer of zero":             {"PT8H", "PT0M", manifest.CodeInvalidValue, "defaultShutdownTimer"},
		"a size without unit":         {"memory: 1Gi", `memory: "1"`, manifest.CodeInvalidValue, "least.memory"},
		"a slug in capitals":          {"slug: lab", "slug: Lab", manifest.CodeInvalidValue, "line 4: metadata.slug"},
		"an anchor":                   {"least: {", "least: &small {", manifest.CodeNotPlainData, "line 12: spec.least: anchors"},
		"a tag":                       {"port: 8443", `port: !!int "8443"`, manifest.CodeNotPlainData, "the tag"},
		"a merge key":                 {"  icon: flask", "  icon: flask\n  <<: {}", manifest.CodeInvalidValue, "merge keys"},
		"a key that is a list":        {"  icon: flask", "  icon: flask\n  ? [a]\n  : b", manifest.CodeInvalidValue, "must be text"},
		"a NUL":                       {"name: Lab", `name: "La\0b"`, manifest.CodeInvalidValue, "metadata.name"},
		"a second document":           {"            Hello.\n", "            Hello.\n---\na: b\n", manifest.CodeSyntax, "line 28: there is a second document"},
		"broken YAML":                 {"  name: Lab", "  name: [Lab", manifest.CodeSyntax, "not YAML"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			require.Contains(t, template, c.old)
			problems := refused(t, strings.Replace(template, c.old, c.new, 1))
			require.NotEmpty(t, problems)
			require.Equal(t, c.code, problems[0].Code, "%v", problems)
			require.Contains(t, problems[0].String(), c.want)
			for _, other := range problems[1:] {
				require.Equal(t, problems[0].Path, other.Path, "one cause, one place: %v", problems)
			}
		})
	}
}

func TestParseReportsEverythingInOrder(t *testing.T) {
	text := strings.NewReplacer("slug: lab", "slug: LAB", "port: 8443", "port: 80", `"0644"`, "0644", "name: Lab", "nam: Lab").Replace(template)
	var got []string
	for _, p := range refused(t, text) {
		got = append(got, strings.SplitN(p.String(), ": ", 3)[0]+" "+strings.Join(p.Path, "/")+" "+string(p.Code))
	}
	require.Equal(t, []string{
		"line 3 metadata/name MISSING_FIELD",
		"line 4 metadata/slug INVALID_VALUE",
		"line 6 metadata/nam UNKNOWN_FIELD",
		"line 17 spec/runtimePaths/0/port INVALID_VALUE",
		"line 25 spec/applySteps/1/files/0/mode AMBIGUOUS",
	}, got)
}

func TestParseBoundsItsWork(t *testing.T) {
	t.Run("size", func(t *testing.T) {
		problems := refused(t, template+strings.Repeat("#", manifest.MaxSize))
		require.Len(t, problems, 1)
		require.Equal(t, manifest.CodeTooLarge, problems[0].Code)
	})
	t.Run("values", func(t *testing.T) {
		problems := refused(t, "a: ["+strings.Repeat("no, ", 20_000)+"no]")
		require.Equal(t, []manifest.Code{manifest.CodeTooLarge}, codes(problems))
	})
	t.Run("alias bomb", func(t *testing.T) {
		bomb := "a: &a [x, x, x, x, x, x, x, x, x]\n"
		for i := 'b'; i < 'k'; i++ {
			before := string(i - 1)
			bomb += string(i) + ": &" + string(i) + " [*" + before + strings.Repeat(", *"+before, 8) + "]\n"
		}
		problems := refused(t, bomb)
		require.Contains(t, codes(problems), manifest.CodeNotPlainData)
		for _, p := range problems {
			require.NotContains(t, p.Message, "x, x")
		}
	})
	t.Run("alias of itself", func(t *testing.T) {
		require.Contains(t, codes(refused(t, "a: &a [*a]\n")), manifest.CodeNotPlainData)
	})
	t.Run("nesting", func(t *testing.T) {
		deep := strings.Repeat("[", 5000) + strings.Repeat("]", 5000)
		require.Contains(t, codes(refused(t, "apiVersion: "+deep)), manifest.CodeNesting)
	})
	t.Run("number of problems", func(t *testing.T) {
		problems := refused(t, "a: ["+strings.Repeat("no, ", 5000)+"no]")
		require.Len(t, problems, 101)
		require.Contains(t, problems[100].Message, "more problems from here on")
	})
	t.Run("no document", func(t *testing.T) {
		for _, text := range []string{"", "# only a comment\n", "---\n", "null", "[]", "text"} {
			require.NotEmpty(t, refused(t, text), "%q", text)
		}
	})
}

// TestTheDocumentedExampleWorks reads the example of the documentation.
func TestTheDocumentedExampleWorks(t *testing.T) {
	page, err := os.ReadFile("../../../docs/manifests.md")
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(page), "```yaml\n")
	require.True(t, found)
	example, _, found := strings.Cut(rest, "```\n")
	require.True(t, found)
	m, err := manifest.Parse([]byte(example))
	require.NoError(t, err)
	require.Empty(t, manifest.Check(m))
}

func TestErrorListsEveryProblem(t *testing.T) {
	_, err := manifest.Parse([]byte(strings.NewReplacer("slug: lab", "slug: LAB", "port: 8443", "port: 80").Replace(template)))
	require.ErrorContains(t, err, "manifest has 2 problem(s)\nline 4: metadata.slug: ")
	require.ErrorContains(t, err, "\nline 17: spec.runtimePaths[0].port: ")
}

func refused(t *testing.T, text string) []manifest.Problem {
	t.Helper()
	_, err := manifest.Parse([]byte(text))
	var refusal *manifest.Error
	require.ErrorAs(t, err, &refusal)
	return refusal.Problems
}

func codes(problems []manifest.Problem) []manifest.Code {
	var found []manifest.Code
	for _, p := range problems {
		found = append(found, p.Code)
	}
	return found
}
