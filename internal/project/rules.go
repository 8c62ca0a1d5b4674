package project

import (
	"fmt"

	"biztraak.dev/vm/internal/fault"
	"biztraak.dev/vm/internal/ident"
)

// mostUsers is how many components a refusal to delete a project names.
const mostUsers = 25

func notFound(path []string, what string) fault.Refusals {
	return fault.Refuse(fault.NotFound, path, "there is no %s with this id that you can see; check the id", what)
}

func nameTaken(name string) fault.Refusals {
	return fault.Refuse(fault.NameTaken, fault.Input("name"),
		"a project of this team is called %q already, regardless of case; choose another name", name)
}

// checkVersion refuses a change of another version than the one the caller saw.
func checkVersion(current int, expected *int) fault.Refusals {
	if expected == nil || *expected == current {
		return nil
	}
	return fault.Refusals{{
		Code: fault.StaleVersion, Path: fault.Input("expectedVersion"), Detail: fault.StaleAt{Current: current},
		Message: fmt.Sprintf("the project has changed meanwhile and is at version %d now. Read it again and repeat.", current),
	}}
}

// checkEmpty refuses to delete what still has components.
func checkEmpty(components []ident.ID) fault.Refusals {
	if len(components) == 0 {
		return nil
	}
	message := fmt.Sprintf("the project still has %d component(s). Delete them first.", len(components))
	if len(components) > mostUsers {
		components = components[:mostUsers]
		message = fmt.Sprintf("the project still has more than %d components. Delete them first.", mostUsers)
	}
	return fault.Refusals{{
		Code: fault.InUse, Path: fault.Input("projectId"), Detail: fault.UsedBy{IDs: components}, Message: message,
	}}
}
