package composition

import (
	"slices"

	"biztraak.dev/vm/internal/catalog/manifest"
)

// Composition is what a template and its add-ons resolve to. It is made to be
// kept as JSON: no field is a null list and equal compositions are equal text.
type Composition struct {
	Template Ref `json:"template"`
	// AddOns stand in the order in which they are applied: what is required
	// first, ties by slug.
	AddOns []Ref `json:"addOns"`
	// BaseImages are the template's.
	BaseImages map[manifest.ProviderKind]string `json:"baseImages"`
	// Capabilities are those that some item gives, in the order of
	// [manifest.Capabilities].
	Capabilities []Given `json:"capabilities"`
	// Missing are the others.
	Missing []Missing `json:"missing"`
	// ReservedRoutes are in the order of their text without regard to case.
	ReservedRoutes []ReservedRoute `json:"reservedRoutes"`
	// RuntimePaths are in the order of their names.
	RuntimePaths []RuntimePath `json:"runtimePaths"`
	// ApplyPlan is the template's steps, then those of each add-on.
	ApplyPlan []PlannedStep `json:"applyPlan"`
	// Least is the template's least plus the extras of all add-ons.
	Least Resources `json:"least"`
	// DefaultShutdownTimer is the template's; absent where it has none.
	DefaultShutdownTimer manifest.Duration `json:"defaultShutdownTimer,omitempty"`
}

// Ref names one version of a store item.
type Ref struct {
	Kind    manifest.Kind `json:"kind"`
	Slug    string        `json:"slug"`
	Version string        `json:"version"`
}

// Given is a capability with all the items that give it: removing one of two
// givers takes nothing away.
type Given struct {
	Capability manifest.Capability `json:"capability"`
	ProvidedBy []Ref               `json:"providedBy"`
}

// Missing is a capability that no item gives.
type Missing struct {
	Capability manifest.Capability `json:"capability"`
	// Suppliers are the add-ons of the catalog that give it and could be
	// added, by slug.
	Suppliers []Ref `json:"suppliers"`
	// SmallestSet is the least number of add-ons that supplies it together
	// with all that they require, in the order of applying them; empty where
	// the catalog has none.
	SmallestSet []Ref `json:"smallestSet"`
}

// ReservedRoute is a path prefix of the VM's default site that no workload may
// take, normalized. Equal, below and above it all clash.
type ReservedRoute struct {
	Route string `json:"route"`
	// ReservedBy is empty where the platform itself reserves it.
	ReservedBy []Ref `json:"reservedBy"`
}

// RuntimePath is a way into the guest for a browser session and the item that
// brings it.
type RuntimePath struct {
	manifest.RuntimePath
	Owner Ref `json:"owner"`
}

// PlannedStep is one step of the apply plan and the item that it comes from.
type PlannedStep struct {
	Owner Ref           `json:"owner"`
	Step  manifest.Step `json:"step"`
}

// Resources are amounts of a machine; zero is nothing.
type Resources struct {
	MilliCPU    int64 `json:"milliCpu"`
	MemoryBytes int64 `json:"memoryBytes"`
	DiskBytes   int64 `json:"diskBytes"`
}

// Gives reports whether some item gives the capability.
func (c Composition) Gives(capability manifest.Capability) bool {
	return slices.ContainsFunc(c.Capabilities, func(g Given) bool { return g.Capability == capability })
}

// String is "slug@version", for messages.
func (r Ref) String() string {
	return r.Slug + "@" + r.Version
}

func refOf(m *manifest.Manifest) Ref {
	return Ref{Kind: m.Kind, Slug: m.Metadata.Slug, Version: m.Metadata.Version}
}

func refsOf(items []*manifest.Manifest) []Ref {
	refs := make([]Ref, 0, len(items))
	for _, item := range items {
		refs = append(refs, refOf(item))
	}
	return refs
}
