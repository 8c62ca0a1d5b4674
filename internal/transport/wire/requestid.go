package wire

import "context"

type requestIDKey struct{}

// WithRequestID puts the id under which this request is logged into ctx.
func WithRequestID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestIDKey{}, id)
}

// RequestID is the id of the request that ctx belongs to, or "" outside one.
// Operations over a WebSocket carry the id of the upgrade request.
func RequestID(ctx context.Context) string {
	id, _ := ctx.Value(requestIDKey{}).(string)
	return id
}
