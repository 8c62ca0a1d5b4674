package simulator

import (
	"context"
	"errors"
)

// Errors of a MachineStore.
var (
	ErrNoMachine     = errors.New("no such simulated machine")
	ErrMachineExists = errors.New("simulated machine exists already")
)

// Record is one simulated machine as it is stored. Doc is opaque to the store.
type Record struct {
	ID        string
	AccountID string
	Token     string
	// Revision counts the writes: 1 after Insert, one more after each Replace.
	Revision int64
	Doc      []byte
}

// MachineStore keeps machines. It stands for the cloud's own memory, so each call
// is durable by itself and takes part in no transaction of the caller: a machine
// that was created stays when the caller rolls back. It is safe for concurrent
// use. simulatortest.RunStore tells whether an implementation is right.
type MachineStore interface {
	// Insert stores a new record with revision 1, whatever record.Revision says.
	// ErrMachineExists when the id is taken.
	Insert(ctx context.Context, record Record) error
	// Load reads a record. ErrNoMachine when there is none.
	Load(ctx context.Context, id string) (Record, error)
	// Replace stores record.Doc if the stored revision still is record.Revision,
	// and raises it by one. False when it is another, or the record is gone.
	Replace(ctx context.Context, record Record) (bool, error)
	// List reads the records of an account in order of their ids.
	List(ctx context.Context, accountID string) ([]Record, error)
	// Delete removes a record; an absent one is no error.
	Delete(ctx context.Context, id string) error
}
