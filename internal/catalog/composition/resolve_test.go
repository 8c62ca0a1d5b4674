package composition_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/catalog/composition"
	"biztraak.dev/vm/internal/catalog/manifest"
)

const (
	container = manifest.HostedContainerRuntime
	paths     = manifest.ReverseProxyPathRouting
	hostnames = manifest.ReverseProxyHostnameRouting
	tls       = manifest.TLSTermination
	managed   = manifest.ManagedHostedWorkloadDeploy
)

func TestResolveEverything(t *testing.T) {
	base := template("base", func(s *manifest.TemplateSpec) {
		s.DefaultShutdownTimer = manifest.Duration(8 * time.Hour)
		s.Capabilities = []manifest.Capability{container}
		s.ReservedRoutes = []string{"web//hooks/"}
		s.ApplySteps = []manifest.Step{{Name: "first", Packages: []string{"curl"}}}
	})
	engine := addOn("engine", gives(container), routes("/Web/Hooks"), path("zeta", 2000),
		func(s *manifest.AddOnSpec) {
			s.ExtraResources = &manifest.ExtraResources{CPU: 250, Memory: 512 * manifest.MiB}
		})
	alpha := addOn("alpha", needsAddOns("engine"), path("beta", 3000), routes("/.well-known/acme-challenge"),
		steps(manifest.Step{Name: "second", Packages: []string{"jq"}}, manifest.Step{Name: "third", Packages: []string{"vim"}}),
		func(s *manifest.AddOnSpec) { s.ExtraResources = &manifest.ExtraResources{Disk: manifest.GiB} })
	proxy := addOn("proxy", gives(paths))
	secure := addOn("secure", gives(hostnames, tls), needsAddOns("proxy"))

	c, problems := composition.Resolve(composition.Request{
		Template: base, AddOns: []manifest.Manifest{alpha, engine}, Catalog: []manifest.Manifest{secure, proxy, engine, alpha},
		Provider: manifest.ProviderSimulator,
		Machine:  &composition.Resources{MilliCPU: 1250, MemoryBytes: 1536 << 20, DiskBytes: 11 << 30},
	})
	require.Empty(t, problems)
	baseRef := composition.Ref{Kind: manifest.KindTemplate, Slug: "base", Version: "1.0.0"}
	require.Equal(t, composition.Composition{
		Template:   baseRef,
		AddOns:     refs("engine", "alpha"),
		BaseImages: base.Template.BaseImages,
		Capabilities: []composition.Given{
			{Capability: container, ProvidedBy: []composition.Ref{baseRef, ref("engine")}},
		},
		Missing: []composition.Missing{
			{Capability: paths, Suppliers: refs("proxy"), SmallestSet: refs("proxy")},
			{Capability: hostnames, Suppliers: refs("secure"), SmallestSet: refs("proxy", "secure")},
			{Capability: tls, Suppliers: refs("secure"), SmallestSet: refs("proxy", "secure")},
			{Capability: managed, Suppliers: refs(), SmallestSet: refs()},
		},
		ReservedRoutes: []composition.ReservedRoute{
			{Route: "/.well-known/acme-challenge", ReservedBy: refs("alpha")},
			{Route: "/web/hooks", ReservedBy: []composition.Ref{baseRef, ref("engine")}},
		},
		RuntimePaths: []composition.RuntimePath{
			{RuntimePath: alpha.AddOn.RuntimePaths[0], Owner: ref("alpha")},
			{RuntimePath: engine.AddOn.RuntimePaths[0], Owner: ref("engine")},
		},
		ApplyPlan: []composition.PlannedStep{
			{Owner: baseRef, Step: base.Template.ApplySteps[0]},
			{Owner: ref("alpha"), Step: alpha.AddOn.ApplySteps[0]},
			{Owner: ref("alpha"), Step: alpha.AddOn.ApplySteps[1]},
		},
		Least:                composition.Resources{MilliCPU: 1250, MemoryBytes: 1536 << 20, DiskBytes: 11 << 30},
		DefaultShutdownTimer: manifest.Duration(8 * time.Hour),
	}, c)
	require.True(t, c.Gives(container))
	require.False(t, c.Gives(paths))
}

func TestCompositionIsKeptAsJSON(t *testing.T) {
	templates, addOns := builtins(t)
	for _, base := range templates {
		for _, chosen := range [][]manifest.Manifest{nil, addOns} {
			want, problems := composition.Resolve(composition.Request{Template: base, AddOns: chosen, Catalog: addOns})
			require.Empty(t, problems)
			text, err := json.Marshal(want)
			require.NoError(t, err)
			require.NotContains(t, string(text), "null")
			var got composition.Composition
			require.NoError(t, json.Unmarshal(text, &got))
			require.Equal(t, want, got)
		}
	}
}

func TestTheAcmeRouteIsAlwaysReserved(t *testing.T) {
	c, problems := composition.Resolve(composition.Request{Template: template("base")})
	require.Empty(t, problems)
	require.Equal(t, []composition.ReservedRoute{
		{Route: "/.well-known/acme-challenge", ReservedBy: []composition.Ref{}},
	}, c.ReservedRoutes)
}

func TestOrder(t *testing.T) {
	cases := map[string]struct {
		addOns []manifest.Manifest
		want   []composition.Ref
	}{
		"ties by slug":                    {[]manifest.Manifest{addOn("c"), addOn("a"), addOn("b")}, refs("a", "b", "c")},
		"a named add-on first":            {[]manifest.Manifest{addOn("a", needsAddOns("z")), addOn("z"), addOn("b")}, refs("b", "z", "a")},
		"a chain":                         {[]manifest.Manifest{addOn("a", needsAddOns("b")), addOn("b", needsAddOns("c")), addOn("c")}, refs("c", "b", "a")},
		"all givers of a capability":      {[]manifest.Manifest{addOn("a", needs(container)), addOn("y", gives(container)), addOn("z", gives(container))}, refs("y", "z", "a")},
		"what is not there has no order":  {[]manifest.Manifest{addOn("a", needsAddOns("missing")), addOn("b")}, refs("a", "b")},
		"a circle opens at its slug":      {[]manifest.Manifest{addOn("c", needsAddOns("b")), addOn("b", needsAddOns("c")), addOn("a", needsAddOns("b"))}, refs("b", "a", "c")},
		"behind a circle":                 {[]manifest.Manifest{addOn("a", needsAddOns("c", "d")), addOn("c", needsAddOns("d")), addOn("d", needsAddOns("c"))}, refs("c", "d", "a")},
		"one giver opens a circle":        {[]manifest.Manifest{addOn("a", gives(paths), needsAddOns("b")), addOn("b", needs(paths)), addOn("z", gives(paths))}, refs("z", "b", "a")},
		"the same twice counts once":      {[]manifest.Manifest{addOn("a"), addOn("b"), addOn("a")}, refs("a", "b")},
		"an add-on may name what it owns": {[]manifest.Manifest{addOn("a", gives(container), needs(container)), addOn("b")}, refs("a", "b")},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, _ := composition.Resolve(composition.Request{Template: template("base"), AddOns: c.addOns})
			require.Equal(t, c.want, got.AddOns)
		})
	}
}

func TestSmallestSet(t *testing.T) {
	cases := map[string]struct {
		selected, catalog []manifest.Manifest
		want              []manifest.Capability
		set               []composition.Ref
		found             bool
	}{
		"nothing wanted":             {nil, []manifest.Manifest{addOn("a")}, nil, refs(), true},
		"there already":              {[]manifest.Manifest{addOn("a", gives(tls))}, nil, []manifest.Capability{tls}, refs(), true},
		"no supplier":                {nil, []manifest.Manifest{addOn("a", gives(paths))}, []manifest.Capability{tls}, refs(), false},
		"one for two capabilities":   {nil, []manifest.Manifest{addOn("a", gives(tls)), addOn("b", gives(paths)), addOn("c", gives(tls, paths))}, []manifest.Capability{tls, paths}, refs("c"), true},
		"ties by slug":               {nil, []manifest.Manifest{addOn("b", gives(tls)), addOn("a", gives(tls))}, []manifest.Capability{tls}, refs("a"), true},
		"fewer beats the first slug": {nil, []manifest.Manifest{addOn("a", gives(tls), needsAddOns("c")), addOn("b", gives(tls)), addOn("c")}, []manifest.Capability{tls}, refs("b"), true},
		"with what it requires":      {nil, []manifest.Manifest{addOn("a", gives(managed), needs(container)), addOn("z", gives(container))}, []manifest.Capability{managed}, refs("z", "a"), true},
		"a requirement nobody meets": {nil, []manifest.Manifest{addOn("a", gives(managed), needs(container))}, []manifest.Capability{managed}, refs(), false},
		"one that does not fit":      {nil, []manifest.Manifest{addOn("a", gives(tls), fitsOnly("other"))}, []manifest.Capability{tls}, refs(), false},
		"one that conflicts":         {[]manifest.Manifest{addOn("x")}, []manifest.Manifest{addOn("a", gives(tls), conflicts("x")), addOn("b", gives(tls))}, []manifest.Capability{tls}, refs("b"), true},
		"two that conflict":          {nil, []manifest.Manifest{addOn("a", gives(tls), needsAddOns("b")), addOn("b", conflicts("a"))}, []manifest.Capability{tls}, refs(), false},
		"the newest version":         {nil, []manifest.Manifest{addOn("a", gives(tls)), version(addOn("a"), "0.9.0"), version(addOn("a"), "1.0.0-rc.1")}, []manifest.Capability{tls}, refs("a"), true},
		"a circle":                   {nil, []manifest.Manifest{addOn("a", gives(tls), needsAddOns("b")), addOn("b", needsAddOns("a"))}, []manifest.Capability{tls}, refs("a", "b"), true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			set, found := composition.SmallestSet(composition.Request{
				Template: template("base"), AddOns: c.selected, Catalog: c.catalog,
			}, c.want...)
			require.Equal(t, c.found, found)
			require.Equal(t, c.set, set)
		})
	}
}
