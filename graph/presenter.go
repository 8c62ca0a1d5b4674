package graph

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"runtime/debug"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"biztraak.dev/vm/internal/fault"
	"biztraak.dev/vm/internal/syslog"
	"biztraak.dev/vm/internal/transport/wire"
)

// codeLogCursorExpired tells a client why its cursor is refused. It is in
// `extensions`, because a subscription has no userErrors.
const codeLogCursorExpired = "LOG_CURSOR_EXPIRED"

// presenter gives every error the form in which it leaves the process: a code of
// the closed set, and a message that was written for people. What nobody wrote
// for people is masked, and logged with the id of the request.
type presenter struct{ log *slog.Logger }

// present is the executor's error presenter.
func (p presenter) present(ctx context.Context, err error) *gqlerror.Error {
	out := &gqlerror.Error{Path: graphql.GetPath(ctx)}
	var located *gqlerror.Error
	if errors.As(err, &located) {
		if located.Extensions["code"] != nil {
			return located // made at the edge, by the parser, the validator or a limit
		}
		out.Path, out.Locations = located.Path, located.Locations
	}
	f := p.faultOf(ctx, err)
	out.Message, out.Extensions = f.Message, map[string]any{"code": string(f.Code)}
	if f.Code == fault.BadRequest {
		out.Message = toField(ctx, out) + f.Message
	}
	for k, v := range f.Extra {
		out.Extensions[k] = v
	}
	return out
}

// recovered is the executor's recover function: it logs the panic with its stack
// and answers an error that is masked.
func (p presenter) recovered(ctx context.Context, cause any) error {
	p.log.ErrorContext(ctx, "panic in a resolver", "cause", cause, "path", graphql.GetPath(ctx).String(),
		"requestId", wire.RequestID(ctx), "stack", string(debug.Stack()))
	return p.masked(ctx)
}

// faultOf finds the fault that err is. The domains' own faults pass; everything
// else is one of few things that can be told, or INTERNAL.
func (p presenter) faultOf(ctx context.Context, err error) *fault.Fault {
	var f *fault.Fault
	var expired *syslog.CursorExpiredError
	var network *net.OpError
	switch {
	case errors.As(err, &f):
		return f
	case errors.As(err, &expired):
		return logCursorExpired(expired)
	case introspected(ctx):
		return fault.New(fault.TopForbidden, "introspection is switched off on this server")
	case errors.Is(err, context.Canceled):
		return fault.New(fault.Unavailable, "the request was canceled before it was finished")
	case errors.Is(err, context.DeadlineExceeded):
		return fault.New(fault.Unavailable, "the request took too long; try again")
	case errors.As(err, &network):
		p.logOnce(ctx, err)
		return fault.New(fault.Unavailable, "a part of the server cannot be reached now; try again")
	}
	p.logOnce(ctx, err)
	return p.masked(ctx)
}

// masked says nothing but where to look.
func (p presenter) masked(ctx context.Context) *fault.Fault {
	f := fault.New(fault.Internal, "internal error")
	if id := wire.RequestID(ctx); id != "" {
		f.Extra = map[string]any{"requestId": id}
	}
	return f
}

// logOnce logs an error; one that many fields met, only the first time.
func (p presenter) logOnce(ctx context.Context, err error) {
	var shared *failure
	if errors.As(err, &shared) && shared.logged.Swap(true) {
		return
	}
	p.log.ErrorContext(ctx, "a request failed", "error", err, "path", graphql.GetPath(ctx).String(), "requestId", wire.RequestID(ctx))
}

// logCursorExpired tells a follower of a log where to go on.
func logCursorExpired(e *syslog.CursorExpiredError) *fault.Fault {
	f := fault.New(fault.BadRequest, "%s", e.Error())
	f.Extra = map[string]any{"userErrorCode": codeLogCursorExpired, "firstCursor": string(e.First)}
	return f
}

// introspected says whether the field is one of introspection, whose only error
// is that it is switched off.
func introspected(ctx context.Context) bool {
	fc := graphql.GetFieldContext(ctx)
	if fc == nil || fc.Field.Field == nil {
		return false
	}
	return fc.Field.Name == "__schema" || fc.Field.Name == "__type"
}

// toField makes the path of an error end at the response field, as the
// specification asks, and answers the argument that was behind it, if any, in
// the form of a beginning of the message.
func toField(ctx context.Context, err *gqlerror.Error) (prefix string) {
	fc := graphql.GetFieldContext(ctx)
	if fc == nil {
		return ""
	}
	field := fc.Path()
	if len(err.Path) <= len(field) || ast.Path(err.Path[:len(field)]).String() != field.String() {
		return ""
	}
	argument := err.Path[len(field):]
	err.Path = field
	return argument.String() + ": "
}

// endOf is the error that ends a subscription which was under way.
func (p presenter) endOf(ctx context.Context, err error) *gqlerror.Error {
	f := p.faultOf(ctx, err)
	out := gqlerror.Errorf("%s", f.Message)
	out.Extensions = map[string]any{"code": string(f.Code)}
	for k, v := range f.Extra {
		out.Extensions[k] = v
	}
	return out
}
