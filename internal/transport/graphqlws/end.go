package graphqlws

import (
	"context"

	"github.com/vektah/gqlparser/v2/gqlerror"
)

type operationKey struct{}

func withOperation(ctx context.Context, op *operation) context.Context {
	return context.WithValue(ctx, operationKey{}, op)
}

// End makes the operation that ctx belongs to end with an `error` message that
// holds err, in place of `complete`: access was revoked, a cursor has expired.
//
// It is for the goroutine that feeds a subscription. End does not stop the
// source: call it, then close the channel. What was sent before is delivered
// before. The first reason counts. err is sent as it is, without the error
// presenter. End reports false, and does nothing, when ctx belongs to no
// operation of this transport.
func End(ctx context.Context, err *gqlerror.Error) bool {
	op, ok := ctx.Value(operationKey{}).(*operation)
	if !ok || err == nil {
		return false
	}
	op.mu.Lock()
	defer op.mu.Unlock()
	if op.reason == nil {
		op.reason = err
	}
	return true
}

func (op *operation) endReason() gqlerror.List {
	op.mu.Lock()
	defer op.mu.Unlock()
	if op.reason == nil {
		return nil
	}
	return gqlerror.List{op.reason}
}
