package provider

import (
	"net/netip"
	"time"
)

// Region is a place where instances can be created.
type Region struct {
	ID    string // the cloud's own id, as Spec.Region takes it
	Name  string // for people
	Sizes []Size
}

// Size is a shape of machine that a region offers.
type Size struct {
	ID           string // the cloud's own id, as Spec.Size takes it
	Name         string // for people
	CPUMilli     int64  // thousandths of a virtual CPU
	MemoryBytes  int64
	DiskBytes    int64
	Architecture string // as Go names it: "amd64", "arm64"
}

// Spec says what to create.
type Spec struct {
	// ClientToken is the id of the operation that asks. It makes the create
	// idempotent where the cloud can do that, and is the tag by which the
	// instance is found again everywhere else. Never empty.
	ClientToken string
	// Owner is the id of the VM provider that the instance belongs to, a tag too.
	Owner string
	// Name is the machine's host name: a DNS label.
	Name string
	// Region and Size are ids from Offerings.
	Region, Size string
	// Image is the cloud's own name of the base image.
	Image string
	// UserData is the cloud-config. It carries the first host key, so it is
	// treated as a secret.
	UserData Secret
	// Tags are extra labels for people who look at the cloud's own console.
	Tags map[string]string
}

// Ref names an instance in its account.
type Ref struct{ InstanceID, Region string }

// State is what the cloud says about an instance. There is no state for an
// instance that does not exist: that is an error of ClassGone.
type State string

// The states of an instance, whatever a cloud calls them.
const (
	StateCreating   State = "CREATING"
	StateRunning    State = "RUNNING"
	StateStopping   State = "STOPPING"
	StateStopped    State = "STOPPED"
	StateStarting   State = "STARTING"
	StateRestarting State = "RESTARTING"
	StateDeleting   State = "DELETING"
	StateError      State = "ERROR"
)

// AddressScope says from where an address can be reached.
type AddressScope string

// The scopes of an address.
const (
	ScopePublic  AddressScope = "PUBLIC"
	ScopePrivate AddressScope = "PRIVATE"
)

// Address is one address of an instance.
type Address struct {
	Scope AddressScope
	IP    netip.Addr
}

// Observation is what a cloud said about one instance at one moment.
type Observation struct {
	InstanceID string
	Token      string // the ClientToken it was created with, read from its tag
	Owner      string // read from its tag
	Region     string
	State      State
	// Addresses that can be used now, public ones first. Empty while the machine
	// has none, which is usual before it runs and while it is stopped.
	Addresses []Address
	// Fault says why the instance is in StateError, or why the last accepted
	// change did not happen (State is then what it was before). Nil otherwise.
	Fault *Error
	// CreatedAt is the cloud's own time of creation. Zero when it tells none.
	CreatedAt  time.Time
	ObservedAt time.Time
	// Simulated is true when no real machine stands behind this.
	Simulated bool
}

// Ref is the name of the observed instance.
func (o Observation) Ref() Ref { return Ref{InstanceID: o.InstanceID, Region: o.Region} }
