package e2e_test

import (
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/devstack/pgtest"
	"biztraak.dev/vm/internal/devstack/redistest"
)

// TestCommands goes through the commands of an operator in the order in which an
// installation needs them, with the mistakes that can be made.
func TestCommands(t *testing.T) {
	t.Parallel()
	env := map[string]string{
		"DATABASE_URL": pgtest.Empty(t), "REDIS_URL": redistest.InProcess(t), "PORT": "0", "LISTEN": "127.0.0.1",
		"KEYSET_FILE": filepath.Join(t.TempDir(), "keys", "keyset.json"),
	}
	run := func(want int, args ...string) string {
		t.Helper()
		code, out, errOut := runCommand(t, env, args...)
		require.Equal(t, want, code, "%v: %s%s", args, out, errOut)
		return out + errOut
	}
	bootstrap := []string{"bootstrap", "--team", "Main", "--email", "owner@example.com"}

	settings := run(0, "config")
	for _, name := range []string{"PORT", "DATA_DIR", "DATABASE_URL", "REDIS_URL", "KEYSET_FILE", "ALLOWED_ORIGINS"} {
		require.Regexp(t, `(?m)^`+name+` +\S+ +\S`, settings)
	}
	require.Contains(t, run(0, "migrate", "status"), "pending")
	run(0, "migrate", "up")
	status := run(0, "migrate", "status")
	require.Contains(t, status, "applied")
	require.NotContains(t, status, "pending")

	// Without the sealing key nothing is served, and it is said what that means.
	refused := run(1, "serve")
	require.Contains(t, refused, env["KEYSET_FILE"])
	require.Contains(t, refused, "unreadable for ever")
	first := run(0, bootstrap...)
	require.Regexp(t, `(?m)^team team_\w{26}$`, first)
	token := regexp.MustCompile(`(?m)^token (\S+)$`).FindStringSubmatch(first)
	require.NotNil(t, token, first)
	require.Contains(t, run(1, bootstrap...), "first team already")

	served := startChild(t, childOptions{kind: childServer, args: []string{"serve"}, env: env})
	var got struct {
		Viewer struct{ Teams []struct{ Name string } }
	}
	newClient(t, served.readyURL(), token[1]).call(`{ viewer { teams { name } } }`, nil, &got)
	require.Equal(t, "Main", got.Viewer.Teams[0].Name)

	delete(env, "DATABASE_URL")
	require.Contains(t, run(1, "serve"), "DATABASE_URL")
	require.Contains(t, run(2, "nonsense"), "nonsense")
}
