package page_test

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"biztraak.dev/vm/internal/page"
)

func ptr[T any](v T) *T { return &v }

func TestCursorsGiveBackTheirParts(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		parts := rapid.SliceOfN(rapid.StringMatching(`[a-z_0-9é]{0,20}`), 1, 4).Draw(r, "parts")
		got, err := page.NewCursor(parts...).Parts(len(parts))
		require.NoError(r, err)
		require.Equal(r, parts, got)
	})
}

func TestForeignCursors(t *testing.T) {
	encode := func(s string) page.Cursor { return page.Cursor(base64.RawURLEncoding.EncodeToString([]byte(s))) }
	for name, c := range map[string]page.Cursor{
		"empty":           "",
		"no base64":       "%%%",
		"another version": encode("2\x00vm_x"),
		"too few parts":   encode("1"),
		"too many parts":  encode("1\x00a\x00b"),
		"too long":        page.Cursor(strings.Repeat("A", 513)),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := c.Parts(1)
			require.Error(t, err)
			require.Contains(t, err.Error(), "pass one that this list answered")
		})
	}
}

func TestCursorsAsGraphQL(t *testing.T) {
	var out strings.Builder
	page.NewCursor("vm_x").MarshalGQL(&out)
	var back page.Cursor
	require.NoError(t, back.UnmarshalGQL(strings.Trim(out.String(), `"`)))
	require.Equal(t, page.NewCursor("vm_x"), back)
	require.Error(t, back.UnmarshalGQL(7))
}

func TestWindow(t *testing.T) {
	c := page.NewCursor("x")
	for _, k := range []struct {
		name string
		args page.Args
		want page.Window
		ok   bool
	}{
		{"nothing said", page.Args{}, page.Window{Size: page.DefaultSize}, true},
		{"first", page.Args{First: ptr(3), After: &c}, page.Window{Size: 3, After: &c}, true},
		{"last", page.Args{Last: ptr(3), Before: &c}, page.Window{Size: 3, Backward: true, Before: &c}, true},
		{"none", page.Args{First: ptr(0)}, page.Window{}, true},
		{"the most", page.Args{First: ptr(page.MaxSize)}, page.Window{Size: page.MaxSize}, true},
		{"one more", page.Args{First: ptr(page.MaxSize + 1)}, page.Window{}, false},
		{"less than none", page.Args{Last: ptr(-1)}, page.Window{}, false},
		{"both", page.Args{First: ptr(1), Last: ptr(1)}, page.Window{}, false},
	} {
		t.Run(k.name, func(t *testing.T) {
			got, err := k.args.Window()
			if !k.ok {
				require.Error(t, err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, k.want, got)
		})
	}
}

func TestCut(t *testing.T) {
	c := page.NewCursor("x")
	for _, k := range []struct {
		name   string
		window page.Window
		read   []int
		want   page.Page[int]
	}{
		{"all of it", page.Window{Size: 3}, []int{1, 2}, page.Page[int]{Items: []int{1, 2}}},
		{"more to come", page.Window{Size: 2}, []int{1, 2, 3}, page.Page[int]{Items: []int{1, 2}, HasNext: true}},
		{"in the middle", page.Window{Size: 2, After: &c}, []int{1, 2, 3}, page.Page[int]{Items: []int{1, 2}, HasNext: true, HasPrevious: true}},
		{"the end, read backward", page.Window{Size: 2, Backward: true}, []int{9, 8, 7}, page.Page[int]{Items: []int{8, 9}, HasPrevious: true}},
		{"backward to the beginning", page.Window{Size: 2, Backward: true, Before: &c}, []int{2, 1}, page.Page[int]{Items: []int{1, 2}, HasNext: true}},
		{"nothing wanted, something there", page.Window{}, []int{1}, page.Page[int]{Items: []int{}, HasNext: true}},
		{"nothing there", page.Window{Size: 2}, nil, page.Page[int]{}},
	} {
		t.Run(k.name, func(t *testing.T) { require.Equal(t, k.want, page.Cut(k.window, slices.Clone(k.read))) })
	}
}
