// Package providertest is the one conformance suite that every cloud driver
// passes: life cycle, idempotence, lost answers, twins, changes from outside,
// classes of errors, cancellation and secrecy.
//
// It knows the driver interface and nothing of any cloud. What a cloud has to be
// talked into (a lost answer, a full region) comes in as Faults; one that a driver
// cannot produce has to be named with the reason, and is reported as skipped.
package providertest

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/provider"
)

// Harness is a driver under test.
type Harness struct {
	Driver provider.Driver
	// Account works, and its credentials are not empty.
	Account provider.Account
	// Spec makes a valid spec with a client token and an owner of its own.
	Spec func(name string) provider.Spec
	// Patience bounds each wait for the cloud.
	Patience time.Duration
	// Tick is the time between two looks at it.
	Tick   time.Duration
	Faults Faults
	// Unsupported gives the reason for each of Faults that is nil, by the name of
	// its field.
	Unsupported map[string]string
}

// Case is a create that runs into a fault.
type Case struct {
	Account provider.Account
	Spec    provider.Spec
}

// Faults make the cloud misbehave, for the test that asks only.
type Faults struct {
	// RetryAfter: the first creates are refused with a time to wait, a later one
	// is not.
	RetryAfter func(t *testing.T) Case
	// Capacity, Quota and Credentials refuse the create.
	Capacity    func(t *testing.T) Case
	Quota       func(t *testing.T) Case
	Credentials func(t *testing.T) Case
	// LostAnswer: the create makes an instance and its answer is lost.
	LostAnswer func(t *testing.T) Case
	// Locked: the first stop of the instance is a conflict.
	Locked func(t *testing.T) Case
	// PowerOff and Remove act on an instance behind the driver's back.
	PowerOff func(t *testing.T, account provider.Account, ref provider.Ref)
	Remove   func(t *testing.T, account provider.Account, ref provider.Ref)
}

// missing tells for each fault, by name, whether there is none.
func (f Faults) missing() map[string]bool {
	return map[string]bool{
		"RetryAfter": f.RetryAfter == nil, "Capacity": f.Capacity == nil, "Quota": f.Quota == nil,
		"Credentials": f.Credentials == nil, "LostAnswer": f.LostAnswer == nil, "Locked": f.Locked == nil,
		"PowerOff": f.PowerOff == nil, "Remove": f.Remove == nil,
	}
}

// check refuses a harness that would leave something out in silence.
func (h Harness) check(t *testing.T) {
	t.Helper()
	require.Positive(t, h.Patience, "Patience is not set")
	require.Positive(t, h.Tick, "Tick is not set")
	require.Positive(t, h.Account.Credentials.Len(), "the account has no credentials to keep secret")
	for _, problem := range h.gaps() {
		t.Error(problem)
	}
	if t.Failed() {
		t.FailNow()
	}
}

// gaps lists what is neither given nor excused, or both.
func (h Harness) gaps() []string {
	var problems []string
	missing := h.Faults.missing()
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		if missing[name] && h.Unsupported[name] == "" {
			problems = append(problems, "fault "+name+" is neither given nor listed as unsupported with a reason")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(h.Unsupported)) {
		switch absent, known := missing[name]; {
		case !known:
			problems = append(problems, "Unsupported names "+name+", which is no fault")
		case !absent:
			problems = append(problems, "fault "+name+" is given and listed as unsupported")
		}
	}
	return problems
}

// need skips the test, with the reason, when a fault cannot be produced.
func (h Harness) need(t *testing.T, fault string) {
	t.Helper()
	if reason := h.Unsupported[fault]; reason != "" {
		t.Skipf("not verified, %s is unsupported: %s", fault, reason)
	}
}
