package devstack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The majors that the product is tested with. Older ones lack what the
// migrations use, newer ones nobody has tried.
const (
	oldestMajor = 15
	newestMajor = 18
)

// Binaries is one PostgreSQL server installation.
type Binaries struct {
	// Dir holds initdb and postgres.
	Dir string
	// Major is the major version, such as 17.
	Major int
}

// ErrNoPostgres says that no usable PostgreSQL server installation was found.
// Its text, as returned by FindBinaries, tells how to get one.
var ErrNoPostgres = errors.New("no PostgreSQL server installation found")

//nolint:gosec // the password of the local compose file is no secret
const howToGetPostgres = `%w (looked for initdb and postgres, versions %d to %d)%s
One of these gets you going:
  macOS             brew install postgresql@17
  Debian, Ubuntu    sudo apt-get install --no-install-recommends postgresql
  with Docker       docker compose up -d postgres && export DATABASE_URL='postgres://biztraak:biztraak@127.0.0.1:5432/biztraak'
If it is installed in an unusual place: export PG_BINDIR=/folder/with/initdb`

// FindBinaries lists the PostgreSQL installations of this machine, newest first
// and one a major version. A binDir that is not empty, else the environment
// variable PG_BINDIR, is an order: only that folder counts. Else pg_config, the
// folders of the usual packages and PATH are searched. The list is never empty
// when the error is nil.
func FindBinaries(ctx context.Context, binDir string) ([]Binaries, error) {
	if binDir == "" {
		binDir = os.Getenv("PG_BINDIR")
	}
	if binDir != "" {
		b, err := inspect(ctx, binDir)
		if err != nil {
			return nil, fmt.Errorf("the PostgreSQL folder that was asked for: %w", err)
		}
		return []Binaries{b}, nil
	}
	return searchBinaries(ctx, usualDirs(ctx))
}

func searchBinaries(ctx context.Context, dirs []string) ([]Binaries, error) {
	var found []Binaries
	var rejected []string
	seen := map[string]bool{}
	for _, dir := range dirs {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			dir = real
		}
		if seen[dir] || !hasServer(dir) {
			continue
		}
		seen[dir] = true
		b, err := inspect(ctx, dir)
		if err != nil {
			rejected = append(rejected, err.Error())
			continue
		}
		found = append(found, b)
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("look for PostgreSQL: %w", err)
	}
	if len(found) == 0 {
		why := ""
		if len(rejected) > 0 {
			why = "\nNot usable: " + strings.Join(rejected, "; ")
		}
		return nil, fmt.Errorf(howToGetPostgres, ErrNoPostgres, oldestMajor, newestMajor, why)
	}
	slices.SortStableFunc(found, func(a, b Binaries) int { return cmp.Compare(b.Major, a.Major) })
	return slices.CompactFunc(found, func(a, b Binaries) bool { return a.Major == b.Major }), nil
}

// usualDirs is where packages put the server binaries, in the order of trust.
func usualDirs(ctx context.Context) []string {
	var dirs []string
	if out, err := exec.CommandContext(ctx, "pg_config", "--bindir").Output(); err == nil {
		dirs = append(dirs, strings.TrimSpace(string(out)))
	}
	for _, pattern := range []string{
		"/usr/lib/postgresql/*/bin",                               // Debian, Ubuntu
		"/usr/pgsql-*/bin",                                        // PGDG packages of Red Hat and SUSE
		"/opt/homebrew/opt/postgresql@*/bin",                      // Homebrew, Apple silicon
		"/usr/local/opt/postgresql@*/bin",                         // Homebrew, Intel
		"/home/linuxbrew/.linuxbrew/opt/postgresql@*/bin",         // Homebrew, Linux
		"/Applications/Postgres.app/Contents/Versions/[1-9]*/bin", // Postgres.app
	} {
		matches, err := filepath.Glob(pattern)
		if err == nil { // the only error is a malformed pattern, and these are constants
			dirs = append(dirs, matches...)
		}
	}
	if path, err := exec.LookPath("postgres"); err == nil {
		dirs = append(dirs, filepath.Dir(path))
	}
	return dirs
}

func hasServer(dir string) bool {
	for _, name := range []string{"initdb", "postgres"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.IsDir() { //nolint:gosec // a folder the user named
			return false
		}
	}
	return true
}

var versionLine = regexp.MustCompile(`\(PostgreSQL\) (\d+)`)

// inspect asks the binary itself: folder names lie, above all behind symlinks.
func inspect(ctx context.Context, dir string) (Binaries, error) {
	if !hasServer(dir) {
		return Binaries{}, fmt.Errorf("%s has no initdb and postgres", dir)
	}
	out, err := exec.CommandContext(ctx, filepath.Join(dir, "postgres"), "--version").Output() //nolint:gosec // a folder of this machine
	if err != nil {
		return Binaries{}, fmt.Errorf("%s: postgres --version: %w", dir, err)
	}
	match := versionLine.FindSubmatch(out)
	if match == nil {
		return Binaries{}, fmt.Errorf("%s: unknown version %q", dir, strings.TrimSpace(string(out)))
	}
	major, err := strconv.Atoi(string(match[1]))
	if err != nil {
		return Binaries{}, fmt.Errorf("%s: %w", dir, err)
	}
	if major < oldestMajor || major > newestMajor {
		return Binaries{}, fmt.Errorf("%s is PostgreSQL %d, wanted is %d to %d", dir, major, oldestMajor, newestMajor)
	}
	return Binaries{Dir: dir, Major: major}, nil
}
