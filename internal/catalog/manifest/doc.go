// Package manifest is the file format of store items: VM templates and add-on
// packs, one YAML document each.
//
// It owns the format (Go types and the published JSON Schema, which a test
// keeps equal), reading it without surprises ([Parse]), the rules for
// publishing an item ([Check]) and the digest by which a changed item is
// recognized ([Manifest.Digest]). Everything here is pure: no clock, no
// network, no database. It must not know teams, stored rows or how an item is
// applied to a machine; how items combine is the business of package
// composition.
package manifest
