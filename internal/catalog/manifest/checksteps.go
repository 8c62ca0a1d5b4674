package manifest

import (
	"fmt"
	"path"
	"strconv"
	"strings"
)

// steps looks for steps that would undo each other on every run, and for files
// that an item must not own.
func (c *checker) steps(steps []Step) {
	names, files, units := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for i, step := range steps {
		at := strconv.Itoa(i)
		if names[step.Name] {
			c.report(CodeDuplicate, fmt.Sprintf("another step is named %q", step.Name), "applySteps", at, "name")
		}
		names[step.Name] = true
		for j, file := range step.Files {
			where := []string{"applySteps", at, "files", strconv.Itoa(j), "path"}
			if reason := forbiddenPath(file.Path); reason != "" {
				c.report(CodeForbiddenPath, fmt.Sprintf("%s %s", file.Path, reason), where...)
			}
			if files[file.Path] {
				c.report(CodeDuplicate, fmt.Sprintf("%s is written twice", file.Path), where...)
			}
			files[file.Path] = true
		}
		for j, unit := range step.Units {
			if units[unit.Name] {
				c.report(CodeDuplicate, fmt.Sprintf("%s has a state already", unit.Name),
					"applySteps", at, "units", strconv.Itoa(j), "name")
			}
			units[unit.Name] = true
		}
	}
}

// forbiddenPath says why a file may not stand there; empty means it may.
func forbiddenPath(file string) string {
	if path.Clean(file) != file {
		return "is not a clean path: no '.', '..', repeated or trailing slash"
	}
	for _, folder := range []string{"/dev", "/proc", "/sys", "/run", "/tmp"} {
		if strings.HasPrefix(file, folder+"/") {
			return "would be gone after a restart"
		}
	}
	// The way in is the platform's: a mistake there locks it out, and an item
	// that wrote keys there could let others in.
	for _, prefix := range []string{"/etc/ssh/", "/etc/sudoers", "/root/.ssh/", "/home/" + GuestUser + "/.ssh/"} {
		if strings.HasPrefix(file, prefix) {
			return "belongs to the platform's way into the machine"
		}
	}
	return ""
}
