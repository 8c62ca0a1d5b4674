// Package vm owns virtual machines and their providers: what a VM is made of,
// the life cycle of each deployed machine, and the work that moves it along.
//
// The service accepts work; the handlers in tasks*.go carry it out with a cloud
// driver and the guest; the reconciler compares what is recorded with what the
// clouds show. The package knows the interfaces of drivers and guests, never a
// certain one, and nothing of GraphQL or queues.
package vm
