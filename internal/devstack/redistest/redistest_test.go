package redistest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func client(t *testing.T, url string) *redis.Client {
	t.Helper()
	opts, err := redis.ParseURL(url)
	require.NoError(t, err)
	opts.MaxRetries = -1
	c := redis.NewClient(opts)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

func TestEach(t *testing.T) {
	ran := map[string]bool{}
	Each(t, func(t *testing.T, url string) {
		ran[filepath.Base(t.Name())] = true
		c := client(t, url)
		require.NoError(t, c.Set(t.Context(), "k", "v", 0).Err())
		require.Equal(t, "v", c.Get(t.Context(), "k").Val())
	})
	require.Equal(t, map[string]bool{"in-process": true, "redis-server": true}, ran)
}

func TestOutages(t *testing.T) {
	tests := []struct {
		name string
		end  func(*Server)
	}{
		{"stopped", (*Server).Stop},
		{"killed", (*Server).Kill},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := Real(t)
			url, c := s.URL(), client(t, s.URL())
			require.NoError(t, c.Set(t.Context(), "k", "v", 0).Err())
			test.end(s)
			require.Error(t, c.Ping(t.Context()).Err())
			s.Stop() // changes nothing
			s.Start()
			require.Equal(t, url, s.URL())
			require.ErrorIs(t, c.Get(t.Context(), "k").Err(), redis.Nil, "it comes back empty")
		})
	}
}

func TestServersAreApart(t *testing.T) {
	one, two := client(t, Real(t).URL()), client(t, Real(t).URL())
	require.NoError(t, one.Set(t.Context(), "k", "v", 0).Err())
	require.ErrorIs(t, two.Get(t.Context(), "k").Err(), redis.Nil)
}

// fatal records what Fatalf says, and ends the goroutine as the real one does.
type fatal struct {
	testing.TB
	text string
}

func (f *fatal) Helper() {}

func (f *fatal) Fatalf(format string, args ...any) {
	f.text = format
	if len(args) > 0 {
		f.text, _ = args[0].(string)
	}
	panic(f)
}

func TestMissingProgramFailsWithInstructions(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	require.NotEmpty(t, os.Getenv("PATH"))
	f := &fatal{TB: t}
	require.Panics(t, func() { Real(f) })
	require.Contains(t, f.text, "apt-get install --no-install-recommends redis-server")
	require.Contains(t, f.text, "brew install redis")
}
