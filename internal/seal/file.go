package seal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/insecurecleartextkeyset"
	"github.com/tink-crypto/tink-go/v2/keyset"
)

const (
	// fileMode is what guards the keyset, which is in clear text inside the file.
	fileMode fs.FileMode = 0o600
	dirMode  fs.FileMode = 0o700
	// largestFile bounds what is read: a keyset of a hundred keys is far below.
	largestFile = 64 << 10
)

// LoadKeyset reads the keyset file at path. When there is none the error matches
// fs.ErrNotExist and says what that means; a file that others than its owner can
// read or write is refused.
func LoadKeyset(path string) (*Sealer, error) {
	file, err := os.Open(path) //nolint:gosec // the operator says where the keyset is
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("load keyset: %w. Without this file the credentials of all cloud accounts are unreadable for ever: "+
			"put it back from a backup, or, for a new installation only, make one with `server bootstrap` (or `server dev`)", err)
	}
	if err != nil {
		return nil, fmt.Errorf("load keyset: %w", err)
	}
	defer file.Close() //nolint:errcheck // it is only read
	// The open file is looked at, not the path, which may lead elsewhere by now.
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("load keyset: %w", err)
	}
	if err := guarded(path, info); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(file, largestFile))
	if err != nil {
		return nil, fmt.Errorf("load keyset: %w", err)
	}
	return parse(path, text)
}

func guarded(path string, info fs.FileInfo) error {
	switch {
	case !info.Mode().IsRegular():
		return fmt.Errorf("load keyset: %s is not a regular file", path)
	case info.Mode().Perm()&^fileMode != 0:
		return fmt.Errorf("load keyset: %s can be used by others (mode %04o), and whoever reads it can open all credentials: chmod 600 %s",
			path, info.Mode().Perm(), path)
	case info.Size() >= largestFile:
		return fmt.Errorf("load keyset: %s is too large to be a keyset", path)
	}
	return nil
}

func parse(path string, text []byte) (*Sealer, error) {
	// The causes are left out: they can quote the file, which is a secret.
	handle, err := insecurecleartextkeyset.Read(keyset.NewJSONReader(bytes.NewReader(text)))
	if err != nil {
		return nil, fmt.Errorf("load keyset: %s is damaged: put it back from a backup", path)
	}
	sealer, err := newSealer(handle)
	if err != nil {
		return nil, fmt.Errorf("load keyset: %s has no usable key: put it back from a backup", path)
	}
	return sealer, nil
}

// CreateKeyset makes a keyset file with one new key at path, and its directory
// if need be. It never replaces a file: when there is one the error matches
// fs.ErrExist. The file is there whole or not at all, whatever happens meanwhile.
func CreateKeyset(path string) error {
	text, err := newKeyset()
	if err != nil {
		return fmt.Errorf("create keyset: %w", err)
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, dirMode); err != nil {
		return fmt.Errorf("create keyset: %w", err)
	}
	draft, err := writeDraft(dir, text)
	if err != nil {
		return fmt.Errorf("create keyset: %w", err)
	}
	defer os.Remove(draft) //nolint:errcheck // a left-over draft is as well guarded as the file
	// A link, unlike a rename, fails when the name is taken.
	if err := os.Link(draft, path); err != nil {
		return fmt.Errorf("create keyset: %w", err)
	}
	if err := syncDir(dir); err != nil {
		return fmt.Errorf("create keyset: %w", err)
	}
	return nil
}

func newKeyset() ([]byte, error) {
	handle, err := keyset.NewHandle(aead.AES256GCMKeyTemplate())
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	if err := insecurecleartextkeyset.Write(handle, keyset.NewJSONWriter(&text)); err != nil {
		return nil, err
	}
	return text.Bytes(), nil
}

// writeDraft stores text in a new file of the directory, which only its owner can
// read from the first byte on, and answers its path.
func writeDraft(dir string, text []byte) (path string, err error) {
	file, err := os.CreateTemp(dir, ".keyset-*") // mode 0600
	if err != nil {
		return "", err
	}
	_, err = file.Write(text)
	err = errors.Join(err, file.Sync(), file.Close())
	if err != nil {
		_ = os.Remove(file.Name()) // the error that matters is err
		return "", err
	}
	return file.Name(), nil
}

// syncDir makes the new name survive a power cut: without the file nothing that
// is sealed from now on could be opened.
func syncDir(dir string) error {
	d, err := os.Open(dir) //nolint:gosec // the folder of the keyset, which the operator names
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
