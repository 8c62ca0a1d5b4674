package composition

import (
	"fmt"

	"biztraak.dev/vm/internal/catalog/manifest"
)

// resourceProblems compares a machine with what the composition needs; one
// problem for each resource that is too small.
func resourceProblems(least Resources, machine *Resources) []Problem {
	if machine == nil {
		return nil
	}
	var problems []Problem
	check := func(name string, have, need int64, text func(int64) string) {
		if have >= need {
			return
		}
		problems = append(problems, Problem{
			Code: CodeResourcesTooSmall,
			Path: []string{"resources", name},
			Message: fmt.Sprintf("%s is %s, and the template and its add-ons need %s; give at least that or remove add-ons",
				name, text(have), text(need)),
		})
	}
	check("cpu", machine.MilliCPU, least.MilliCPU, func(n int64) string { return manifest.MilliCPU(n).String() })
	check("memory", machine.MemoryBytes, least.MemoryBytes, bytesText)
	check("disk", machine.DiskBytes, least.DiskBytes, bytesText)
	return problems
}

// bytesText does not round: "512Mi is too small for 512Mi" explains nothing.
func bytesText(n int64) string {
	if n%int64(manifest.MiB) != 0 {
		return fmt.Sprintf("%d bytes", n)
	}
	return manifest.ByteSize(n).String()
}
