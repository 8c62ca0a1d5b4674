// Package wire is the small print that every way into the API shares: how the
// parameters of a GraphQL request are read, how a response is written, and what
// an error of the edge looks like and how large it may grow.
//
// It owns the codes that only the edge produces and the request id in a
// context. It must not know HTTP, WebSockets or any domain.
package wire
