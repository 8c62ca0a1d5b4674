// Package app is the one wiring room: it reads the settings, makes the
// dependencies and the services, starts the parts that a role needs in their
// order and stops them in the reverse one. The command line, the development
// server and the demo are here too.
//
// It contains no rule of a domain, and nobody imports it but the command and
// the tests of the whole system.
package app
