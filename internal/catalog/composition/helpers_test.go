package composition_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/catalog/builtin"
	"biztraak.dev/vm/internal/catalog/composition"
	"biztraak.dev/vm/internal/catalog/manifest"
)

func template(slug string, change ...func(*manifest.TemplateSpec)) manifest.Manifest {
	spec := &manifest.TemplateSpec{
		BaseImages: map[manifest.ProviderKind]string{manifest.ProviderSimulator: "debian-12", manifest.ProviderEC2: "debian-*"},
		Least:      manifest.LeastResources{CPU: 1000, Memory: manifest.GiB, Disk: 10 * manifest.GiB},
	}
	for _, c := range change {
		c(spec)
	}
	return manifest.Manifest{
		APIVersion: manifest.APIVersion, Kind: manifest.KindTemplate, Template: spec,
		Metadata: manifest.Metadata{Slug: slug, Version: "1.0.0", Name: slug},
	}
}

func addOn(slug string, change ...func(*manifest.AddOnSpec)) manifest.Manifest {
	spec := &manifest.AddOnSpec{}
	for _, c := range change {
		c(spec)
	}
	return manifest.Manifest{
		APIVersion: manifest.APIVersion, Kind: manifest.KindAddOn, AddOn: spec,
		Metadata: manifest.Metadata{Slug: slug, Version: "1.0.0", Name: slug},
	}
}

func version(m manifest.Manifest, v string) manifest.Manifest {
	m.Metadata.Version = v
	return m
}

func gives(capabilities ...manifest.Capability) func(*manifest.AddOnSpec) {
	return func(s *manifest.AddOnSpec) { s.Capabilities = capabilities }
}

func needs(capabilities ...manifest.Capability) func(*manifest.AddOnSpec) {
	return func(s *manifest.AddOnSpec) { requires(s).Capabilities = capabilities }
}

func needsAddOns(slugs ...string) func(*manifest.AddOnSpec) {
	return func(s *manifest.AddOnSpec) { requires(s).AddOns = slugs }
}

func requires(s *manifest.AddOnSpec) *manifest.Requires {
	if s.Requires == nil {
		s.Requires = &manifest.Requires{}
	}
	return s.Requires
}

func conflicts(slugs ...string) func(*manifest.AddOnSpec) {
	return func(s *manifest.AddOnSpec) { s.ConflictsWith = slugs }
}

func fitsOnly(slugs ...string) func(*manifest.AddOnSpec) {
	return func(s *manifest.AddOnSpec) { s.Fits = slugs }
}

func routes(paths ...string) func(*manifest.AddOnSpec) {
	return func(s *manifest.AddOnSpec) { s.ReservedRoutes = paths }
}

func steps(steps ...manifest.Step) func(*manifest.AddOnSpec) {
	return func(s *manifest.AddOnSpec) { s.ApplySteps = steps }
}

func path(name string, port int) func(*manifest.AddOnSpec) {
	return func(s *manifest.AddOnSpec) {
		s.RuntimePaths = append(s.RuntimePaths, manifest.RuntimePath{
			Name: name, Kind: manifest.RuntimeApp, Port: port, Protocol: manifest.ProtocolHTTP, Path: "/",
		})
	}
}

func ref(slug string) composition.Ref {
	return composition.Ref{Kind: manifest.KindAddOn, Slug: slug, Version: "1.0.0"}
}

func refs(slugs ...string) []composition.Ref {
	found := []composition.Ref{}
	for _, slug := range slugs {
		found = append(found, ref(slug))
	}
	return found
}

func builtins(t testing.TB) (templates, addOns []manifest.Manifest) {
	t.Helper()
	items, err := builtin.Load()
	require.NoError(t, err)
	for _, item := range items {
		if item.Kind == manifest.KindTemplate {
			templates = append(templates, item)
		} else {
			addOns = append(addOns, item)
		}
	}
	return templates, addOns
}
