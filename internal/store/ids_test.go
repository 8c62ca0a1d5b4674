package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/store"
)

func TestIDs(t *testing.T) {
	a, b := ident.New(ident.VM), ident.New(ident.AddOn)
	for _, c := range []struct {
		name string
		ids  store.IDs
		text string
	}{
		{"none", nil, "{}"},
		{"one", store.IDs{a}, "{" + string(a) + "}"},
		{"several, in order", store.IDs{b, a}, "{" + string(b) + "," + string(a) + "}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text, err := c.ids.Value()
			require.NoError(t, err)
			require.Equal(t, c.text, text)
			for _, src := range []any{c.text, []byte(c.text)} {
				got := store.IDs{"stale"}
				require.NoError(t, got.Scan(src))
				require.Equal(t, c.ids, got)
			}
		})
	}
	got := store.IDs{"stale"}
	require.NoError(t, got.Scan(nil))
	require.Empty(t, got)
	require.Error(t, got.Scan(7))
}
