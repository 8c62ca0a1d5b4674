package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRun(t *testing.T) {
	seen := filepath.Join(t.TempDir(), "dsn")
	tests := []struct {
		name    string
		command []string
		want    int
		wantErr string
	}{
		{name: "exit code passes through", command: []string{"sh", "-c", `printf %s "$TEST_DATABASE_URL" >"$1"; exit 7`, "sh", seen}, want: 7},
		{name: "success", command: []string{"true"}, want: 0},
		{name: "no such command", command: []string{"/no/such/command"}, want: 1, wantErr: "no such file"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			code, err := run("", test.command)
			require.Equal(t, test.want, code)
			if test.wantErr != "" {
				require.ErrorContains(t, err, test.wantErr)
				return
			}
			require.NoError(t, err)
		})
	}
	dsn, err := os.ReadFile(seen)
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(string(dsn), "postgres://"), string(dsn))
	_, host, _ := strings.Cut(string(dsn), "host=")
	host, _, _ = strings.Cut(host, "&")
	require.NoDirExists(t, strings.ReplaceAll(host, "%2F", "/"), "the cluster is gone")
}
