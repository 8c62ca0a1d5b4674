package composition

import (
	"cmp"
	"slices"
	"strings"

	"biztraak.dev/vm/internal/catalog/manifest"
)

// acmeRoute is where certificate authorities look for proof of a domain
// (RFC 8555, 8.3). It is reserved on every machine, whatever is on it.
const acmeRoute = "/.well-known/acme-challenge"

// Request is what is to be resolved. Nothing in it is changed.
type Request struct {
	Template manifest.Manifest
	// AddOns may stand in any order. One that stands twice in the same
	// version counts once.
	AddOns []manifest.Manifest
	// Catalog holds the add-ons that may be offered for what is missing; of
	// several versions of one slug the newest counts.
	Catalog []manifest.Manifest
	// Provider is the kind of provider to run on; empty is not decided yet.
	Provider manifest.ProviderKind
	// Machine is how large the machine is to be; nil is not decided yet.
	Machine *Resources
}

// Resolve works out the composition and every problem with it. With problems
// the composition is a preview of what was asked for and must not be applied.
func Resolve(request Request) (Composition, []Problem) {
	s := newSelection(request)
	c := Composition{
		Template:       refOf(s.template),
		AddOns:         refsOf(s.ordered),
		BaseImages:     s.baseImages(),
		Capabilities:   s.givenCapabilities(),
		Missing:        s.missing(),
		ReservedRoutes: s.reservedRoutes(),
		RuntimePaths:   s.runtimePaths(),
		ApplyPlan:      s.applyPlan(),
		Least:          s.least(),
	}
	if spec := s.template.Template; spec != nil {
		c.DefaultShutdownTimer = spec.DefaultShutdownTimer
	}
	problems := slices.Concat(
		s.templateProblems(request.Provider),
		s.versionProblems(request.AddOns),
		s.fitProblems(),
		s.conflictProblems(),
		s.requirementProblems(),
		resourceProblems(c.Least, request.Machine),
	)
	sortProblems(problems)
	return c, problems
}

func (s *selection) baseImages() map[manifest.ProviderKind]string {
	images := map[manifest.ProviderKind]string{}
	if spec := s.template.Template; spec != nil {
		for kind, image := range spec.BaseImages {
			images[kind] = image
		}
	}
	return images
}

func (s *selection) givenCapabilities() []Given {
	given := []Given{}
	for _, capability := range manifest.Capabilities() {
		if givers := s.givers(capability); len(givers) > 0 {
			given = append(given, Given{Capability: capability, ProvidedBy: refsOf(givers)})
		}
	}
	return given
}

func (s *selection) missing() []Missing {
	missing := []Missing{}
	for _, capability := range manifest.Capabilities() {
		if len(s.givers(capability)) > 0 {
			continue
		}
		missing = append(missing, Missing{
			Capability:  capability,
			Suppliers:   refsOf(s.suppliers(capability)),
			SmallestSet: refsOf(s.smallestSet(wish{capabilities: []manifest.Capability{capability}})),
		})
	}
	return missing
}

func (s *selection) reservedRoutes() []ReservedRoute {
	routes := map[string]*ReservedRoute{acmeRoute: {Route: acmeRoute, ReservedBy: []Ref{}}}
	for _, item := range s.items() {
		for _, written := range item.Contribution().ReservedRoutes {
			route, err := manifest.NormalizeRoute(written)
			if err != nil {
				// Only an item that was never checked can have one; such a
				// route could not be taken by a workload either.
				continue
			}
			key := strings.ToLower(route)
			if routes[key] == nil {
				routes[key] = &ReservedRoute{Route: route}
			}
			routes[key].ReservedBy = append(routes[key].ReservedBy, refOf(item))
		}
	}
	sorted := make([]ReservedRoute, 0, len(routes))
	for _, route := range routes {
		sorted = append(sorted, *route)
	}
	slices.SortFunc(sorted, func(a, b ReservedRoute) int {
		return cmp.Compare(strings.ToLower(a.Route), strings.ToLower(b.Route))
	})
	return sorted
}

func (s *selection) runtimePaths() []RuntimePath {
	paths := []RuntimePath{}
	for _, item := range s.items() {
		for _, path := range item.Contribution().RuntimePaths {
			paths = append(paths, RuntimePath{RuntimePath: path, Owner: refOf(item)})
		}
	}
	slices.SortStableFunc(paths, func(a, b RuntimePath) int { return cmp.Compare(a.Name, b.Name) })
	return paths
}

func (s *selection) applyPlan() []PlannedStep {
	plan := []PlannedStep{}
	for _, item := range s.items() {
		for _, step := range item.Contribution().ApplySteps {
			plan = append(plan, PlannedStep{Owner: refOf(item), Step: step})
		}
	}
	return plan
}

func (s *selection) least() Resources {
	var least Resources
	if spec := s.template.Template; spec != nil {
		least = Resources{
			MilliCPU:    int64(spec.Least.CPU),
			MemoryBytes: int64(spec.Least.Memory),
			DiskBytes:   int64(spec.Least.Disk),
		}
	}
	for _, item := range s.ordered {
		if extra := item.AddOn.ExtraResources; extra != nil {
			least.MilliCPU += int64(extra.CPU)
			least.MemoryBytes += int64(extra.Memory)
			least.DiskBytes += int64(extra.Disk)
		}
	}
	return least
}
