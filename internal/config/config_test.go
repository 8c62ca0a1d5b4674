package config_test

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/config"
)

func TestEverySettingIsDocumented(t *testing.T) {
	var out strings.Builder
	require.NoError(t, config.Document(&out))
	typ := reflect.TypeFor[config.Config]()
	for i := range typ.NumField() {
		tag := typ.Field(i).Tag
		require.NotEmpty(t, tag.Get("env"), "%s has no name", typ.Field(i).Name)
		require.Greater(t, len(tag.Get("doc")), 20, "%s has no meaning", tag.Get("env"))
		require.Contains(t, out.String(), tag.Get("env"))
		require.Contains(t, out.String(), tag.Get("doc"))
	}
}

// clear takes the settings of the test's surroundings away.
func clear(t *testing.T) {
	t.Helper()
	typ := reflect.TypeFor[config.Config]()
	for i := range typ.NumField() {
		if def := typ.Field(i).Tag.Get("envDefault"); def != "" {
			t.Setenv(typ.Field(i).Tag.Get("env"), def)
		} else if typ.Field(i).Type.Kind() != reflect.Bool {
			t.Setenv(typ.Field(i).Tag.Get("env"), "")
		} else {
			t.Setenv(typ.Field(i).Tag.Get("env"), "false")
		}
	}
}

func TestKeysetIsInTheDataFolderUnlessToldOtherwise(t *testing.T) {
	clear(t)
	dir := t.TempDir()
	t.Setenv("DATA_DIR", dir)
	c, err := config.Load()
	require.NoError(t, err)
	require.Equal(t, filepath.Join(dir, "keyset.json"), c.KeysetFile)
	t.Setenv("KEYSET_FILE", "/elsewhere")
	c, err = config.Load()
	require.NoError(t, err)
	require.Equal(t, "/elsewhere", c.KeysetFile)
}

func TestLoadRefuses(t *testing.T) {
	for name, c := range map[string]struct{ setting, value, says string }{
		"port above":        {"PORT", "70000", "PORT is 0 to 65535"},
		"port no number":    {"PORT", "web", "server config"},
		"no connections":    {"DATABASE_CONNS", "0", "DATABASE_CONNS is at least 1"},
		"origin with path":  {"ALLOWED_ORIGINS", "https://a.example/x", "no origin"},
		"origin bare host":  {"ALLOWED_ORIGINS", "a.example", "no origin"},
		"metrics no port":   {"METRICS_LISTEN", "localhost", "METRICS_LISTEN is host:port"},
		"unknown log level": {"LOG_LEVEL", "loud", "LOG_LEVEL is debug"},
	} {
		t.Run(name, func(t *testing.T) {
			clear(t)
			t.Setenv("DATA_DIR", t.TempDir())
			t.Setenv(c.setting, c.value)
			_, err := config.Load()
			require.ErrorContains(t, err, c.says)
		})
	}
}

func TestRequireNamesAllThatIsMissing(t *testing.T) {
	err := (&config.Config{}).Require()
	require.ErrorContains(t, err, "DATABASE_URL")
	require.ErrorContains(t, err, "REDIS_URL")
	require.ErrorContains(t, err, "server dev")
	require.NoError(t, (&config.Config{DatabaseURL: "x", RedisURL: "y"}).Require())
}
