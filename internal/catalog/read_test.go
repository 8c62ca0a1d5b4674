package catalog_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/catalog"
	"biztraak.dev/vm/internal/catalog/composition"
	"biztraak.dev/vm/internal/catalog/manifest"
	"biztraak.dev/vm/internal/fault"
	"biztraak.dev/vm/internal/ident"
)

func TestNewestVersions(t *testing.T) {
	for _, c := range []struct {
		name     string
		versions []string
		want     string
	}{
		{"by number, not by text", []string{"1.9.0", "1.10.0", "1.2.0"}, "1.10.0"},
		{"a release follows its candidates", []string{"2.0.0-rc.1", "2.0.0", "2.0.0-rc.10"}, "2.0.0"},
		{"candidates by number", []string{"2.0.0-rc.2", "2.0.0-rc.10"}, "2.0.0-rc.10"},
		{"one", []string{"0.1.0"}, "0.1.0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t)
			s := f.service()
			items := []manifest.Manifest{template("a", "1.0.0")}
			for _, v := range c.versions {
				items = append(items, template("b", v))
			}
			require.NoError(t, s.Load(t.Context(), items))
			got, err := s.Templates(f.ctx)
			require.NoError(t, err)
			require.Len(t, got, 2)
			require.Equal(t, "a", got[0].Slug)
			require.Equal(t, c.want, got[1].Version)
		})
	}
}

func TestFields(t *testing.T) {
	f := newFixture(t)
	s := f.service()
	require.NoError(t, s.Load(t.Context(), []manifest.Manifest{template("base", "1.0.0"), addOn("node", "1.0.0", func(a *manifest.AddOnSpec) {
		a.Fits = []string{"base"}
		a.ExtraResources = &manifest.ExtraResources{Memory: manifest.GiB}
		a.Capabilities = []manifest.Capability{manifest.TLSTermination}
	})}))
	templates, err := s.Templates(f.ctx)
	require.NoError(t, err)
	require.Equal(t, composition.Resources{MilliCPU: 500, MemoryBytes: 1 << 30, DiskBytes: 10 << 30}, templates[0].LeastResources)
	require.Equal(t, time.Hour, *templates[0].DefaultShutdownTimer)
	require.Equal(t, "a template", templates[0].Description)
	addOns, err := s.AddOns(f.ctx)
	require.NoError(t, err)
	require.Equal(t, composition.Resources{MemoryBytes: 1 << 30}, addOns[0].ExtraResources)
	require.Equal(t, []string{"base"}, addOns[0].FitsTemplates)
	require.Equal(t, []manifest.Capability{manifest.TLSTermination}, addOns[0].Capabilities)

	image, err := s.BaseImage(t.Context(), templates[0].ID, manifest.ProviderSimulator)
	require.NoError(t, err)
	require.Equal(t, "debian-13", image)
	image, err = s.BaseImage(t.Context(), templates[0].ID, manifest.ProviderEC2)
	require.NoError(t, err)
	require.Empty(t, image)
	_, err = s.BaseImage(t.Context(), addOns[0].ID, manifest.ProviderEC2)
	require.ErrorIs(t, err, catalog.ErrNoItem)
}

func TestItemsOfATeam(t *testing.T) {
	f := newFixture(t)
	s := f.service()
	require.NoError(t, s.Load(t.Context(), []manifest.Manifest{
		template("base", "1.0.0"), template("base", "2.0.0"), addOn("node", "1.0.0", nil), addOn("own", "1.0.0", nil),
	}))
	base, own := f.own("base", "2.0.0", f.teamID), f.own("own", "1.0.0", f.teamID)
	for _, c := range []struct {
		name      string
		ctx       context.Context
		templates []string
		addOns    []string
		sees      bool
	}{
		{"a member", f.ctx, []string{"1.0.0", "2.0.0"}, []string{"node", "own"}, true},
		{"an outsider", f.outsider(), []string{"1.0.0"}, []string{"node"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var templates, addOns []string
			ts, err := s.Templates(c.ctx)
			require.NoError(t, err)
			for _, x := range ts {
				templates = append(templates, x.Version)
			}
			as, err := s.AddOns(c.ctx)
			require.NoError(t, err)
			for _, x := range as {
				addOns = append(addOns, x.Slug)
			}
			require.Equal(t, c.templates, templates)
			require.Equal(t, c.addOns, addOns)
			tpl, err := s.Template(c.ctx, base)
			require.NoError(t, err)
			require.Equal(t, c.sees, tpl != nil)
			found, err := s.AddOnsByID(c.ctx, []ident.ID{own})
			require.NoError(t, err)
			require.Equal(t, c.sees, found[0] != nil)
			item, err := s.Item(c.ctx, own)
			require.NoError(t, err)
			require.Equal(t, c.sees, item != nil)
		})
	}
}

func TestReadsByID(t *testing.T) {
	f := newFixture(t)
	require.NoError(t, f.service().Load(t.Context(), []manifest.Manifest{
		template("base", "1.0.0"), addOn("node", "1.0.0", nil), addOn("python", "1.0.0", nil),
	}))
	s := f.service()
	all, err := s.AddOns(f.ctx)
	require.NoError(t, err)
	templates, err := s.Templates(f.ctx)
	require.NoError(t, err)
	node, python, base := all[0].ID, all[1].ID, templates[0].ID

	fresh := f.service()
	before := f.count.n.Load()
	got, err := fresh.AddOnsByID(f.ctx, []ident.ID{python, ident.New(ident.AddOn), node, base, python})
	require.NoError(t, err)
	require.EqualValues(t, 1, f.count.n.Load()-before, "all that is missing is one statement")
	require.Equal(t, "python", got[0].Slug)
	require.Nil(t, got[1])
	require.Equal(t, "node", got[2].Slug)
	require.Nil(t, got[3], "a template is no add-on")
	require.Same(t, got[0], got[4])

	before = f.count.n.Load()
	again, err := fresh.AddOn(f.ctx, node)
	require.NoError(t, err)
	require.Same(t, got[2], again)
	require.EqualValues(t, before, f.count.n.Load(), "a published version is read once")

	none, err := fresh.Template(f.ctx, node)
	require.NoError(t, err)
	require.Nil(t, none)
	item, err := fresh.Item(f.ctx, node)
	require.NoError(t, err)
	require.Equal(t, composition.Ref{Kind: manifest.KindAddOn, Slug: "node", Version: "1.0.0"}, item.Ref())
	absent, err := fresh.Item(f.ctx, ident.New(ident.AddOn))
	require.NoError(t, err)
	require.True(t, absent == nil)
	_, err = fresh.Item(t.Context(), node)
	var needsActor *fault.Fault
	require.ErrorAs(t, err, &needsActor)
}
