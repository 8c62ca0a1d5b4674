// Package operation is the one write path for doing work.
//
// A service accepts work in one transaction (Writer.Write): its own rows, the
// operation with its steps and locks, the idempotency key and the event rows.
// The operation row is the outbox: due work is found by Due, carried to a
// worker by id, and carried out by the Engine step by step. Each step is safe
// to repeat and is recorded with its effects in one transaction that a worker
// whose lease has ended cannot commit.
//
// The package knows no kind of work: domains hand it a Handler for each kind.
// It must not know drivers, queues or Redis.
package operation
