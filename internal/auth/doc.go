// Package auth knows who asks and what they may do: actors, personal access
// tokens, roles, and the one table that says which role each verb needs.
//
// Whether an actor may see an object is decided where the object is read, by a
// join with the actor's memberships (Visible); whether they may do something to
// it is decided by May. Nothing else in the product looks at roles.
package auth
