package ident_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/ident"
)

func TestNewIsParsedAndSortsByTime(t *testing.T) {
	seen := map[ident.ID]bool{}
	for range 1000 {
		id := ident.New(ident.VM)
		require.False(t, seen[id])
		seen[id] = true
		back, err := ident.Parse(string(id))
		require.NoError(t, err)
		require.Equal(t, id, back)
		require.Equal(t, ident.VM, back.Kind())
	}
}

func TestParseRefusesWhatIsNoID(t *testing.T) {
	good := string(ident.New(ident.Project))
	for name, text := range map[string]string{
		"empty":               "",
		"no prefix":           good[4:],
		"unknown prefix":      "zz_" + good[4:],
		"too short":           good[:len(good)-1],
		"too long":            good + "0",
		"upper case":          strings.ToUpper(good),
		"outside alphabet":    good[:len(good)-2] + "z0",
		"unused bits set":     good[:len(good)-1] + "v",
		"NUL":                 good[:len(good)-1] + "\x00",
		"huge":                strings.Repeat("a", 1<<20),
		"quote and semicolon": "prj_'; drop table project; --",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ident.Parse(text)
			require.Error(t, err)
			require.Less(t, len(err.Error()), 200)
		})
	}
}
