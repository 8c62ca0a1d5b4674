package provider

import (
	"context"
	"slices"
	"time"
)

// Kind names a sort of cloud: upper case, stable, stored with each account.
type Kind string

// KindSimulator is the driver of dev mode and of tests.
const KindSimulator Kind = "SIMULATOR"

// Operation names something that a driver may be able to do with an instance.
type Operation string

// The operations that not every cloud has. Create, observe and destroy are not
// listed: without them there is no driver.
const (
	OperationStart   Operation = "START"
	OperationStop    Operation = "STOP"
	OperationRestart Operation = "RESTART"
)

// Traits are the constant differences between clouds that callers must know.
type Traits struct {
	// HonoursClientToken is true when two creates with one ClientToken are
	// answered by the same instance. Without it a repeated create makes a twin.
	HonoursClientToken bool
	// VisibilityDelay is how long a new instance may stay out of FindByToken,
	// List and Observe. Zero when the cloud reads its own writes.
	VisibilityDelay time.Duration
	// StoppedIsBilled is true when a stopped instance costs what a running one
	// does, so that only destroying it ends the bill.
	StoppedIsBilled bool
	// Console is true when the cloud can show what the machine prints at boot.
	Console bool
	// UserDataLimit is the largest user data in bytes.
	UserDataLimit int
	// Operations lists what the driver can do, in no particular order.
	Operations []Operation
}

// Supports says whether the driver can do op.
func (t Traits) Supports(op Operation) bool { return slices.Contains(t.Operations, op) }

// Driver speaks to one kind of cloud. It keeps no state of its own and is safe
// for concurrent use.
//
// Every error is, or wraps, an *Error, so that callers decide by Class and never
// by text. Every method gives up when its context ends; the error then also
// matches the context's. Methods that change something return when the cloud has
// accepted the change, not when it is done: Observe tells how it goes.
type Driver interface {
	// Kind is the sort of cloud that the driver speaks to.
	Kind() Kind

	// Traits are constant for the life of the driver.
	Traits() Traits

	// Offerings lists the regions and, in each, the sizes that can be created.
	Offerings(ctx context.Context, account Account) ([]Region, error)

	// Verify makes the cheapest call that proves the credentials. ClassCredentials
	// when the cloud rejects them.
	Verify(ctx context.Context, account Account) error

	// Create asks for one instance, tagged with the token and the owner of the
	// spec. ClassUnclear whenever the request may have reached the cloud and no
	// answer came back; a driver must not repeat a create by itself unless it
	// honors client tokens. Call it through EnsureCreated only.
	Create(ctx context.Context, account Account, spec Spec) (Observation, error)

	// Observe reads one instance. ClassGone when it does not exist (any more).
	Observe(ctx context.Context, account Account, ref Ref) (Observation, error)

	// FindByToken lists the instances tagged with token, never those that are
	// gone. An empty list is no error.
	FindByToken(ctx context.Context, account Account, token string) ([]Observation, error)

	// List lists every instance of the account that carries the platform's tag,
	// never those that are gone.
	List(ctx context.Context, account Account) ([]Observation, error)

	// Start boots a stopped instance. Running or on its way there is success.
	// Addresses may change; read them again afterwards.
	Start(ctx context.Context, account Account, ref Ref) error

	// Stop shuts an instance down, gracefully if it can. Stopped or on its way
	// there is success.
	Stop(ctx context.Context, account Account, ref Ref) error

	// Restart reboots a running instance and keeps its addresses. Restarting
	// already is success; stopped is ClassConflict.
	Restart(ctx context.Context, account Account, ref Ref) error

	// Destroy removes an instance with everything that was made for it. Gone or
	// on its way there is success.
	Destroy(ctx context.Context, account Account, ref Ref) error
}
