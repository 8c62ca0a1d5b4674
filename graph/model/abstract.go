package model

// Node is anything with an id of its own. Domain models do not know that they
// are nodes, so any type fits here; the generated code knows which ones are.
type Node any

// ProjectComponent is a part of a project; see Node for why any type fits.
type ProjectComponent any

// StoreItem is something published in versions; see Node for why any type fits.
type StoreItem any
