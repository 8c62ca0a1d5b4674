package devstack

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// owner is the system user that a cluster belongs to. PostgreSQL refuses to run
// as root, so root lends the cluster to an unprivileged user.
type owner struct {
	// cred is nil when this process runs the cluster as itself.
	cred *syscall.Credential
	name string
}

type lookupUser func(name string) (*user.User, error)

// clusterOwner is this user, or for root the user postgres, or else nobody.
func clusterOwner(uid int, lookup lookupUser) (owner, error) {
	if uid != 0 {
		return owner{}, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := lookup(name)
		if err != nil {
			continue
		}
		id, err := strconv.ParseUint(u.Uid, 10, 32)
		if err != nil {
			return owner{}, fmt.Errorf("user id of %s: %w", name, err)
		}
		group, err := strconv.ParseUint(u.Gid, 10, 32)
		if err != nil {
			return owner{}, fmt.Errorf("group id of %s: %w", name, err)
		}
		// No Groups: the child keeps none of root's supplementary groups.
		return owner{name: name, cred: &syscall.Credential{Uid: uint32(id), Gid: uint32(group)}}, nil
	}
	return owner{}, errors.New("PostgreSQL does not run as root, and there is no user postgres or nobody to run it as: start this as another user")
}

// give hands a file or folder over to the owner.
func (o owner) give(path string) error {
	if o.cred == nil {
		return nil
	}
	return os.Chown(path, int(o.cred.Uid), int(o.cred.Gid))
}

func (o owner) attr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Credential: o.cred} }

// explain adds what to do about the usual reason for which a program cannot be
// started as another user: a folder above the data that only root may enter.
func (o owner) explain(err error, dataDir string) error {
	if o.cred == nil || !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return fmt.Errorf("%w: the system user %s, which runs PostgreSQL for root, must be able to enter %s, every folder above it and the folder of PostgreSQL: set DATA_DIR to another folder, such as /var/lib/biztraak-vm",
		err, o.name, dataDir)
}

// makeDataDir creates the data folder, private to this user. Root's lets the
// cluster owner pass through, but not look around.
func makeDataDir(dir string) error {
	mode := fs.FileMode(0o700)
	if os.Getuid() == 0 {
		mode = 0o711
	}
	return os.MkdirAll(dir, mode)
}
