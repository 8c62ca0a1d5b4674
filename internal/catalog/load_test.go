package catalog_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/catalog/builtin"
	"biztraak.dev/vm/internal/catalog/manifest"
	"biztraak.dev/vm/internal/ident"
)

func TestLoadBuiltin(t *testing.T) {
	f := newFixture(t)
	s := f.service()
	items, err := builtin.Load()
	require.NoError(t, err)
	require.NoError(t, s.Load(t.Context(), items))
	require.Equal(t, len(items), f.stored())
	require.NoError(t, s.Load(t.Context(), items))
	require.Equal(t, len(items), f.stored())

	templates, err := s.Templates(f.ctx)
	require.NoError(t, err)
	addOns, err := s.AddOns(f.ctx)
	require.NoError(t, err)
	require.Len(t, items, len(templates)+len(addOns))
	want := map[string]manifest.Manifest{}
	for _, m := range items {
		want[m.Metadata.Slug] = m
	}
	for _, x := range templates {
		require.Equal(t, ident.Template, x.ID.Kind())
		require.Equal(t, want[x.Slug], x.Manifest, "what is stored is what was loaded")
	}
	for _, x := range addOns {
		require.Equal(t, ident.AddOn, x.ID.Kind())
		require.Equal(t, want[x.Slug], x.Manifest)
	}
}

func TestLoadAtOnce(t *testing.T) {
	f := newFixture(t)
	items := []manifest.Manifest{template("base", "1.0.0"), addOn("node", "1.0.0", nil)}
	errs := make([]error, 6)
	var group sync.WaitGroup
	for i := range errs {
		group.Go(func() { errs[i] = f.service().Load(t.Context(), items) })
	}
	group.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	require.Equal(t, 2, f.stored())
}

func TestLoadRefusesAChangedVersion(t *testing.T) {
	f := newFixture(t)
	s := f.service()
	require.NoError(t, s.Load(t.Context(), []manifest.Manifest{addOn("node", "1.0.0", nil)}))
	changed := addOn("node", "1.0.0", func(a *manifest.AddOnSpec) { a.Capabilities = []manifest.Capability{manifest.TLSTermination} })
	for name, items := range map[string][]manifest.Manifest{
		"stored before":        {addOn("python", "1.0.0", nil), changed},
		"twice in what is new": {addOn("ruby", "1.0.0", nil), renamed(changed, "ruby")},
	} {
		t.Run(name, func(t *testing.T) {
			err := s.Load(t.Context(), items)
			require.ErrorContains(t, err, items[1].Metadata.Slug)
			require.ErrorContains(t, err, "1.0.0")
			require.Equal(t, 1, f.stored(), "all or nothing")
		})
	}
	changed.Metadata.Version = "1.0.1"
	require.NoError(t, s.Load(t.Context(), []manifest.Manifest{changed}))
	// A template and an add-on of one name are two things.
	require.NoError(t, s.Load(t.Context(), []manifest.Manifest{template("node", "1.0.0")}))
	require.Equal(t, 3, f.stored())
}

func renamed(m manifest.Manifest, slug string) manifest.Manifest {
	m.Metadata.Slug = slug
	return m
}
