// Package guest says what the platform needs from the inside of a machine, as
// interfaces and plain data: whether it is up, and what its journal holds.
//
// It must not know the domain, the database or the clouds. The ways in (SSH, the
// simulator) implement it elsewhere.
package guest
