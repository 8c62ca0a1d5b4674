package devstack

import (
	"errors"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestChooseCluster(t *testing.T) {
	tests := []struct {
		name      string
		installed []int
		data      []int
		want      int
		wantErr   []string
	}{
		{name: "no data: newest", installed: []int{18, 15}, want: 18},
		{name: "data of an older major win", installed: []int{18, 15}, data: []int{15}, want: 15},
		{name: "data of both: newest", installed: []int{18, 15}, data: []int{15, 18}, want: 18},
		{name: "only another major's data", installed: []int{18}, data: []int{15},
			wantErr: []string{"of PostgreSQL 15, found is PostgreSQL 18", "install PostgreSQL 15", "pg_dumpall", "nothing was changed"}},
		{name: "data newer than any binary", installed: []int{17, 15}, data: []int{18},
			wantErr: []string{"of PostgreSQL 18, found is PostgreSQL 17 and 15"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			for _, major := range test.data {
				writeVersion(t, filepath.Join(dir, "pg"+strconv.Itoa(major)), major)
			}
			var installed []Binaries
			for _, major := range test.installed {
				installed = append(installed, Binaries{Major: major})
			}
			c, err := chooseCluster(installed, dir, owner{})
			if test.wantErr != nil {
				for _, text := range test.wantErr {
					require.ErrorContains(t, err, text)
				}
				return
			}
			require.NoError(t, err)
			require.Equal(t, test.want, c.bin.Major)
			require.Equal(t, filepath.Join(dir, "pg"+strconv.Itoa(test.want)), c.dir)
		})
	}
}

func writeVersion(t *testing.T, dir string, major int) {
	t.Helper()
	require.NoError(t, os.MkdirAll(dir, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "PG_VERSION"), []byte(strconv.Itoa(major)+"\n"), 0o600))
}

func TestClusterInAFolderOfAnotherMajorIsRefused(t *testing.T) {
	dir := t.TempDir()
	writeVersion(t, filepath.Join(dir, "pg18"), 15)
	_, err := chooseCluster([]Binaries{{Major: 18}}, dir, owner{})
	require.ErrorContains(t, err, "should be named pg15")
}

func TestHalfMadeClusterIsIgnoredAndClearedAwayLater(t *testing.T) {
	dir := dataDir(t)
	old := time.Now().Add(-2 * abandonedAfter)
	bins, err := FindBinaries(t.Context(), "")
	require.NoError(t, err)
	base := filepath.Join(dir, "pg"+strconv.Itoa(bins[0].Major)+".new-")
	for _, name := range []string{"old", "young"} {
		writeVersion(t, base+name, bins[0].Major) // initdb writes this file early
	}
	require.NoError(t, os.Chtimes(base+"old", old, old))

	p := start(t, PostgresOptions{DataDir: dir, Fast: true})
	require.NoError(t, p.ping(t.Context()))
	require.NoDirExists(t, base+"old")
	require.DirExists(t, base+"young")
}

func TestSearchBinaries(t *testing.T) {
	fake := func(t *testing.T, version string) string {
		dir := t.TempDir()
		for _, name := range []string{"initdb", "postgres"} {
			fakeProgram(t, dir, name, "echo 'postgres (PostgreSQL) "+version+"'")
		}
		return dir
	}
	t.Run("newest first, one a major, whatever the folder order", func(t *testing.T) {
		got, err := searchBinaries(t.Context(), []string{fake(t, "15.4"), t.TempDir(), fake(t, "18.1 (Debian 18.1-1)"), fake(t, "15.9"), fake(t, "17beta1")})
		require.NoError(t, err)
		var majors []int
		for _, b := range got {
			majors = append(majors, b.Major)
		}
		require.Equal(t, []int{18, 17, 15}, majors)
	})
	t.Run("nothing found tells three ways", func(t *testing.T) {
		_, err := searchBinaries(t.Context(), []string{t.TempDir(), fake(t, "14.2"), fake(t, "19.0")})
		require.ErrorIs(t, err, ErrNoPostgres)
		for _, text := range []string{"brew install postgresql@17", "apt-get install", "docker compose up -d postgres", "DATABASE_URL=", "PG_BINDIR=", "is PostgreSQL 14", "is PostgreSQL 19"} {
			require.ErrorContains(t, err, text)
		}
	})
	t.Run("PG_BINDIR is an order", func(t *testing.T) {
		t.Setenv("PG_BINDIR", t.TempDir())
		_, err := FindBinaries(t.Context(), "")
		require.ErrorContains(t, err, "has no initdb and postgres")
		t.Setenv("PG_BINDIR", fake(t, "16.3"))
		got, err := FindBinaries(t.Context(), "")
		require.NoError(t, err)
		require.Equal(t, 16, got[0].Major)
	})
}

func TestClusterOwner(t *testing.T) {
	users := func(known ...string) lookupUser {
		return func(name string) (*user.User, error) {
			for i, k := range known {
				if k == name {
					return &user.User{Username: name, Uid: strconv.Itoa(100 + i), Gid: strconv.Itoa(200 + i)}, nil
				}
			}
			return nil, errors.New("unknown")
		}
	}
	tests := []struct {
		name    string
		uid     int
		lookup  lookupUser
		want    string
		wantErr string
	}{
		{name: "not root: itself", uid: 1000, lookup: users("postgres")},
		{name: "root: postgres", lookup: users("nobody", "postgres"), want: "postgres"},
		{name: "root without postgres: nobody", lookup: users("nobody"), want: "nobody"},
		{name: "root with neither", lookup: users(), wantErr: "start this as another user"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := clusterOwner(test.uid, test.lookup)
			if test.wantErr != "" {
				require.ErrorContains(t, err, test.wantErr)
				return
			}
			require.NoError(t, err)
			require.Equal(t, test.want, got.name)
			require.Equal(t, test.want != "", got.cred != nil)
			if got.cred != nil {
				require.NotZero(t, got.cred.Uid)
				require.NotZero(t, got.cred.Gid)
				require.Empty(t, got.cred.Groups)
			}
		})
	}
}

func TestRootsClosedDataFolderIsExplained(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root runs the cluster as somebody else")
	}
	closed := t.TempDir()
	require.NoError(t, os.Chmod(closed, 0o700))
	_, err := StartPostgres(t.Context(), PostgresOptions{DataDir: filepath.Join(closed, "data")})
	require.ErrorContains(t, err, "must be able to enter "+filepath.Join(closed, "data"))
}
