package e2e_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// dataDir is a new folder that the system user who runs a private PostgreSQL may
// pass through.
func dataDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for d := dir; d != filepath.Clean(os.TempDir()) && d != "/"; d = filepath.Dir(d) {
		require.NoError(t, os.Chmod(d, 0o755))
	}
	return filepath.Join(dir, "data")
}

// devServer is a development server in a process of its own.
type devServer struct {
	*childProcess
	*client
	// file is dev.json as it is.
	file map[string]string
	// postmaster is the process of its private PostgreSQL.
	postmaster int
}

func devEnv(dir string) map[string]string {
	return map[string]string{"DATA_DIR": dir, "PORT": "0", "SIMULATOR_BOOT_MILLIS": "300"}
}

// startDev starts a development server on the folder and waits until it says,
// in its file, that it is ready.
func startDev(t *testing.T, dir string) *devServer {
	t.Helper()
	p := startChild(t, childOptions{kind: childServer, args: []string{"dev"}, env: devEnv(dir)})
	path := filepath.Join(dir, "dev.json")
	p.await(p.stdout, "it is ready", func(text string) (string, bool) { return "", strings.Contains(text, path) })
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	d := &devServer{childProcess: p}
	require.NoError(t, json.Unmarshal(raw, &d.file))
	d.client = newClient(t, d.file["url"], d.file["token"])
	pids, err := filepath.Glob(filepath.Join(dir, "pg*", "postmaster.pid"))
	require.NoError(t, err)
	require.Len(t, pids, 1)
	raw, err = os.ReadFile(pids[0])
	require.NoError(t, err)
	first, _, _ := strings.Cut(string(raw), "\n")
	d.postmaster, err = strconv.Atoi(first)
	require.NoError(t, err)
	return d
}

// awaitNoPostgres waits until the server's private PostgreSQL is gone.
func (d *devServer) awaitNoPostgres(patience time.Duration) {
	d.client.t.Helper()
	require.Eventually(d.client.t, func() bool { return errors.Is(syscall.Kill(d.postmaster, 0), syscall.ESRCH) },
		patience, 20*time.Millisecond, "PostgreSQL (process %d) outlives its server", d.postmaster)
}

// projects are the names of all projects of the team.
func (d *devServer) projects() []string {
	var got struct {
		Team struct {
			Projects struct{ Nodes []struct{ Name string } }
		}
	}
	d.call(`query($team: ID!) { team(id: $team) { projects { nodes { name } } } }`, map[string]any{"team": d.file["teamId"]}, &got)
	var names []string
	for _, p := range got.Team.Projects.Nodes {
		names = append(names, p.Name)
	}
	return names
}

// TestDevServer lives through the life of a development server: a first start, a
// demo, a crash, a second start with everything still there, and Ctrl-C.
func TestDevServer(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	d := startDev(t, dir)
	path := filepath.Join(dir, "dev.json")
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), info.Mode().Perm())
	require.Len(t, d.file, 5)
	for _, name := range []string{"url", "graphql", "token", "teamId", "cloudAccountId"} {
		require.NotEmpty(t, d.file[name], name)
	}
	require.Equal(t, d.file["url"]+"/graphql", d.file["graphql"])
	awaitReadiness(t, d.client, map[string]string{"status": "ok"})
	checkHosts(t, d.client)
	checkLoopbackOnly(t, d.pid())

	code, out, errOut := runCommand(t, devEnv(dir), "dev")
	require.Equal(t, 1, code, out)
	require.Contains(t, errOut, "another server uses "+dir)
	code, out, errOut = runCommand(t, devEnv(dir), "demo")
	require.Zero(t, code, "%s\n%s", out, errOut)
	checkDemo(t, out)
	before := d.projects()
	require.NotEmpty(t, before)

	const soon = 10 * time.Second
	d.kill()
	d.awaitNoPostgres(soon)
	again := startDev(t, dir)
	require.Equal(t, d.file["token"], again.file["token"])
	require.Equal(t, d.file["teamId"], again.file["teamId"])
	require.Equal(t, d.file["cloudAccountId"], again.file["cloudAccountId"])
	require.Equal(t, before, again.projects())

	again.signal(syscall.SIGINT)
	require.Zero(t, again.exitCode())
	require.NoFileExists(t, path, "nobody is there any more")
	again.awaitNoPostgres(time.Second)
}

// checkDemo makes sure that the life of the machine was seen, in order, and its
// log beside it.
func checkDemo(t *testing.T, out string) {
	t.Helper()
	rest, found := out, false
	for _, status := range []string{"PENDING", "PROVISIONING", "RUNNING", "STOPPED"} {
		_, rest, found = strings.Cut(rest, "machine is "+status)
		require.True(t, found, "%s in its place in:\n%s", status, out)
	}
	require.Regexp(t, `log +\d+ +JOURNAL`, out)
}

// checkHosts asks by several names for this server.
func checkHosts(t *testing.T, c *client) {
	t.Helper()
	for host, want := range map[string]int{
		"localhost": http.StatusOK, "127.0.0.1:99": http.StatusOK, "[::1]": http.StatusOK, "bs1.localhost:80": http.StatusOK,
		"evil.example": http.StatusMisdirectedRequest, "localhost.evil.example": http.StatusMisdirectedRequest,
		"192.168.1.2": http.StatusMisdirectedRequest,
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.url+"/", nil)
		require.NoError(t, err)
		req.Host = host
		res, err := c.http.Do(req)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, want, res.StatusCode, host)
	}
}
