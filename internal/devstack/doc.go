// Package devstack gives development and tests the two servers that production
// gets from its operator: a private PostgreSQL cluster, run as a child process
// from an installation found on the machine, and an in-process Redis.
//
// It owns the cluster's files below a data folder, the folder's lock, and the
// life of the child. It never deletes a cluster and never touches a PostgreSQL
// server that runs on the machine already. It must not know what is stored: no
// schema, no settings of the product, no domain.
//
// Subpackages: child (processes that do not outlive us), pgtest and redistest
// (databases and Redis servers for tests), cmd/testcluster (one cluster for a
// whole test run). Linux and macOS.
package devstack
