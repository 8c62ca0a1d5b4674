package composition_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"biztraak.dev/vm/internal/catalog/composition"
	"biztraak.dev/vm/internal/catalog/manifest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// ordersPerCheck times the 100 checks of rapid gives 1,000 random orders.
const ordersPerCheck = 10

// TestEveryOrderIsTheSame also shuffles invented add-ons that require each
// other in every way, in circles too.
func TestEveryOrderIsTheSame(t *testing.T) {
	templates, real := builtins(t)
	rapid.Check(t, func(t *rapid.T) {
		catalog := slices.Concat(real, invented(t))
		request := composition.Request{
			Template: rapid.SampledFrom(templates).Draw(t, "template"),
			AddOns:   rapid.SliceOfDistinct(rapid.SampledFrom(catalog), slugOf).Draw(t, "add-ons"),
			Catalog:  catalog,
		}
		want := everything(t, request)
		for range ordersPerCheck {
			request.AddOns = rapid.Permutation(request.AddOns).Draw(t, "order")
			request.Catalog = rapid.Permutation(request.Catalog).Draw(t, "catalog order")
			require.Equal(t, want, everything(t, request))
		}
	})
}

// everything is all that a machine is made of, as text.
func everything(t *rapid.T, request composition.Request) string {
	c, problems := composition.Resolve(request)
	text, err := json.MarshalIndent([]any{c, problems}, "", " ")
	require.NoError(t, err)
	config, err := composition.CloudConfig(input())
	require.NoError(t, err)
	return string(text) + string(config)
}

// TestWhatIsRequiredComesFirst holds wherever no circle makes it impossible.
func TestWhatIsRequiredComesFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		items := invented(t)
		for i := range items {
			// Names of earlier items only: no circles.
			r := requires(items[i].AddOn)
			r.AddOns = slices.DeleteFunc(r.AddOns, func(slug string) bool { return slug >= items[i].Metadata.Slug })
			r.Capabilities = nil
		}
		c, _ := composition.Resolve(composition.Request{Template: template("base"), AddOns: items})
		place := map[string]int{}
		for i, r := range c.AddOns {
			place[r.Slug] = i
		}
		require.Len(t, place, len(items))
		for _, item := range items {
			for _, slug := range item.AddOn.Requires.AddOns {
				if before, there := place[slug]; there {
					require.Less(t, before, place[item.Metadata.Slug])
				}
			}
		}
	})
}

// TestFollowingTheAdviceHelps adds what a problem says and expects the problem
// to be gone and nothing new to be required.
func TestFollowingTheAdviceHelps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		catalog := invented(t)
		request := composition.Request{
			Template: template("base"),
			AddOns:   rapid.SliceOfDistinct(rapid.SampledFrom(catalog), slugOf).Draw(t, "add-ons"),
			Catalog:  catalog,
		}
		_, problems := composition.Resolve(request)
		for _, problem := range problems {
			if len(problem.Add) == 0 {
				continue
			}
			after := request
			after.AddOns = slices.Clone(request.AddOns)
			for _, r := range problem.Add {
				at := slices.IndexFunc(catalog, func(m manifest.Manifest) bool { return slugOf(m) == r.Slug })
				after.AddOns = append(after.AddOns, catalog[at])
			}
			_, left := composition.Resolve(after)
			require.Less(t, len(left), len(problems))
			for _, other := range left {
				require.NotEqual(t, problem.Message, other.Message)
			}
		}
	})
}

// invented draws up to ten add-ons with random requirements and gifts.
func invented(t *rapid.T) []manifest.Manifest {
	count := rapid.IntRange(1, 10).Draw(t, "invented")
	names := make([]string, count)
	for i := range names {
		names[i] = fmt.Sprintf("x%d", i)
	}
	some := func(label string) []manifest.Capability {
		return rapid.SliceOfNDistinct(rapid.SampledFrom(manifest.Capabilities()), 0, 2, rapid.ID[manifest.Capability]).Draw(t, label)
	}
	items := make([]manifest.Manifest, 0, count)
	for _, name := range names {
		items = append(items, addOn(name,
			gives(some("gives")...),
			needs(some("needs")...),
			needsAddOns(rapid.SliceOfNDistinct(rapid.SampledFrom(names), 0, 2, rapid.ID[string]).Draw(t, "needs add-ons")...),
		))
	}
	return items
}

func slugOf(m manifest.Manifest) string { return m.Metadata.Slug }

func BenchmarkResolve12AddOns(b *testing.B) {
	templates, addOns := builtins(b)
	for i := range 4 {
		addOns = append(addOns, addOn(fmt.Sprintf("extra-%d", i), needsAddOns("docker"), path(fmt.Sprintf("extra-%d", i), 20000+i)))
	}
	request := composition.Request{Template: templates[0], AddOns: addOns, Catalog: addOns}
	b.ReportAllocs()
	for b.Loop() {
		if _, problems := composition.Resolve(request); len(problems) > 0 {
			b.Fatal(problems)
		}
	}
}

// BenchmarkResolveHostileCatalog: many suppliers that all require more, so
// that the search for the smallest set has the most to try.
func BenchmarkResolveHostileCatalog(b *testing.B) {
	var catalog []manifest.Manifest
	for i := range 200 {
		give := manifest.Capabilities()[i%5]
		need := manifest.Capabilities()[(i+1)%5]
		catalog = append(catalog, addOn(fmt.Sprintf("a%03d", i), gives(give), needs(need)))
	}
	request := composition.Request{Template: template("base"), Catalog: catalog}
	b.ReportAllocs()
	for b.Loop() {
		composition.Resolve(request)
	}
}
