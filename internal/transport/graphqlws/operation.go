package graphqlws

import (
	"context"
	"errors"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"biztraak.dev/vm/internal/fault"
	"biztraak.dev/vm/internal/transport/wire"
)

// operation is one subscribe of a client, until it ends.
type operation struct {
	id     string
	cancel context.CancelFunc
	// ended is set once, by whichever side ends the operation first. After that
	// nothing is sent under its id, which the client may use again.
	ended atomic.Bool

	mu     sync.Mutex
	reason *gqlerror.Error // what End was given
}

// subscribe starts an operation.
func (c *conn) subscribe(m message) (code int, reason string) {
	if !c.acked {
		return closeUnauthorized, "Unauthorized"
	}
	if m.ID == "" {
		return closeBadMessage, "Invalid message: subscribe without id"
	}
	params, err := wire.DecodeParams(m.Payload)
	if err != nil {
		return closeBadMessage, "Invalid message: " + err.Message
	}
	ctx, cancel := context.WithCancel(c.ctx)
	op := &operation{id: m.ID, cancel: cancel}
	added, duplicate := c.add(op)
	switch {
	case duplicate:
		cancel()
		return closeDuplicateID, "Subscriber for " + m.ID + " already exists"
	case !added:
		cancel()
		c.end(op, gqlerror.List{wire.NewError(fault.RateLimited,
			"there are %d operations on this connection already; complete one first", c.options.MaxOperations)})
		return 0, ""
	}
	go c.run(graphql.StartOperationTrace(withOperation(ctx, op)), op, params)
	return 0, ""
}

// add gives op its place. Operations that the client has completed do not
// count, but those among them that have not come back yet are limited as well:
// else subscribing and completing in a loop would pile up goroutines.
func (c *conn) add(op *operation) (added, duplicate bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, taken := c.ops[op.id]; taken {
		return false, true
	}
	if c.closing || len(c.ops) >= c.options.MaxOperations || c.active >= 2*c.options.MaxOperations {
		return false, false
	}
	if c.ops == nil {
		c.ops = make(map[string]*operation, 1)
	}
	c.ops[op.id] = op
	c.active++
	c.running.Add(1)
	c.options.Registry.operations.Add(1)
	return true, false
}

// forget frees the id of op.
func (c *conn) forget(op *operation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ops[op.id] == op {
		delete(c.ops, op.id)
	}
}

// complete ends an operation for the client; the id is free when it returns.
func (c *conn) complete(id string) {
	c.mu.Lock()
	op := c.ops[id]
	delete(c.ops, id)
	c.mu.Unlock()
	if op != nil {
		op.ended.Store(true)
		op.cancel()
	}
}

// run executes one operation in its goroutine.
func (c *conn) run(ctx context.Context, op *operation, params *graphql.RawParams) {
	defer func() {
		op.cancel()
		c.forget(op)
		c.options.Registry.operations.Add(-1)
		c.mu.Lock()
		c.active--
		c.mu.Unlock()
		c.running.Done()
	}()
	defer func() {
		if cause := recover(); cause != nil {
			c.end(op, gqlerror.List{c.presentPanic(ctx, cause)})
		}
	}()
	now := graphql.Now()
	params.ReadTime = graphql.TraceTiming{Start: now, End: now}
	opCtx, errs := c.exec.CreateOperationContext(ctx, params)
	ctx = graphql.WithOperationContext(ctx, opCtx)
	if len(errs) > 0 {
		c.end(op, c.exec.DispatchError(ctx, errs).Errors)
		return
	}
	c.end(op, c.stream(ctx, op, opCtx))
}

// stream sends results until there are no more. What it returns ends the
// operation with an `error`; nothing means `complete`.
func (c *conn) stream(ctx context.Context, op *operation, opCtx *graphql.OperationContext) gqlerror.List {
	subscription := opCtx.Operation.Operation == ast.Subscription
	next, ctx := c.exec.DispatchOperation(ctx, opCtx)
	for first := true; ; first = false {
		resp := next(ctx)
		if resp == nil {
			return op.endReason()
		}
		if wire.IsRefusal(resp) && (first || !subscription) || first && subscription && isNull(resp) {
			return resp.Errors
		}
		if err := c.next(op, resp); err != nil {
			return gqlerror.List{c.presentPanic(ctx, err)}
		}
		// An interceptor that answers a query over and over would never end.
		if !subscription {
			return op.endReason()
		}
	}
}

// isNull tells that a subscription yielded errors in place of its first event:
// its source stream could not be opened.
func isNull(resp *graphql.Response) bool {
	return len(resp.Errors) > 0 && string(resp.Data) == "null"
}

// presentPanic gives a panic to the recover function of the executor, which
// logs it, and to its presenter, which masks it. Should one of these panic too,
// the process still lives.
func (c *conn) presentPanic(ctx context.Context, cause any) (presented *gqlerror.Error) {
	defer func() {
		if again := recover(); again != nil {
			c.options.Log.ErrorContext(ctx, "panic while a panic was presented",
				"cause", again, "first", cause, "stack", string(debug.Stack()))
			presented = wire.NewError(fault.Internal, "internal error")
		}
	}()
	if presenter, ok := c.exec.(interface {
		PresentRecoveredError(ctx context.Context, err any) error
	}); ok {
		var err *gqlerror.Error
		if errors.As(presenter.PresentRecoveredError(ctx, cause), &err) {
			return err
		}
	}
	c.options.Log.ErrorContext(ctx, "panic in an operation", "cause", cause, "stack", string(debug.Stack()))
	return wire.NewError(fault.Internal, "internal error")
}
