// Package graph is the GraphQL side of the product: it resolves the schema with
// the services of the domains.
//
// It owns the resolvers, how refusals become `userErrors`, the error presenter,
// the table of nodes, the loaders of a response and the subscriptions. It decides
// nothing: rules and permissions are in the domains, and what a request may cost
// is the transport's affair. It must not know gorm, queues, Redis, cloud drivers,
// guests or HTTP.
//
// Package gen and model/models_gen.go are generated from schema/*.graphqls as
// gqlgen.yml says; the bodies in *.resolvers.go are ours.
//
// # Reads
//
// A field that is read for many parents is read once (see loader): by the batch
// resolvers that the schema marks, and below nested lists by loaders that live
// as long as one response, one event of a subscription, or one field of a
// mutation.
//
// # Subscriptions
//
// State (watch): the object as it is, then as it is after each change, at most
// ten times a second. Feeds (projectEvents, systemLogs): batches from a cursor
// on. Both end with the context of the operation, and within seconds of the
// actor losing access (see guard).
package graph
