package operation

import "biztraak.dev/vm/internal/ident"

// Release gives up the locks of an operation as its end does, for tests of the
// locks alone.
func (tx *Tx) Release(op ident.ID) error { return tx.release(op) }

// The bounds that tests count up to.
const (
	MostTries        = mostTries
	MostCleanUpTries = mostCleanUpTries
	RedeliverAfter   = redeliverAfter
)
