package graphqlws_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"biztraak.dev/vm/internal/transport/graphqlws"
	"biztraak.dev/vm/internal/transport/internal/edgetest"
	"biztraak.dev/vm/internal/transport/wire"
)

// sourced replaces the source of subscriptions.
func sourced(open func(ctx context.Context) (<-chan any, error)) edgetest.Resolvers {
	resolvers := simple()
	resolvers.Source = func(ctx context.Context, _ string, _ map[string]any) (<-chan any, error) { return open(ctx) }
	return resolvers
}

func events(values ...any) <-chan any {
	source := make(chan any, len(values))
	for _, value := range values {
		source <- value
	}
	close(source)
	return source
}

// step is one expected message of operation "1".
type step struct{ kind, payload string }

func TestHowOperationsEnd(t *testing.T) {
	tests := map[string]struct {
		query string
		open  func(ctx context.Context) (<-chan any, error)
		steps []step
	}{
		"query": {query: `{hello}`,
			steps: []step{{"next", `{"data":{"hello":"hello"}}`}, {"complete", ""}}},
		"mutation with an error in its result": {query: `mutation{set(n:1)}`,
			steps: []step{{"next", `{"errors":[{"message":"set failed"}],"data":{"set":null}}`}, {"complete", ""}}},
		"subscription": {query: `subscription{feed}`,
			open:  func(context.Context) (<-chan any, error) { return events("a", "b"), nil },
			steps: []step{{"next", `{"data":{"feed":"a"}}`}, {"next", `{"data":{"feed":"b"}}`}, {"complete", ""}}},
		"subscription with an event that failed": {query: `subscription{feed}`,
			open: func(context.Context) (<-chan any, error) { return events("a", errors.New("late"), "b"), nil },
			steps: []step{{"next", `{"data":{"feed":"a"}}`},
				{"next", `{"errors":[{"message":"late"}],"data":{"feed":null}}`},
				{"next", `{"data":{"feed":"b"}}`}, {"complete", ""}}},
		"source refused": {query: `subscription{feed}`,
			open:  func(context.Context) (<-chan any, error) { return nil, errors.New("no such feed") },
			steps: []step{{"error", `[{"message":"no such feed"}]`}}},
		"syntax error": {query: `{`,
			steps: []step{{"error", `[{"message":"Expected Name, found <EOF>","locations":[{"line":1,"column":2}],"extensions":{"code":"GRAPHQL_PARSE_FAILED"}}]`}}},
		"validation error": {query: `{nope}`,
			steps: []step{{"error", `[{"message":"Cannot query field \"nope\" on type \"Query\".","locations":[{"line":1,"column":2}],"extensions":{"code":"GRAPHQL_VALIDATION_FAILED"}}]`}}},
		"end with a reason after events": {query: `subscription{feed}`,
			open: func(ctx context.Context) (<-chan any, error) {
				if !graphqlws.End(ctx, wire.NewError("FORBIDDEN", "access was revoked")) {
					return nil, errors.New("not an operation")
				}
				graphqlws.End(ctx, wire.NewError("FORBIDDEN", "a second reason"))
				return events("a"), nil
			},
			steps: []step{{"next", `{"data":{"feed":"a"}}`},
				{"error", `[{"message":"access was revoked","extensions":{"code":"FORBIDDEN"}}]`}}},
		"panic of a resolver": {query: `{boom}`,
			steps: []step{{"error", `[{"message":"internal system error"}]`}}},
		"panic of a source": {query: `subscription{feed}`,
			open:  func(context.Context) (<-chan any, error) { panic("boom") },
			steps: []step{{"error", `[{"message":"internal system error"}]`}}},
		"panic of an event": {query: `subscription{feed}`,
			open:  func(context.Context) (<-chan any, error) { return events("a", func() {}), nil },
			steps: []step{{"next", `{"data":{"feed":"a"}}`}, {"error", `[{"message":"internal system error"}]`}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := start(t, sourced(test.open), graphqlws.Options{}, graphqlws.Caps{})
			c := s.connect(t, "ann")
			// Twice under one id: the first end must have freed it, and nothing
			// may follow the end of the first.
			for range 2 {
				c.subscribe("1", test.query)
				for _, step := range test.steps {
					c.expect(step.kind, "1", step.payload)
				}
			}
			c.alive()
			eventually(t, func() bool { return s.registry.Stats().Operations == 0 })
		})
	}
}

func TestEndOutsideOfAnOperation(t *testing.T) {
	require.False(t, graphqlws.End(context.Background(), &gqlerror.Error{Message: "x"}))
}

func TestOperationsHaveTheActor(t *testing.T) {
	resolvers := simple()
	resolvers.Field = func(ctx context.Context, _ string, _ map[string]any) (any, error) {
		return ctx.Value(userKey{}), nil
	}
	c := start(t, resolvers, graphqlws.Options{}, graphqlws.Caps{}).connect(t, "ann")
	c.subscribe("1", `{hello}`)
	c.expect("next", "1", `{"data":{"hello":"ann"}}`)
}

func TestCompleteCancelsAndFreesTheID(t *testing.T) {
	canceled := make(chan struct{}, 10)
	resolvers := sourced(func(ctx context.Context) (<-chan any, error) {
		context.AfterFunc(ctx, func() { canceled <- struct{}{} })
		return make(chan any), nil
	})
	s := start(t, resolvers, graphqlws.Options{}, graphqlws.Caps{})
	c := s.connect(t, "ann")
	for range 5 {
		c.subscribe("1", `subscription{feed}`)
		c.send(`{"id":"1","type":"complete"}`)
	}
	c.send(`{"id":"never there","type":"complete"}`)
	c.alive()
	eventually(t, func() bool { return s.registry.Stats().Operations == 0 })
	c.subscribe("1", `{hello}`)
	c.expect("next", "1", `{"data":{"hello":"hello"}}`)
	c.expect("complete", "1", "")
}

func TestTooManyOperations(t *testing.T) {
	s := start(t, simple(), graphqlws.Options{MaxOperations: 3}, graphqlws.Caps{})
	c := s.connect(t, "ann")
	for i := range 3 {
		c.subscribe(fmt.Sprint(i), `subscription{feed}`)
	}
	c.subscribe("one more", `{hello}`)
	require.Equal(t, "RATE_LIMITED", c.expectError("one more"))
	c.send(`{"id":"1","type":"complete"}`)
	c.alive()
}

func TestCompletedOperationsThatDoNotComeBackAreLimited(t *testing.T) {
	release := make(chan struct{})
	resolvers := simple()
	resolvers.Field = func(_ context.Context, name string, _ map[string]any) (any, error) {
		if name == "wait" {
			<-release // deaf to its context
		}
		return name, nil
	}
	s := start(t, resolvers, graphqlws.Options{MaxOperations: 2}, graphqlws.Caps{})
	c := s.connect(t, "ann")
	for range 4 {
		c.subscribe("1", `{wait}`)
		c.send(`{"id":"1","type":"complete"}`)
	}
	c.subscribe("1", `{wait}`)
	require.Equal(t, "RATE_LIMITED", c.expectError("1"))
	require.Equal(t, 4, s.registry.Stats().Operations)
	close(release)
	eventually(t, func() bool { return s.registry.Stats().Operations == 0 })
	c.alive()
}

func TestErrorThenSubscribe(t *testing.T) {
	// The reference client ends its next subscription silently when an error is
	// followed by a complete.
	c := start(t, sourced(func(context.Context) (<-chan any, error) { return events("a"), nil }),
		graphqlws.Options{}, graphqlws.Caps{}).connect(t, "ann")
	c.subscribe("1", `subscription{nope}`)
	require.Equal(t, "GRAPHQL_VALIDATION_FAILED", c.expectError("1"))
	c.subscribe("2", `subscription{feed}`)
	c.expect("next", "2", `{"data":{"feed":"a"}}`)
	c.expect("complete", "2", "")
}
