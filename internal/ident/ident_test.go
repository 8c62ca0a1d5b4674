package ident_test

import (
	"encoding/base32"
	"encoding/binary"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/ident"
)

func TestNewIsParsedAndSortsByTime(t *testing.T) {
	var last ident.ID
	for range 100_000 {
		id := ident.New(ident.VM)
		require.Greater(t, id, last)
		last = id
		back, err := ident.Parse(string(id))
		require.NoError(t, err)
		require.Equal(t, id, back)
		require.Equal(t, ident.VM, back.Kind())
	}
}

func TestNewCarriesTheTime(t *testing.T) {
	before := time.Now().UnixMilli()
	id := string(ident.New(ident.VM))
	after := time.Now().UnixMilli()
	raw, err := base32.HexEncoding.WithPadding(base32.NoPadding).DecodeString(strings.ToUpper(id[len("vm_"):]))
	require.NoError(t, err)
	// Ids made faster than the clock ticks run a little ahead of it.
	require.InDelta(t, (before+after)/2, binary.BigEndian.Uint64(raw[:8])>>16, 1000)
	require.EqualValues(t, 7, raw[6]>>4, "version")
	require.EqualValues(t, 2, raw[8]>>6, "variant")
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
