package devstack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// superuser is the role that owns everything in a private cluster.
const superuser = "biztraak"

// abandonedAfter is the age at which what an interrupted start left behind is
// cleared away: longer than any initdb takes.
const abandonedAfter = 10 * time.Minute

// cluster is one data directory, <DataDir>/pg<major>, and what runs it.
type cluster struct {
	bin   Binaries
	owner owner
	dir   string
}

// chooseCluster picks the binaries for a data folder. Existing data decide: an
// empty cluster of a newer major next to them would look like a loss of all data.
func chooseCluster(installed []Binaries, dataDir string, own owner) (cluster, error) {
	existing, err := existingMajors(dataDir)
	if err != nil {
		return cluster{}, err
	}
	chosen := installed[0]
	if len(existing) > 0 {
		match := -1
		for i, b := range installed {
			if existing[b.Major] {
				match = i
				break
			}
		}
		if match < 0 {
			return cluster{}, otherMajorError(dataDir, existing, installed)
		}
		chosen = installed[match]
	}
	return cluster{bin: chosen, owner: own, dir: filepath.Join(dataDir, "pg"+strconv.Itoa(chosen.Major))}, nil
}

// existingMajors lists the clusters of a data folder by the version written in them.
func existingMajors(dataDir string) (map[int]bool, error) {
	files, err := filepath.Glob(filepath.Join(dataDir, "pg[1-9][0-9]", "PG_VERSION"))
	if err != nil {
		return nil, fmt.Errorf("list clusters of %s: %w", dataDir, err)
	}
	majors := map[int]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file) //nolint:gosec // below the operator's own folder
		if err != nil {
			return nil, fmt.Errorf("read cluster version: %w", err)
		}
		major, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil {
			return nil, fmt.Errorf("cluster version in %s: %w", file, err)
		}
		if want := "pg" + strconv.Itoa(major); filepath.Base(filepath.Dir(file)) != want {
			return nil, fmt.Errorf("%s says version %d, so its folder should be named %s", file, major, want)
		}
		majors[major] = true
	}
	return majors, nil
}

func otherMajorError(dataDir string, existing map[int]bool, installed []Binaries) error {
	var have, data []string
	for major := range 100 {
		if existing[major] {
			data = append(data, strconv.Itoa(major))
		}
	}
	for _, b := range installed {
		have = append(have, strconv.Itoa(b.Major))
	}
	return fmt.Errorf(`the data in %s are of PostgreSQL %s, found is PostgreSQL %s, which cannot read them; nothing was changed.
Either install PostgreSQL %s again (with PG_BINDIR naming its folder, if it is an unusual one),
or set DATA_DIR to an empty folder, and move the data with pg_dumpall of the old and psql of the new version`,
		dataDir, strings.Join(data, " and "), strings.Join(have, " and "), data[len(data)-1])
}

// create makes the data directory unless it is there. initdb works under another
// name, and a rename puts the finished cluster in place: an initdb that is killed
// half way leaves nothing that looks like a cluster.
func (c cluster) create(ctx context.Context, sync bool) error {
	if _, err := os.Stat(filepath.Join(c.dir, "PG_VERSION")); err == nil {
		return nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("data directory: %w", err)
	}
	removeAbandoned(c.dir+".new-*", os.RemoveAll)
	fresh, err := os.MkdirTemp(filepath.Dir(c.dir), filepath.Base(c.dir)+".new-")
	if err != nil {
		return fmt.Errorf("new data directory: %w", err)
	}
	if err := c.initdb(ctx, fresh, sync); err != nil {
		return errors.Join(err, os.RemoveAll(fresh))
	}
	if err := os.Rename(fresh, c.dir); err != nil {
		return errors.Join(fmt.Errorf("put the new cluster in place: %w", err), os.RemoveAll(fresh))
	}
	return nil
}

func (c cluster) initdb(ctx context.Context, dir string, sync bool) error {
	if err := c.owner.give(dir); err != nil {
		return fmt.Errorf("hand over data directory: %w", err)
	}
	args := []string{
		"--pgdata", dir, "--username", superuser, "--auth", "trust",
		"--encoding", "UTF8", "--locale", "C", "--no-instructions",
	}
	if !sync {
		args = append(args, "--no-sync")
	}
	cmd := exec.CommandContext(ctx, filepath.Join(c.bin.Dir, "initdb"), args...) //nolint:gosec // a folder of this machine
	cmd.SysProcAttr = c.owner.attr()
	cmd.SysProcAttr.Setpgid = true
	cmd.Dir, cmd.Env = dir, serverEnv()
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.CombinedOutput()
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("initdb: %w", context.Cause(ctx))
	}
	if err != nil {
		err = c.owner.explain(err, filepath.Dir(c.dir))
		return fmt.Errorf("initdb: %w\n%s", err, bytes.TrimSpace(out))
	}
	return nil
}

// serverEnv leaves out the secrets of this process and every PG* variable, such
// as PGPORT, which would change what the server does. LC_ALL also keeps macOS
// from starting threads in the postmaster.
func serverEnv() []string {
	env := []string{"LC_ALL=C", "TZ=UTC"}
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// removeAbandoned clears away old leftovers. One that cannot be removed is left
// for the next start, and harms nobody.
func removeAbandoned(pattern string, remove func(string) error) {
	paths, err := filepath.Glob(pattern)
	if err != nil {
		return // the folder's name looks like a malformed pattern
	}
	for _, path := range paths {
		info, err := os.Lstat(path)
		if err == nil && info.IsDir() && time.Since(info.ModTime()) > abandonedAfter {
			_ = remove(path)
		}
	}
}
