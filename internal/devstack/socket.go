package devstack

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// socketPort names the socket file; nothing listens on a TCP port.
const socketPort = 5432

// maxSocketPath is the shortest limit of sun_path among our systems: 104 bytes
// with the closing NUL on macOS (108 on Linux).
const maxSocketPath = 103

// makeSocketDir creates a short folder that only the cluster's owner, and root,
// may enter. It is what guards the cluster: whoever can open the socket is let
// in without a password.
func makeSocketDir(own owner) (string, error) {
	parent := os.TempDir()
	const name = "vmpg-"
	longest := filepath.Join(parent, name+"1234567890", fmt.Sprintf(".s.PGSQL.%d", socketPort))
	if len(longest) > maxSocketPath {
		parent = "/tmp"
	}
	// Only empty ones can be removed, and the folder of a running server is not.
	removeAbandoned(filepath.Join(parent, name+"*"), os.Remove)
	dir, err := os.MkdirTemp(parent, name)
	if err != nil {
		return "", fmt.Errorf("socket folder: %w", err)
	}
	if err := own.give(dir); err != nil {
		return "", errors.Join(fmt.Errorf("socket folder: %w", err), os.Remove(dir))
	}
	return dir, nil
}
