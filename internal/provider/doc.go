// Package provider says what the platform needs from a cloud: one Driver
// interface, the plain data that crosses it, and the classes into which every
// cloud's errors are sorted.
//
// It owns the rules that hold for all clouds, above all EnsureCreated, the only
// way to make an instance: however often a worker dies in the middle of it, at
// most one instance is kept.
//
// It must not know the domain, the database or any one cloud. A driver gets a
// Spec and answers with an Observation; who asked, and what is stored about it,
// is the caller's business.
package provider
