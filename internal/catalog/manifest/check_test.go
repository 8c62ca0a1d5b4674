package manifest_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/catalog/manifest"
)

func TestCheckAcceptsWhatIsPublishable(t *testing.T) {
	for _, text := range []string{template, addOn} {
		m, err := manifest.Parse([]byte(text))
		require.NoError(t, err)
		require.Empty(t, manifest.Check(m))
	}
}

func TestCheckRefuses(t *testing.T) {
	cases := map[string]struct {
		base, old, new string
		code           manifest.Code
		at             string
	}{
		"template with managed deploy alone": {
			template, "HOSTED_CONTAINER_RUNTIME", "MANAGED_HOSTED_WORKLOAD_DEPLOY", manifest.CodeRuntimeRequired, "spec.capabilities",
		},
		"add-on with managed deploy alone": {
			addOn, "  requires: {capabilities: [HOSTED_CONTAINER_RUNTIME], addOns: [base]}\n", "  capabilities: [MANAGED_HOSTED_WORKLOAD_DEPLOY]\n",
			manifest.CodeRuntimeRequired, "spec.capabilities",
		},
		"timer too long":          {template, "PT8H", "P30DT1M", manifest.CodeTimerTooLong, "spec.defaultShutdownTimer"},
		"route with a space":      {template, "[/lab]", "['/a b']", manifest.CodeRouteInvalid, "spec.reservedRoutes[0]"},
		"route that is all":       {template, "[/lab]", "[/]", manifest.CodeRouteInvalid, "spec.reservedRoutes[0]"},
		"route twice":             {template, "[/lab]", "[/lab, Lab/]", manifest.CodeDuplicate, "spec.reservedRoutes[1]"},
		"step name twice":         {template, "Write the greeting", "Install curl", manifest.CodeDuplicate, "spec.applySteps[1].name"},
		"path not clean":          {template, "/etc/motd", "/etc/../motd", manifest.CodeForbiddenPath, "spec.applySteps[1].files[0].path"},
		"path in a fleeting file": {template, "/etc/motd", "/run/motd", manifest.CodeForbiddenPath, "spec.applySteps[1].files[0].path"},
		"path of sshd":            {template, "/etc/motd", "/etc/ssh/sshd_config.d/a.conf", manifest.CodeForbiddenPath, "spec.applySteps[1].files[0].path"},
		"path of sudo":            {template, "/etc/motd", "/etc/sudoers.d/a", manifest.CodeForbiddenPath, "spec.applySteps[1].files[0].path"},
		"path of our own keys":    {template, "/etc/motd", "/home/biztraak/.ssh/authorized_keys", manifest.CodeForbiddenPath, "spec.applySteps[1].files[0].path"},
		"runtime path name twice": {
			template, "  applySteps:", "    - {name: editor, kind: APP, port: 9000, protocol: HTTP, path: /}\n  applySteps:",
			manifest.CodeDuplicate, "spec.runtimePaths[1].name",
		},
		"runtime path port twice": {
			template, "  applySteps:", "    - {name: other, kind: APP, port: 8443, protocol: HTTP, path: /}\n  applySteps:",
			manifest.CodeDuplicate, "spec.runtimePaths[1].port",
		},
		"file twice": {
			template, "          content: |", "          content: a\n        - path: /etc/motd\n          owner: root\n          mode: \"0600\"\n          content: |",
			manifest.CodeDuplicate, "spec.applySteps[1].files[1].path",
		},
		"unit twice": {
			addOn, "    - name: Join", "    - name: Again\n      units: [{name: extra.service, state: STOPPED, enabled: true}]\n    - name: Join",
			manifest.CodeDuplicate, "spec.applySteps[1].units[0].name",
		},
		"requires itself":         {addOn, "addOns: [base]", "addOns: [extra]", manifest.CodeContradiction, "spec.requires.addOns"},
		"requires what conflicts": {addOn, "addOns: [base]", "addOns: [other]", manifest.CodeContradiction, "spec.requires.addOns"},
		"requires what it gives": {
			addOn, "  fits:", "  capabilities: [HOSTED_CONTAINER_RUNTIME]\n  fits:", manifest.CodeContradiction, "spec.requires.capabilities",
		},
		"conflicts with itself":  {addOn, "conflictsWith: [other]", "conflictsWith: [extra]", manifest.CodeContradiction, "spec.conflictsWith"},
		"fits what it conflicts": {addOn, "fits: [lab]", "fits: [other]", manifest.CodeContradiction, "spec.fits"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			require.Contains(t, c.base, c.old)
			text := strings.Replace(c.base, c.old, c.new, 1)
			m, err := manifest.Parse([]byte(text))
			require.NoError(t, err)
			problems := manifest.Check(m)
			require.Len(t, problems, 1, "%v", problems)
			require.Equal(t, c.code, problems[0].Code)
			require.True(t, strings.HasPrefix(problems[0].String(), c.at+": "), problems[0].String())
		})
	}
}

func TestCheckReportsEverything(t *testing.T) {
	text := strings.NewReplacer("HOSTED_CONTAINER_RUNTIME", "MANAGED_HOSTED_WORKLOAD_DEPLOY", "PT8H", "P31D", "[/lab]", "[/a%20b]").Replace(template)
	m, err := manifest.Parse([]byte(text))
	require.NoError(t, err)
	require.ElementsMatch(t, []manifest.Code{
		manifest.CodeRuntimeRequired, manifest.CodeTimerTooLong, manifest.CodeRouteInvalid,
	}, codes(manifest.Check(m)))
}

func TestManagedDeployMayRequireTheRuntime(t *testing.T) {
	m, err := manifest.Parse([]byte(strings.Replace(addOn, "  fits:", "  capabilities: [MANAGED_HOSTED_WORKLOAD_DEPLOY]\n  fits:", 1)))
	require.NoError(t, err)
	require.Empty(t, manifest.Check(m))
}
