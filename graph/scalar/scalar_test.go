package scalar_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/graph/scalar"
	"biztraak.dev/vm/internal/fault"
	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/page"
)

func written(m graphql.Marshaler) string {
	var b strings.Builder
	m.MarshalGQL(&b)
	return b.String()
}

// requireRefused wants a BAD_REQUEST whose message fits into an answer.
func requireRefused(t *testing.T, err error) {
	t.Helper()
	var f *fault.Fault
	require.ErrorAs(t, err, &f)
	require.Equal(t, fault.BadRequest, f.Code)
	require.NotEmpty(t, f.Message)
	require.Less(t, len(f.Message), 400)
}

type number[T any] struct {
	in   any
	want T
}

func TestByteSize(t *testing.T) {
	for _, c := range []number[int64]{
		{0, 0}, {int64(1), 1}, {json.Number("1073741824"), 1 << 30}, {float64(4096), 4096}, {"17", 17}, {"17B", 17},
		{"512Mi", 512 << 20}, {"512MB", 512 << 20}, {"512MiB", 512 << 20}, {"0.5g", 512 << 20}, {"1.5G", 3 << 29},
		{"2Ki", 2048}, {"1T", 1 << 40}, {"1Pi", 1 << 50}, {"0.3", 0}, {int64(1 << 50), 1 << 50},
	} {
		t.Run(fmt.Sprint(c.in), func(t *testing.T) {
			got, err := scalar.UnmarshalByteSize(c.in)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
			require.Equal(t, fmt.Sprint(c.want), written(scalar.MarshalByteSize(got)))
		})
	}
	for _, bad := range []any{
		nil, true, []any{1}, map[string]any{}, "", " ", "Mi", "-1", "-1Mi", "1e9", "1 Gi", "1GG", "1iB", "0x10", "∞", "NaN",
		"1,5G", "1.G", ".5G", "1.0000000001", "2Pi", "99999999999999999999", "9999999999999999999P", strings.Repeat("9", 1000) + "P",
		-1, int64(math.MinInt64), int64(1<<50 + 1), 1.5, math.NaN(), math.Inf(1), json.Number("1e400"), json.Number("1.5"),
	} {
		t.Run(fmt.Sprintf("refuses %.20v", bad), func(t *testing.T) {
			_, err := scalar.UnmarshalByteSize(bad)
			requireRefused(t, err)
		})
	}
}

func TestMilliCPU(t *testing.T) {
	for _, c := range []number[int64]{
		{0, 0}, {2, 2}, {int64(1500), 1500}, {json.Number("250"), 250}, {"500m", 500}, {"0.5", 500}, {"2", 2000},
		{"1.5", 1500}, {"0.0005", 0}, {"1000", 1_000_000}, {1_000_000, 1_000_000},
	} {
		t.Run(fmt.Sprint(c.in), func(t *testing.T) {
			got, err := scalar.UnmarshalMilliCPU(c.in)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
			require.Equal(t, fmt.Sprint(c.want), written(scalar.MarshalMilliCPU(got)))
		})
	}
	for _, bad := range []any{
		nil, false, "", "m", "-1", "500M", "500 m", "1e3", "1001", "1000001m", -1, 1_000_001, 0.5, json.Number("0.5"),
		strings.Repeat("1", 10_000),
	} {
		t.Run(fmt.Sprintf("refuses %.20v", bad), func(t *testing.T) {
			_, err := scalar.UnmarshalMilliCPU(bad)
			requireRefused(t, err)
		})
	}
}

func TestDateTime(t *testing.T) {
	for in, want := range map[string]string{
		"2026-11-30T20:15:00Z":           `"2026-11-30T20:15:00Z"`,
		"2026-11-30T21:15:00+01:00":      `"2026-11-30T20:15:00Z"`,
		"2026-11-30T20:15:00.120-00:00":  `"2026-11-30T20:15:00.12Z"`,
		"2024-02-29T00:00:00.000000001Z": `"2024-02-29T00:00:00.000000001Z"`,
		"9999-12-31T23:59:59Z":           `"9999-12-31T23:59:59Z"`,
	} {
		t.Run(in, func(t *testing.T) {
			got, err := scalar.UnmarshalDateTime(in)
			require.NoError(t, err)
			require.Equal(t, time.UTC, got.Location())
			require.Equal(t, want, written(scalar.MarshalDateTime(got)))
		})
	}
	for _, bad := range []any{
		nil, 1700000000, json.Number("1"), "", "2026-11-30", "2026-11-30T20:15Z", "2026-11-30T20:15:00", "2026-11-30 20:15:00Z",
		"2026-11-30T20:15:00,5Z", "2026-11-30t20:15:00z", "2026-11-30T20:15:00+0100", "2026-11-30T20:15:00+24:00",
		"2026-02-30T00:00:00Z", "2026-11-30T24:00:00Z", "2026-11-30T23:59:60Z", "0001-01-01T00:00:00+01:00",
		"0000-06-01T00:00:00Z", "9999-12-31T23:59:59-01:00", "2026-11-30T20:15:00.1234567890Z", "tomorrow",
	} {
		t.Run(fmt.Sprintf("refuses %v", bad), func(t *testing.T) {
			_, err := scalar.UnmarshalDateTime(bad)
			requireRefused(t, err)
		})
	}
}

func TestDuration(t *testing.T) {
	for in, want := range map[string]string{
		"PT30M": "PT30M", "PT90M": "PT1H30M", "PT1H30M": "PT1H30M", "P2D": "P2D", "PT48H": "P2D", "P1W": "P7D",
		"P1DT12H": "P1DT12H", "PT0S": "PT0S", "P0D": "PT0S", "PT1.5S": "PT1.5S", "PT0.000000001S": "PT0.000000001S",
		"P1W2DT3H4M5S": "P9DT3H4M5S", "P3660D": "P3660D",
	} {
		t.Run(in, func(t *testing.T) {
			got, err := scalar.UnmarshalDuration(in)
			require.NoError(t, err)
			require.Equal(t, `"`+want+`"`, written(scalar.MarshalDuration(got)))
		})
	}
	for _, bad := range []any{
		nil, 30, "", "P", "PT", "P1DT", "30m", "1h", "-PT1M", "PT-1M", "P1Y", "P1M", "PT1M1H", "pt1m", "PT1.5M", "PT1,5S",
		"P3661D", "PT9999999999H", "P9999999999W", "P99999999999W", "PT 1M",
	} {
		t.Run(fmt.Sprintf("refuses %v", bad), func(t *testing.T) {
			_, err := scalar.UnmarshalDuration(bad)
			requireRefused(t, err)
		})
	}
}

func TestIntAndSequence(t *testing.T) {
	for _, good := range []any{7, int32(7), int64(7), float64(7), json.Number("7"), json.Number("7.0"), json.Number("7e0")} {
		n, err := scalar.UnmarshalInt(good)
		require.NoError(t, err)
		require.Equal(t, 7, n)
		s, err := scalar.UnmarshalSequence(good)
		require.NoError(t, err)
		require.Equal(t, int64(7), s)
	}
	for _, bad := range []any{nil, "7", true, 7.5, json.Number("7.5"), json.Number("1e99"), int64(1 << 53), []any{7}} {
		_, err := scalar.UnmarshalInt(bad)
		requireRefused(t, err)
		_, err = scalar.UnmarshalSequence(bad)
		requireRefused(t, err)
	}
	_, err := scalar.UnmarshalInt(int64(math.MaxInt32) + 1)
	requireRefused(t, err)
	_, err = scalar.UnmarshalSequence(0)
	requireRefused(t, err)
	require.Equal(t, "-3", written(scalar.MarshalInt(-3)))
	require.Equal(t, "9007199254740991", written(scalar.MarshalSequence(1<<53-1)))
}

func TestIDAndCursor(t *testing.T) {
	id := ident.New(ident.VM)
	got, err := scalar.UnmarshalID(string(id))
	require.NoError(t, err)
	require.Equal(t, id, got)
	require.Equal(t, `"`+string(id)+`"`, written(scalar.MarshalID(id)))
	for _, bad := range []any{nil, 4, json.Number("4"), "", "vm_", "vm", "zz_" + string(id[3:]), string(id) + "0", "vm_'; DROP TABLE", "vm_\x00"} {
		_, err := scalar.UnmarshalID(bad)
		requireRefused(t, err)
	}
	c := page.NewCursor("a", "b")
	gotCursor, err := scalar.UnmarshalCursor(string(c))
	require.NoError(t, err)
	require.Equal(t, c, gotCursor)
	require.Equal(t, `"`+string(c)+`"`, written(scalar.MarshalCursor(c)))
	for _, bad := range []any{nil, 1, "", "a b", "a=", "a'b", "é", strings.Repeat("a", 513)} {
		_, err := scalar.UnmarshalCursor(bad)
		requireRefused(t, err)
	}
}

// Whatever text comes in, a value that is read is within its bounds and reads
// the same when it is written and read again.
func FuzzText(f *testing.F) {
	for _, seed := range []string{"512Mi", "0.5g", "500m", "1.5", "PT1H30M", "P2D", "2026-11-30T20:15:00Z", "vm_", "\x00", "9e9"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if n, err := scalar.UnmarshalByteSize(text); err == nil {
			require.True(t, n >= 0 && n <= 1<<50)
		} else {
			requireRefused(t, err)
		}
		if n, err := scalar.UnmarshalMilliCPU(text); err == nil {
			require.True(t, n >= 0 && n <= 1_000_000)
		} else {
			requireRefused(t, err)
		}
		if d, err := scalar.UnmarshalDuration(text); err == nil {
			again, err := scalar.UnmarshalDuration(strings.Trim(written(scalar.MarshalDuration(d)), `"`))
			require.NoError(t, err)
			require.Equal(t, d, again)
		}
		if at, err := scalar.UnmarshalDateTime(text); err == nil {
			again, err := scalar.UnmarshalDateTime(strings.Trim(written(scalar.MarshalDateTime(at)), `"`))
			require.NoError(t, err)
			require.True(t, at.Equal(again))
		}
		if _, err := scalar.UnmarshalID(text); err != nil {
			require.NotContains(t, err.Error(), "\x00")
		}
		var wanted *fault.Fault
		if _, err := scalar.UnmarshalCursor(text); err != nil {
			require.True(t, errors.As(err, &wanted))
		}
	})
}
