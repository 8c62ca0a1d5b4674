// Package graphqlws speaks graphql-transport-ws, the WebSocket subprotocol of
// GraphQL (https://github.com/enisdenjo/graphql-ws/blob/master/PROTOCOL.md), as
// a transport of gqlgen on gorilla/websocket.
//
// It owns the sockets: their registry and caps, the close codes, keep-alive,
// deadlines and shutdown. It must not know any domain, and not how a token is
// verified (that is transport.Authenticator).
//
// # Goroutines and backpressure
//
// A connection costs one goroutine, its reader; an operation costs one more for
// as long as it runs. There is no writer goroutine and no queue: an operation
// writes its result under the lock of the connection and asks its source for
// the next one only when the peer has taken the last. So a slow peer slows its
// own sources down, and nothing is buffered for it. A peer that takes no byte
// for the write timeout is closed with 4499.
//
// # Close codes
//
//	1009  a message over the read limit
//	1012  the server is shutting down; come back elsewhere
//	1013  too many connections, of this user or in all, or tokens cannot be checked now
//	4400  a message that is not of the protocol
//	4401  subscribe before connection_ack
//	4403  the token was refused, or has expired
//	4406  the client does not offer graphql-transport-ws
//	4408  no connection_init in time
//	4409  an id that is in use
//	4429  a second connection_init
//	4499  the peer takes or sends nothing any more
//
// The cap of one user closes with 1013 and not with 4429, because clients take
// 4429 for a fault of their own and never come back. The code 1000 is never
// sent first: clients take it for an end that was wanted and do not reconnect.
//
// # How an operation ends
//
// `error` is terminal and is never followed by `complete`. A document that is
// refused (syntax, validation, limits) and a subscription whose source cannot
// be opened end with `error`; what was executed is a `next`, whatever errors it
// holds, and ends with `complete`. A source that has to end with a reason calls
// End before it closes its channel.
package graphqlws
