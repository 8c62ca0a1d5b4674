package seal_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/seal"
)

func newSealer(t *testing.T) *seal.Sealer {
	t.Helper()
	path := filepath.Join(t.TempDir(), "keyset.json")
	require.NoError(t, seal.CreateKeyset(path))
	s, err := seal.LoadKeyset(path)
	require.NoError(t, err)
	return s
}

func TestSealAndOpen(t *testing.T) {
	s, row := newSealer(t), ident.New(ident.Account)
	for _, c := range []struct{ name, secret string }{
		{"text", "hunter2"}, {"empty", ""}, {"binary", "\x00\xff\x00"}, {"large", strings.Repeat("x", 1<<16)},
	} {
		t.Run(c.name, func(t *testing.T) {
			sealed, err := s.Seal([]byte(c.secret), row)
			require.NoError(t, err)
			if c.secret != "" {
				require.NotContains(t, string(sealed), c.secret)
			}
			again, err := s.Seal([]byte(c.secret), row)
			require.NoError(t, err)
			require.NotEqual(t, sealed, again, "the same secret must not be recognizable")
			opened, err := s.Open(sealed, row)
			require.NoError(t, err)
			require.Equal(t, c.secret, string(opened))
		})
	}
}

func TestOpenRefuses(t *testing.T) {
	s, other := newSealer(t), newSealer(t)
	row := ident.New(ident.Account)
	sealed, err := s.Seal([]byte("hunter2"), row)
	require.NoError(t, err)
	damaged := append([]byte(nil), sealed...)
	damaged[len(damaged)-1] ^= 1
	for _, c := range []struct {
		name   string
		sealer *seal.Sealer
		sealed []byte
		row    ident.ID
	}{
		{"another row", s, sealed, ident.New(ident.Account)},
		{"no row", s, sealed, ""},
		{"another keyset", other, sealed, row},
		{"damaged", s, damaged, row},
		{"cut", s, sealed[:8], row},
		{"empty", s, nil, row},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := c.sealer.Open(c.sealed, c.row)
			require.Error(t, err)
		})
	}
	_, err = s.Seal([]byte("x"), "")
	require.Error(t, err)
}

func TestCreateKeyset(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "keyset.json")
	require.NoError(t, seal.CreateKeyset(path))
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), info.Mode().Perm())
	before, err := os.ReadFile(path)
	require.NoError(t, err)

	require.ErrorIs(t, seal.CreateKeyset(path), fs.ErrExist)
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, before, after)
	left, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, left, 1, "no draft may stay behind")
}

func TestCreateKeysetRace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keyset.json")
	var made atomic.Int32
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			if seal.CreateKeyset(path) == nil {
				made.Add(1)
			}
		})
	}
	group.Wait()
	require.Equal(t, int32(1), made.Load())
	_, err := seal.LoadKeyset(path)
	require.NoError(t, err)
}

func TestLoadKeysetRefuses(t *testing.T) {
	write := func(text string, mode fs.FileMode) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
			require.NoError(t, os.Chmod(path, mode))
		}
	}
	good := func(mode fs.FileMode) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			require.NoError(t, seal.CreateKeyset(path))
			require.NoError(t, os.Chmod(path, mode))
		}
	}
	for _, c := range []struct {
		name string
		make func(t *testing.T, path string)
		says []string
	}{
		{"absent", func(*testing.T, string) {}, []string{"unreadable for ever", "server bootstrap", "server dev"}},
		{"group readable", good(0o640), []string{"0640", "chmod 600"}},
		{"world readable", good(0o604), []string{"0604", "chmod 600"}},
		{"group writable", good(0o620), []string{"0620", "chmod 600"}},
		{"a folder", func(t *testing.T, path string) { require.NoError(t, os.Mkdir(path, 0o700)) }, []string{"not a regular file"}},
		{"no keyset", write(`{"secret": "hunter2"`, 0o600), []string{"damaged"}},
		{"empty", write("", 0o600), []string{"damaged"}},
		{"too large", write(strings.Repeat(" ", 1<<20), 0o600), []string{"too large"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "keyset.json")
			c.make(t, path)
			_, err := seal.LoadKeyset(path)
			require.Error(t, err)
			for _, text := range c.says {
				require.ErrorContains(t, err, text)
			}
			require.NotContains(t, err.Error(), "hunter2")
		})
	}
	_, err := seal.LoadKeyset(filepath.Join(t.TempDir(), "none"))
	require.ErrorIs(t, err, fs.ErrNotExist)
}
