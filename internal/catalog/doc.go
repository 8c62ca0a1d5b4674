// Package catalog owns the published store items: which versions there are, who
// may use them, and what a template and add-ons of it come to.
//
// A published version never changes, so what was read once is kept in the process
// and shared: everything that the package answers is read only. The package must
// not know VMs, clouds or GraphQL; the format of items is the business of package
// manifest, and how they combine that of package composition.
package catalog
