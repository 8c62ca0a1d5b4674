package limits

import (
	"context"
	"errors"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"biztraak.dev/vm/internal/transport/wire"
)

// extension refuses operations that are over a limit: for their shape before
// they are validated, and for their cost, which needs the schema and the
// variables, before anything is resolved.
type extension struct {
	limits Limits
	cache  graphql.Cache[*ast.QueryDocument]
	schema *ast.Schema
}

var (
	_ graphql.HandlerExtension          = (*extension)(nil)
	_ graphql.OperationParameterMutator = (*extension)(nil)
	_ graphql.OperationContextMutator   = (*extension)(nil)
)

// ExtensionName names the extension in logs.
func (*extension) ExtensionName() string { return "Limits" }

// Validate is told the schema, and refuses limits that would refuse everything.
func (e *extension) Validate(schema graphql.ExecutableSchema) error {
	l := e.limits
	if min(l.Tokens, l.Depth, l.Aliases, l.Cost, l.DefaultPage, l.Errors) < 1 {
		return errors.New("limits must be positive")
	}
	e.schema = schema.Schema()
	return nil
}

// MutateOperationContext prices the operation that is going to be run.
func (e *extension) MutateOperationContext(_ context.Context, op *graphql.OperationContext) *gqlerror.Error {
	m := measure{schema: e.schema, variables: op.Variables, defaultPage: e.limits.DefaultPage}
	if cost := m.selectionSet(op.Operation.SelectionSet).total(); cost > int64(e.limits.Cost) {
		return over("the operation can return %d objects, at most %d are allowed; ask for smaller pages", cost, e.limits.Cost)
	}
	return nil
}

func over(format string, got int64, limit int) *gqlerror.Error {
	return wire.NewError(wire.ComplexityLimitExceeded, format, got, limit)
}
