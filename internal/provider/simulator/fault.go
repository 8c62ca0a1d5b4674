package simulator

import (
	"slices"
	"strings"

	"biztraak.dev/vm/internal/provider"
)

// SettingFault is the account setting that gives every machine of the account a
// fault, or several, separated by commas.
const SettingFault = "fault"

// Fault is a way in which a simulated machine goes wrong. A machine has a fault
// when its name holds it as whole words between dashes, or its account has it in
// SettingFault when the machine is created.
type Fault string

// The faults. Those marked "account" then also hit each call of the account.
const (
	// FaultCapacity refuses to create: provider.ClassCapacity.
	FaultCapacity Fault = "capacity"
	// FaultQuota refuses to create: provider.ClassQuota.
	FaultQuota Fault = "quota"
	// FaultCredentials refuses to create: provider.ClassCredentials. Account: every
	// call, Verify too.
	FaultCredentials Fault = "credentials"
	// FaultRateLimited answers the first two creates of one token with
	// provider.ClassRetryAfter, one second. Account: the first two calls.
	FaultRateLimited Fault = "rate-limited"
	// FaultTimeoutAfterCreate creates the machine and loses the answer:
	// provider.ClassUnclear. The machine stays invisible for the visibility delay.
	FaultTimeoutAfterCreate Fault = "timeout-after-create"
	// FaultSlowBoot makes every boot take a minute.
	FaultSlowBoot Fault = "slow-boot"
	// FaultBootCrash ends every boot half-way, in provider.StateError.
	FaultBootCrash Fault = "boot-crash"
	// FaultLost makes the machine vanish five seconds after it first runs.
	FaultLost Fault = "lost"
	// FaultStopFails accepts each stop; then the machine runs on, with a fault in
	// its observation.
	FaultStopFails Fault = "stop-fails"
	// FaultStartFails accepts each start; then the machine is stopped as before,
	// with a fault in its observation.
	FaultStartFails Fault = "start-fails"
	// FaultLocked refuses each start, stop, restart and destroy for two seconds
	// from the first asking: provider.ClassConflict.
	FaultLocked Fault = "locked"
	// FaultUnhealthyDeploy concerns workloads, not machines: the driver only keeps
	// it on record.
	FaultUnhealthyDeploy Fault = "unhealthy-deploy"
)

// Faults lists all faults.
func Faults() []Fault {
	return []Fault{
		FaultCapacity, FaultQuota, FaultCredentials, FaultRateLimited, FaultTimeoutAfterCreate, FaultSlowBoot,
		FaultBootCrash, FaultLost, FaultStopFails, FaultStartFails, FaultLocked, FaultUnhealthyDeploy,
	}
}

// accountFaults reads SettingFault. An unknown word is an error, so that a typing
// mistake does not pass for a healthy cloud.
func accountFaults(account provider.Account) ([]Fault, error) {
	var faults []Fault
	for word := range strings.SplitSeq(account.Settings[SettingFault], ",") {
		fault := Fault(strings.TrimSpace(word))
		if fault == "" {
			continue
		}
		if !slices.Contains(Faults(), fault) {
			return nil, bug("FAULT_UNKNOWN", "the simulator knows no fault of this name: "+string(fault))
		}
		faults = append(faults, fault)
	}
	return faults, nil
}

// nameFaults reads the faults out of the name of a machine.
func nameFaults(name string) []Fault {
	padded := "-" + name + "-"
	return slices.DeleteFunc(Faults(), func(fault Fault) bool {
		return !strings.Contains(padded, "-"+string(fault)+"-")
	})
}
