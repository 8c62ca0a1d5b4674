package fault

import "biztraak.dev/vm/internal/ident"

// StaleAt is the detail of STALE_VERSION.
type StaleAt struct {
	// Current is the version that the object has now.
	Current int
}

// UsedBy is the detail of IN_USE.
type UsedBy struct {
	// IDs name what needs the object, the first 25.
	IDs []ident.ID
}

// HeldBy is the detail of OPERATION_IN_PROGRESS.
type HeldBy struct {
	// OperationID names the work that is under way.
	OperationID ident.ID
}

// SuppliedBy is the detail of ADD_ON_REQUIRES.
type SuppliedBy struct {
	// Capability is what is missing; empty when a certain add-on is.
	Capability string
	// AddOnIDs name the add-on packs any of which would do.
	AddOnIDs []ident.ID
}
