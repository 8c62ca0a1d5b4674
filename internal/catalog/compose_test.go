package catalog_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/catalog"
	"biztraak.dev/vm/internal/catalog/composition"
	"biztraak.dev/vm/internal/catalog/manifest"
	"biztraak.dev/vm/internal/fault"
	"biztraak.dev/vm/internal/ident"
)

func gives(capabilities ...manifest.Capability) func(*manifest.AddOnSpec) {
	return func(a *manifest.AddOnSpec) { a.Capabilities = capabilities }
}

func needsRuntime(a *manifest.AddOnSpec) {
	a.Capabilities = []manifest.Capability{manifest.ManagedHostedWorkloadDeploy}
	a.Requires = &manifest.Requires{Capabilities: []manifest.Capability{manifest.HostedContainerRuntime}}
}

// composing is a catalog with a template, a container engine and what needs one.
func composing(t *testing.T) (f *fixture, s *catalog.Service, ids map[string]ident.ID) {
	t.Helper()
	f = newFixture(t)
	s = f.service()
	require.NoError(t, s.Load(t.Context(), []manifest.Manifest{
		template("base", "1.0.0"), addOn("docker", "1.0.0", gives(manifest.HostedContainerRuntime)),
		addOn("deploy", "1.0.0", needsRuntime),
	}))
	ids = map[string]ident.ID{}
	templates, err := s.Templates(f.ctx)
	require.NoError(t, err)
	addOns, err := s.AddOns(f.ctx)
	require.NoError(t, err)
	ids["base"] = templates[0].ID
	for _, a := range addOns {
		ids[a.Slug] = a.ID
	}
	return f, s, ids
}

func TestCompose(t *testing.T) {
	_, s, ids := composing(t)
	// No actor is needed: work that was accepted before composes too.
	c, problems, err := s.Compose(t.Context(), ids["base"], []ident.ID{ids["docker"], ids["deploy"]})
	require.NoError(t, err)
	require.Empty(t, problems)
	require.True(t, c.Gives(manifest.ManagedHostedWorkloadDeploy))
	other, _, err := s.Compose(t.Context(), ids["base"], []ident.ID{ids["deploy"], ids["docker"]})
	require.NoError(t, err)
	require.Equal(t, c, other)

	c, problems, err = s.Compose(t.Context(), ids["base"], nil)
	require.NoError(t, err)
	require.Empty(t, problems)
	require.Empty(t, c.Capabilities)
}

func TestComposeProblems(t *testing.T) {
	_, s, ids := composing(t)
	_, problems, err := s.Compose(t.Context(), ids["base"], []ident.ID{ids["deploy"]})
	require.NoError(t, err)
	require.Len(t, problems, 1)
	require.Equal(t, composition.CodeAddOnRequires, problems[0].Code)
	require.Equal(t, ids["deploy"], problems[0].ItemID)
	require.Equal(t, fault.SuppliedBy{
		Capability: "HOSTED_CONTAINER_RUNTIME", AddOnIDs: []ident.ID{ids["docker"]},
	}, problems[0].Detail())
	require.Nil(t, catalog.Problem{Problem: composition.Problem{Code: composition.CodeAddOnConflicts}}.Detail())
}

func TestComposeUnknown(t *testing.T) {
	_, s, ids := composing(t)
	for _, c := range []struct {
		name     string
		template ident.ID
		addOns   []ident.ID
	}{
		{"no template", ident.New(ident.Template), nil},
		{"an add-on as the template", ids["docker"], nil},
		{"no add-on", ids["base"], []ident.ID{ident.New(ident.AddOn)}},
		{"a template as an add-on", ids["base"], []ident.ID{ids["base"]}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := s.Compose(t.Context(), c.template, c.addOns)
			require.ErrorIs(t, err, catalog.ErrNoItem)
		})
	}
}

func TestComposeMany(t *testing.T) {
	f, _, ids := composing(t)
	s := f.service()
	var selections []catalog.Selection
	for range 50 {
		selections = append(selections,
			catalog.Selection{TemplateID: ids["base"], AddOnIDs: []ident.ID{ids["docker"]}}, catalog.Selection{TemplateID: ids["base"]})
	}
	before := f.count.n.Load()
	got, err := s.ComposeMany(t.Context(), selections)
	require.NoError(t, err)
	require.LessOrEqual(t, f.count.n.Load()-before, int64(3), "offers, their content, and the items")
	require.Len(t, got, 100)
	require.Same(t, got[0], got[98], "equal selections are resolved once")
	require.NotEmpty(t, got[0].Capabilities)
	require.Empty(t, got[1].Capabilities)
	// Whatever the composition names can be found.
	docker, ok := got[0].Item(got[0].Capabilities[0].ProvidedBy[0]).(*catalog.AddOn)
	require.True(t, ok)
	require.Equal(t, ids["docker"], docker.ID)
	require.NotNil(t, got[1].Item(got[1].Missing[0].SmallestSet[0]))
	require.Nil(t, got[0].Item(composition.Ref{Slug: "nothing"}))

	before = f.count.n.Load()
	_, err = s.ComposeMany(t.Context(), selections)
	require.NoError(t, err)
	require.EqualValues(t, before, f.count.n.Load())
}

// What another process publishes is offered here before long.
func TestOffersGrowOld(t *testing.T) {
	f, other, ids := composing(t)
	now := time.Now()
	s := catalog.NewService(catalog.Deps{DB: f.db, Now: func() time.Time { return now }})
	suppliers := func(s *catalog.Service) int {
		c, _, err := s.Compose(t.Context(), ids["base"], nil)
		require.NoError(t, err)
		for _, m := range c.Missing {
			if m.Capability == manifest.TLSTermination {
				return len(m.Suppliers)
			}
		}
		return -1
	}
	require.Zero(t, suppliers(s))
	require.Zero(t, suppliers(other))
	require.NoError(t, other.Load(t.Context(), []manifest.Manifest{addOn("tls", "1.0.0", gives(manifest.TLSTermination))}))
	require.Equal(t, 1, suppliers(other), "who loads sees it at once")
	require.Zero(t, suppliers(s))
	now = now.Add(10 * time.Second)
	require.Equal(t, 1, suppliers(s))
	before := f.count.n.Load()
	now = now.Add(10 * time.Second)
	require.Equal(t, 1, suppliers(s))
	require.EqualValues(t, 1, f.count.n.Load()-before, "nothing new costs one look")
	// A team's own is offered to nobody.
	f.own("tls", "1.0.0", f.teamID)
	now = now.Add(10 * time.Second)
	require.Zero(t, suppliers(s))
}
