// Package limits says what a GraphQL document may cost before it is run: a
// gqlgen extension and the settings that belong to it, put on a server by
// Configure.
//
// It owns the numbers and how they are counted. It must not know any domain:
// it reads the schema only for what a field returns.
//
// # What is counted
//
// Tokens: by the parser, before anything is built.
//
// Depth: a root field is at 1, what is inside of it at 2. The subtrees of
// __schema and __type are not counted, since every introspection query nests
// `ofType`; the validator limits their recursion in its own way. A cyclic
// fragment, which has no depth, is refused before anything else.
//
// Aliases: fields with a name of the client's choice.
//
// Repetition: what the validator would have to compare. There is no number that
// a client has to know; a document that fits the other limits and was not made
// to hurt stays far below.
//
// Cost: the number of objects that can be returned. A field that returns
// objects costs 1, a scalar 0. A paged field (one that the schema gives a
// `first` or `last` argument) multiplies its lists by the argument: itself when
// it is a list, else the lists directly in it, so `edges` and `nodes` of a
// connection count, and its `pageInfo` counts once. A list that takes `ids` is
// multiplied by how many are given. Any other list counts as one object: such
// lists are short by the rules of the schema. `__schema` costs 1,000 on top, as
// it returns the whole schema. Of inline fragments on different object types
// only the dearest counts, for an object has one type.
//
// Fragments and variables count like the same text written in their place.
// A field that is written twice counts twice, although it is returned once.
package limits
