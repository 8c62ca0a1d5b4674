// Package e2e holds the tests of the whole system and nothing else: processes
// that are killed, frozen and stopped in order, a Redis that is emptied and goes
// away, many callers at once, the development server and the compose file.
//
// They drive the system the way its users do, over HTTP and WebSockets, and look
// at the outcome through the same API, at the simulated cloud, and at what the
// database has recorded.
package e2e
