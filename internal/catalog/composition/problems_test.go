package composition_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/catalog/composition"
	"biztraak.dev/vm/internal/catalog/manifest"
)

func file(path, content string) manifest.Step {
	return manifest.Step{Name: "write " + path, Files: []manifest.File{{Path: path, Owner: "root", Mode: "0644", Content: content}}}
}

func unit(name string, state manifest.UnitState) manifest.Step {
	return manifest.Step{Name: "set " + name, Units: []manifest.Unit{{Name: name, State: state, Enabled: true}}}
}

func TestProblems(t *testing.T) {
	base := template("base")
	baseRef := composition.Ref{Kind: manifest.KindTemplate, Slug: "base", Version: "1.0.0"}
	cases := map[string]struct {
		request composition.Request
		want    composition.Problem
	}{
		"template has no image": {
			composition.Request{Template: base, Provider: manifest.ProviderHetzner},
			composition.Problem{
				Code: composition.CodeTemplateNotFitting, Path: []string{"template"}, Item: baseRef,
				Message: "base has no image for HETZNER, only for SIMULATOR, EC2; choose another template or another cloud account",
			},
		},
		"template is an add-on": {
			composition.Request{Template: addOn("a")},
			composition.Problem{
				Code: composition.CodeTemplateNotFitting, Path: []string{"template"}, Item: ref("a"),
				Message: "a is no VM template; choose one",
			},
		},
		"add-on is a template": {
			composition.Request{Template: base, AddOns: []manifest.Manifest{template("t")}},
			composition.Problem{
				Code: composition.CodeAddOnNotFitting, Path: []string{"addOns", "t"},
				Item:    composition.Ref{Kind: manifest.KindTemplate, Slug: "t", Version: "1.0.0"},
				Message: "t is no add-on pack; remove it",
			},
		},
		"add-on does not fit": {
			composition.Request{Template: base, AddOns: []manifest.Manifest{addOn("a", fitsOnly("x", "y"))}},
			composition.Problem{
				Code: composition.CodeAddOnNotFitting, Path: []string{"addOns", "a"}, Item: ref("a"),
				Message: "a does not fit the template base, only x, y; remove it or choose such a template",
			},
		},
		"two versions": {
			composition.Request{Template: base, AddOns: []manifest.Manifest{addOn("a"), version(addOn("a"), "1.0.0-rc.1")}},
			composition.Problem{
				Code: composition.CodeAddOnConflicts, Path: []string{"addOns", "a"}, Item: ref("a"),
				Others:  []composition.Ref{{Kind: manifest.KindAddOn, Slug: "a", Version: "1.0.0-rc.1"}},
				Message: "a is asked for more than once, differently: a@1.0.0-rc.1, a@1.0.0; keep one of them",
			},
		},
		"add-ons conflict by name": {
			composition.Request{Template: base, AddOns: []manifest.Manifest{addOn("b", conflicts("a")), addOn("a")}},
			conflict("a", ref("b"), "a and b cannot be on one machine: b conflicts with a; remove a or b"),
		},
		"both name the conflict": {
			composition.Request{Template: base, AddOns: []manifest.Manifest{addOn("b", conflicts("a")), addOn("a", conflicts("b"))}},
			conflict("a", ref("b"), "a and b cannot be on one machine: a conflicts with b, b conflicts with a; remove a or b"),
		},
		"add-on conflicts with the template": {
			composition.Request{Template: base, AddOns: []manifest.Manifest{addOn("z", conflicts("base"))}},
			conflict("z", baseRef, "z and base cannot be on one machine: z conflicts with base; remove z or choose another template"),
		},
		"the same file, differently": {
			composition.Request{Template: base, AddOns: []manifest.Manifest{addOn("a", steps(file("/etc/x", "1"))), addOn("b", steps(file("/etc/x", "2")))}},
			conflict("a", ref("b"), "a and b cannot be on one machine: they want /etc/x to be different; remove a or b"),
		},
		"the same unit, differently": {
			composition.Request{Template: base, AddOns: []manifest.Manifest{
				addOn("a", steps(unit("x.service", manifest.UnitRunning))), addOn("b", steps(unit("x.service", manifest.UnitStopped))),
			}},
			conflict("a", ref("b"), "a and b cannot be on one machine: they want the unit x.service in different states; remove a or b"),
		},
		"the same port and name": {
			composition.Request{Template: base, AddOns: []manifest.Manifest{addOn("a", path("web", 8080)), addOn("b", path("web", 8080))}},
			conflict("a", ref("b"), `a and b cannot be on one machine: both have a runtime path named "web", both listen on port 8080; remove a or b`),
		},
		"a required capability with suppliers": {
			composition.Request{
				Template: base, AddOns: []manifest.Manifest{addOn("a", needs(container))},
				Catalog: []manifest.Manifest{addOn("podman", gives(container), needsAddOns("net")), addOn("docker", gives(container)), addOn("net")},
			},
			composition.Problem{
				Code: composition.CodeAddOnRequires, Path: []string{"addOns", "a"}, Item: ref("a"),
				Capability: container, Suppliers: refs("docker", "podman"), Add: refs("docker"),
				Message: "a requires HOSTED_CONTAINER_RUNTIME; add docker@1.0.0",
			},
		},
		"a required add-on with what it requires": {
			composition.Request{
				Template: base, AddOns: []manifest.Manifest{addOn("a", needsAddOns("b"))},
				Catalog: []manifest.Manifest{addOn("b", needsAddOns("c")), addOn("c")},
			},
			composition.Problem{
				Code: composition.CodeAddOnRequires, Path: []string{"addOns", "a"}, Item: ref("a"),
				Suppliers: refs("b"), Add: refs("c", "b"),
				Message: "a requires the add-on b; add c@1.0.0, b@1.0.0",
			},
		},
		"a requirement that nothing meets": {
			composition.Request{
				Template: base, AddOns: []manifest.Manifest{addOn("a", needs(container))},
				Catalog: []manifest.Manifest{addOn("docker", gives(container), conflicts("a"))},
			},
			composition.Problem{
				Code: composition.CodeAddOnRequires, Path: []string{"addOns", "a"}, Item: ref("a"),
				Capability: container, Suppliers: refs(), Add: refs(),
				Message: "a requires HOSTED_CONTAINER_RUNTIME; no add-on that goes with the rest gives it: remove a or choose another template",
			},
		},
		"memory too small": {
			composition.Request{Template: base, Machine: &composition.Resources{MilliCPU: 1000, MemoryBytes: 1<<30 - 1, DiskBytes: 10 << 30}},
			composition.Problem{
				Code: composition.CodeResourcesTooSmall, Path: []string{"resources", "memory"},
				Message: "memory is 1073741823 bytes, and the template and its add-ons need 1Gi; give at least that or remove add-ons",
			},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, problems := composition.Resolve(c.request)
			require.Equal(t, []composition.Problem{c.want}, problems)
		})
	}
}

func conflict(slug string, other composition.Ref, message string) composition.Problem {
	return composition.Problem{
		Code: composition.CodeAddOnConflicts, Path: []string{"addOns", slug}, Item: ref(slug),
		Others: []composition.Ref{other}, Message: message,
	}
}

func TestTheSameWishIsNoConflict(t *testing.T) {
	_, problems := composition.Resolve(composition.Request{Template: template("base"), AddOns: []manifest.Manifest{
		addOn("a", steps(file("/etc/x", "1"), unit("x.service", manifest.UnitRunning))),
		addOn("b", steps(file("/etc/x", "1"), unit("x.service", manifest.UnitRunning))),
	}})
	require.Empty(t, problems)
}

func TestTheTemplateMeetsARequirement(t *testing.T) {
	base := template("base", func(s *manifest.TemplateSpec) { s.Capabilities = []manifest.Capability{container} })
	_, problems := composition.Resolve(composition.Request{Template: base, AddOns: []manifest.Manifest{addOn("a", needs(container))}})
	require.Empty(t, problems)
}

func TestAllProblemsAtOnceInOneOrder(t *testing.T) {
	request := composition.Request{
		Template: template("base"),
		AddOns: []manifest.Manifest{
			addOn("d", needs(managed), needsAddOns("missing")), addOn("c", fitsOnly("other"), conflicts("b")), addOn("b"),
		},
		Provider: manifest.ProviderLibvirt,
		Machine:  &composition.Resources{},
	}
	_, problems := composition.Resolve(request)
	var got []string
	for _, p := range problems {
		got = append(got, string(p.Code)+" "+p.Path[len(p.Path)-1])
	}
	require.Equal(t, []string{
		"TEMPLATE_NOT_FITTING template",
		"ADD_ON_CONFLICTS b",
		"ADD_ON_NOT_FITTING c",
		"ADD_ON_REQUIRES d",
		"ADD_ON_REQUIRES d",
		"RESOURCES_TOO_SMALL cpu",
		"RESOURCES_TOO_SMALL disk",
		"RESOURCES_TOO_SMALL memory",
	}, got)
}
