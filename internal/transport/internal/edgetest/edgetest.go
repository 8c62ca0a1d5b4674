// Package edgetest is a small GraphQL schema, written by hand, for the tests of
// the edge: they need operations that block, fail, panic and flood, and no
// domain. It must not be imported by anything but tests.
package edgetest

import (
	"context"
	"encoding/json"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/handler"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
)

// SDL is the schema.
const SDL = `
type Query {
  hello(name: String): String
  number(n: Int): Int
  wait: String
  boom: String
  project(id: ID): Project
  node(id: ID!): Node
  nodes(ids: [ID!]!): [Node]!
}
type Mutation { set(n: Int!): Int }
type Subscription { feed(n: Int): String  feedSecond: String  project(id: ID!): Project }
interface Node { id: ID! }
type Project implements Node {
  id: ID!
  name: String
  parent: Project
  tags: [Tag!]!
  vms(first: Int, last: Int): VMConnection!
  logs(first: Int = 10): [Log!]!
}
type VM implements Node { id: ID! name: String project: Project tags: [Tag!]! }
type VMConnection { edges: [VMEdge!]! nodes: [VM!]! pageInfo: PageInfo! totalCount: Int! }
type VMEdge { cursor: String! node: VM! }
type PageInfo { hasNextPage: Boolean! }
type Log { line: String }
type Tag { name: String }
`

// Resolvers are what the root fields do.
type Resolvers struct {
	// Field resolves a root field of a query or mutation; the value is encoded as
	// JSON without regard for the selection.
	Field func(ctx context.Context, name string, args map[string]any) (any, error)
	// Source opens a subscription. An event that is an error becomes an event
	// with that error and null.
	Source func(ctx context.Context, name string, args map[string]any) (<-chan any, error)
}

// New makes a gqlgen server without transports over the schema.
func New(resolvers Resolvers) *handler.Server {
	schema := gqlparser.MustLoadSchema(&ast.Source{Name: "edgetest", Input: SDL})
	return handler.New(&graphql.ExecutableSchemaMock{
		SchemaFunc: func() *ast.Schema { return schema },
		ExecFunc:   resolvers.exec,
	})
}

func (r Resolvers) exec(ctx context.Context) graphql.ResponseHandler {
	op := graphql.GetOperationContext(ctx)
	fields := graphql.CollectFields(op, op.Operation.SelectionSet, []string{"Query", "Mutation", "Subscription"})
	if op.Operation.Operation == ast.Subscription {
		return r.subscribe(ctx, op, fields[0])
	}
	return graphql.OneShot(r.resolve(ctx, op, fields))
}

func (r Resolvers) resolve(ctx context.Context, op *graphql.OperationContext, fields []graphql.CollectedField) *graphql.Response {
	data := map[string]any{}
	resp := &graphql.Response{}
	for _, field := range fields {
		if field.Name == "__typename" {
			data[field.Alias] = field.ObjectDefinition.Name
			continue
		}
		value, err := r.Field(ctx, field.Name, field.ArgumentMap(op.Variables))
		data[field.Alias] = value
		if err != nil {
			resp.Errors = append(resp.Errors, graphql.DefaultErrorPresenter(ctx, err))
		}
	}
	resp.Data = encode(data)
	return resp
}

func (r Resolvers) subscribe(ctx context.Context, op *graphql.OperationContext, field graphql.CollectedField) graphql.ResponseHandler {
	source, err := r.Source(ctx, field.Name, field.ArgumentMap(op.Variables))
	if err != nil {
		graphql.AddError(ctx, err)
		return nil
	}
	return func(ctx context.Context) *graphql.Response {
		select {
		case <-ctx.Done():
			return nil
		case event, open := <-source:
			if !open {
				return nil
			}
			if failed, ok := event.(error); ok {
				graphql.AddError(ctx, failed)
				event = nil
			}
			return &graphql.Response{Data: encode(map[string]any{field.Alias: event})}
		}
	}
}

func encode(value any) json.RawMessage {
	encoded, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return encoded
}
