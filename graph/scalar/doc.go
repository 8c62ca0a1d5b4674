// Package scalar reads and writes the scalars of the schema.
//
// It owns their grammar, which the schema describes, and their bounds. Whatever
// does not meet them is a BAD_REQUEST fault before any resolver runs, with a
// message that says what is right. The package must not know what a value is
// for: whether an amount is enough, or an id leads anywhere, is a question for
// the domains.
//
// The functions come in pairs, MarshalX and UnmarshalX, as gqlgen.yml binds them.
package scalar
