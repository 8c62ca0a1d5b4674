package devstack

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDirLock(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "by", "lock")
	first, err := LockDataDir(dir)
	require.NoError(t, err)

	refused := func() *InUseError {
		_, err := LockDataDir(dir)
		var held *InUseError
		require.True(t, errors.As(err, &held), "%v", err)
		return held
	}
	require.Equal(t, &InUseError{Dir: dir, PID: os.Getpid()}, refused(), "not ready yet: no URL")

	dev := filepath.Join(dir, "dev.json")
	require.NoError(t, os.WriteFile(dev, []byte(`{"url":"http://localhost:8080","token":"x"}`), 0o600))
	held := refused()
	require.Equal(t, "http://localhost:8080", held.URL)
	require.Contains(t, held.Error(), "http://localhost:8080")
	require.NotContains(t, held.Error(), "token")

	past := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(dev, past, past))
	require.Empty(t, refused().URL, "written by a server before")

	require.NoError(t, first.Unlock())
	second, err := LockDataDir(dir)
	require.NoError(t, err)
	require.NoError(t, second.Unlock())
}
