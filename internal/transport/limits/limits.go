package limits

import (
	"github.com/99designs/gqlgen/graphql/handler"
)

// Limits are the numbers. A field is refused when it is above its limit.
type Limits struct {
	// Tokens of the document; over it GRAPHQL_PARSE_FAILED.
	Tokens int
	// Depth and Aliases of each operation of the document, and Cost of the one
	// that is run, counted as the package comment says; over them
	// COMPLEXITY_LIMIT_EXCEEDED.
	Depth   int
	Aliases int
	Cost    int
	// DefaultPage is how many objects a paged field returns when it is not told.
	DefaultPage int
	// Errors is how many validation errors are found at most; the validator goes
	// on to the end, so it is kept from making a message for every token.
	Errors int
}

// Default are the limits of the contract.
func Default() Limits {
	return Limits{Tokens: 15_000, Depth: 12, Aliases: 50, Cost: 15_000, DefaultPage: 25, Errors: 10}
}

// Configure puts limits on a server: the token limit of the parser, validation
// rules that neither suggest names of the schema nor list errors without end, a
// cache of documents with a bounded size, and the extension. It replaces the
// server's query cache and validation rules.
func Configure(srv *handler.Server, limits Limits) {
	srv.SetParserTokenLimit(limits.Tokens)
	srv.SetDisableSuggestion(true)
	srv.SetValidationRulesFn(validationRules(limits.Errors))
	cache := newDocumentCache(cacheBytes)
	srv.SetQueryCache(cache)
	srv.Use(&extension{limits: limits, cache: cache})
}
