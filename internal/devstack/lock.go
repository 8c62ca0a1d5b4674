package devstack

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// DirLock keeps a second server out of a data folder. The kernel drops it when
// the process ends, in whatever way, so there is no stale lock.
type DirLock struct{ file *os.File }

// InUseError says that another process has the data folder.
type InUseError struct {
	Dir string
	// PID is the process that has it, 0 if it could not be read.
	PID int
	// URL is where that server answers, empty as long as it is not ready.
	URL string
}

func (e *InUseError) Error() string {
	text := "another server uses " + e.Dir
	if e.PID != 0 {
		text += fmt.Sprintf(" (process %d)", e.PID)
	}
	if e.URL != "" {
		text += ": it answers at " + e.URL
	}
	return text + "; stop it first, or set DATA_DIR to another folder"
}

// LockDataDir creates the folder if need be and locks <dir>/server.lock for this
// process. The error is an *InUseError when another one, or this one before, has
// it.
func LockDataDir(dir string) (*DirLock, error) {
	if err := makeDataDir(dir); err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	path := filepath.Join(dir, "server.lock")
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // the operator's own folder
	if err != nil {
		return nil, fmt.Errorf("lock data folder: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		held := describeHolder(dir, file)
		_ = file.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, held
		}
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	if err := writePID(file); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), file.Close())
	}
	return &DirLock{file: file}, nil
}

// Unlock gives the folder free. The lock file stays: removing it would let two
// processes lock two files of one name.
func (l *DirLock) Unlock() error {
	if err := l.file.Close(); err != nil {
		return fmt.Errorf("unlock data folder: %w", err)
	}
	return nil
}

func writePID(file *os.File) error {
	if err := file.Truncate(0); err != nil {
		return err
	}
	_, err := file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

// describeHolder never fails: what cannot be read is left out.
func describeHolder(dir string, lock *os.File) *InUseError {
	held := &InUseError{Dir: dir}
	text := make([]byte, 20)
	n, _ := lock.ReadAt(text, 0) // io.EOF is the normal end of so short a file
	if pid, err := strconv.Atoi(strings.TrimSpace(string(text[:n]))); err == nil {
		held.PID = pid
	}
	path := filepath.Join(dir, "dev.json")
	ready, err := os.Stat(path)
	if err != nil {
		return held
	}
	locked, err := lock.Stat()
	if err != nil || ready.ModTime().Before(locked.ModTime()) {
		return held // written by a server before the one that has the lock now
	}
	var dev struct {
		URL string `json:"url"`
	}
	if body, err := os.ReadFile(path); err == nil && json.Unmarshal(body, &dev) == nil { //nolint:gosec // the operator's own folder
		held.URL = dev.URL
	}
	return held
}
