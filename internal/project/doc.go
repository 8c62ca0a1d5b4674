// Package project owns projects: namespaces of components inside a team.
//
// It knows of components only what all kinds have in common, their names; what a
// component is belongs to the room of its kind. It must not know GraphQL.
package project
