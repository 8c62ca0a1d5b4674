package e2e_test

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// checkLoopbackOnly makes sure that each TCP socket on which the process listens
// can be reached from this machine only. Only Linux tells who listens.
func checkLoopbackOnly(t *testing.T, pid int) {
	t.Helper()
	if runtime.GOOS != "linux" {
		return
	}
	links, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	require.NoError(t, err)
	mine := map[string]bool{}
	for _, link := range links {
		if target, err := os.Readlink(link); err == nil {
			mine[target] = true // a file may have been closed meanwhile
		}
	}
	found := 0
	for _, table := range []string{"tcp", "tcp6"} {
		for inode, ip := range listeners(t, fmt.Sprintf("/proc/%d/net/%s", pid, table)) {
			if mine["socket:["+inode+"]"] {
				found++
				require.True(t, ip.IsLoopback(), "it listens on %s", ip)
			}
		}
	}
	require.Positive(t, found, "it listens nowhere")
}

// listeners reads a socket table of the kernel (proc(5)): the address of each
// socket that listens, by inode.
func listeners(t *testing.T, table string) map[string]net.IP {
	t.Helper()
	const (
		colLocal, colState, colInode = 1, 3, 9
		stateListen                  = "0A"
	)
	file, err := os.Open(table)
	require.NoError(t, err)
	defer func() { _ = file.Close() }()
	out := map[string]net.IP{}
	for s := bufio.NewScanner(file); s.Scan(); {
		cols := strings.Fields(s.Text())
		if len(cols) <= colInode || cols[colState] != stateListen {
			continue
		}
		text, _, _ := strings.Cut(cols[colLocal], ":")
		ip, err := hex.DecodeString(text)
		require.NoError(t, err)
		for word := range slices.Chunk(ip, 4) { // words in the order of a little-endian machine
			slices.Reverse(word)
		}
		out[cols[colInode]] = ip
	}
	return out
}
