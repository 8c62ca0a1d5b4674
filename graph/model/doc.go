// Package model holds the Go forms of schema types that no domain has: payloads,
// connections, events and the interfaces.
//
// models_gen.go is generated from the schema; the other files are bound to it in
// gqlgen.yml. The package may know the domains' models and must not know how
// anything is resolved.
package model
