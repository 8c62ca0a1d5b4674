package manifest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxShutdownTimer is the longest that a shutdown timer may be set ahead.
const maxShutdownTimer = 30 * day

// Check applies the rules for publishing to a manifest that [Parse] returned
// and gives everything that it breaks, in the order of the fields. Lines are
// not known here.
func Check(m Manifest) []Problem {
	c := &checker{}
	contribution := m.Contribution()
	c.runtime(m)
	if m.Template != nil && time.Duration(m.Template.DefaultShutdownTimer) > maxShutdownTimer {
		c.report(CodeTimerTooLong,
			fmt.Sprintf("%s is more than 30 days", m.Template.DefaultShutdownTimer), "defaultShutdownTimer")
	}
	if m.AddOn != nil {
		c.addOn(m.Metadata.Slug, m.AddOn)
	}
	c.steps(contribution.ApplySteps)
	c.routes(contribution.ReservedRoutes)
	c.runtimePaths(contribution.RuntimePaths)
	return c.problems
}

type checker struct {
	problems []Problem
}

func (c *checker) report(code Code, message string, path ...string) {
	c.problems = append(c.problems, Problem{Code: code, Path: append([]string{"spec"}, path...), Message: message})
}

// runtime keeps the promise of managed deploy: whoever gives it also sees to
// the engine that runs what is deployed.
func (c *checker) runtime(m Manifest) {
	given := m.Contribution().Capabilities
	if !slices.Contains(given, ManagedHostedWorkloadDeploy) || slices.Contains(given, HostedContainerRuntime) {
		return
	}
	if m.AddOn == nil {
		c.report(CodeRuntimeRequired,
			"a template that gives MANAGED_HOSTED_WORKLOAD_DEPLOY must give HOSTED_CONTAINER_RUNTIME too", "capabilities")
		return
	}
	if r := m.AddOn.Requires; r == nil || !slices.Contains(r.Capabilities, HostedContainerRuntime) {
		c.report(CodeRuntimeRequired,
			"an add-on that gives MANAGED_HOSTED_WORKLOAD_DEPLOY must give HOSTED_CONTAINER_RUNTIME or name it in requires.capabilities", "capabilities")
	}
}

func (c *checker) addOn(slug string, spec *AddOnSpec) {
	if slices.Contains(spec.ConflictsWith, slug) {
		c.report(CodeContradiction, "an add-on cannot conflict with itself", "conflictsWith")
	}
	for _, fits := range spec.Fits {
		if slices.Contains(spec.ConflictsWith, fits) {
			c.report(CodeContradiction, fmt.Sprintf("%q is in conflictsWith too", fits), "fits")
		}
	}
	if spec.Requires == nil {
		return
	}
	for _, required := range spec.Requires.AddOns {
		switch {
		case required == slug:
			c.report(CodeContradiction, "an add-on cannot require itself", "requires", "addOns")
		case slices.Contains(spec.ConflictsWith, required):
			c.report(CodeContradiction, fmt.Sprintf("%q is in conflictsWith too", required), "requires", "addOns")
		}
	}
	for _, required := range spec.Requires.Capabilities {
		if slices.Contains(spec.Capabilities, required) {
			c.report(CodeContradiction, fmt.Sprintf("the add-on itself gives %s", required), "requires", "capabilities")
		}
	}
}

// routes also refuses what normalizes to a route that stands already.
func (c *checker) routes(routes []string) {
	seen := map[string]bool{}
	for i, route := range routes {
		normal, err := NormalizeRoute(route)
		if err != nil {
			c.report(CodeRouteInvalid, err.Error(), "reservedRoutes", strconv.Itoa(i))
			continue
		}
		// Routes are compared without regard to case, as the proxy does.
		key := strings.ToLower(normal)
		if seen[key] {
			c.report(CodeDuplicate, fmt.Sprintf("%s stands a second time", normal), "reservedRoutes", strconv.Itoa(i))
		}
		seen[key] = true
	}
}

func (c *checker) runtimePaths(paths []RuntimePath) {
	names, ports := map[string]bool{}, map[int]bool{}
	for i, path := range paths {
		at := strconv.Itoa(i)
		if names[path.Name] {
			c.report(CodeDuplicate, fmt.Sprintf("another runtime path is named %q", path.Name), "runtimePaths", at, "name")
		}
		if ports[path.Port] {
			c.report(CodeDuplicate, fmt.Sprintf("another runtime path has the port %d", path.Port), "runtimePaths", at, "port")
		}
		names[path.Name], ports[path.Port] = true, true
	}
}
