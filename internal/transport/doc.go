// Package transport is the HTTP edge: it turns requests into GraphQL operations
// and back, and lets nothing through that would cost more to refuse later.
//
// It owns the router and its middleware (request ids, the access log, recovery,
// CORS, the Host check, security headers, bearer tokens), GraphQL over HTTP by
// POST and GET, and the settings of the HTTP server. Subpackages: graphqlws
// (graphql-transport-ws), limits (what a document may cost), playground (the
// page at "/"), wire (how requests are read and answers written).
//
// It must not know any domain, the database, or how a token is verified: that
// is an Authenticator, which the application brings.
//
// The POST and GET transports follow the GraphQL-over-HTTP specification
// (https://graphql.github.io/graphql-over-http/draft/), both media types.
// They replace gqlgen's own, which answer 422 or `data: null` where the
// specification asks for 400 or no data, ignore quality values in Accept and
// quote the whole body in errors.
package transport
