// Package worker carries work from the database to the handlers and keeps what
// is recorded true: the relay, the task servers, the worker's session and its
// heartbeat, the reconciler and the followers of guests' journals.
//
// Redis is only a way to wake a worker: a task carries the id of an operation
// and the number of the delivery, and a delivery that is not the current one
// does nothing. Whatever Redis loses, delays or doubles, Postgres decides.
//
// It is the only room that knows the task queue. It knows no rule of a domain.
package worker
