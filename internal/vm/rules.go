package vm

import (
	"fmt"

	"biztraak.dev/vm/internal/fault"
)

func notFound(path []string, what string) fault.Refusals {
	return fault.Refuse(fault.NotFound, path, "there is no %s with this id that you can see; check the id", what)
}

func featureDisabled(path []string) fault.Refusals {
	return fault.Refuse(fault.FeatureDisabled, path,
		"provisioning, starting and restarting are switched off on this installation (DEPLOY_VM_ENABLED). Ask its operator; stop, destroy and cancel still work.")
}

func stale(current int) fault.Refusals {
	return fault.Refusals{{
		Code: fault.StaleVersion, Path: fault.Input("expectedVersion"), Detail: fault.StaleAt{Current: current},
		Message: fmt.Sprintf("the object has changed meanwhile and is at version %d now. Read it again and repeat.", current),
	}}
}
