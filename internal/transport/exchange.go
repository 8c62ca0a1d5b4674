package transport

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"biztraak.dev/vm/internal/fault"
	"biztraak.dev/vm/internal/transport/wire"
)

// writeTimeout is how long a client may take to accept an answer. It starts
// when the answer is ready, so that it does not limit the work itself.
const writeTimeout = 30 * time.Second

// exchange is one GraphQL request over HTTP and its answer.
type exchange struct {
	w         http.ResponseWriter
	r         *http.Request
	exec      graphql.GraphExecutor
	mediaType string
}

// begin negotiates the media type. On false the request has been answered.
func begin(w http.ResponseWriter, r *http.Request, exec graphql.GraphExecutor) (*exchange, bool) {
	mediaType, ok := negotiate(r.Header)
	x := &exchange{w: w, r: r, exec: exec, mediaType: mediaType}
	if !ok {
		x.mediaType = typeJSON
		x.refuse(http.StatusNotAcceptable, wire.NewError(fault.BadRequest,
			"answers come as %s or %s; accept one of them", typeResponse, typeJSON))
	}
	return x, ok
}

// run executes params. permit says whether this kind of operation may be run
// by this method; its error is answered with the status it gives.
func (x *exchange) run(params *graphql.RawParams, permit func(ast.Operation) (int, *gqlerror.Error)) {
	params.Headers = x.r.Header
	ctx := x.r.Context()
	opCtx, errs := x.exec.CreateOperationContext(ctx, params)
	if len(errs) > 0 {
		resp := x.exec.DispatchError(graphql.WithOperationContext(ctx, opCtx), errs)
		x.write(x.statusOf(resp), resp)
		return
	}
	if status, err := permit(opCtx.Operation.Operation); err != nil {
		x.refuse(status, err)
		return
	}
	next, ctx := x.exec.DispatchOperation(ctx, opCtx)
	resp := next(ctx)
	if resp == nil {
		// The executor yields nothing once the context has ended.
		resp = &graphql.Response{Errors: gqlerror.List{
			wire.NewError(fault.Unavailable, "the request was canceled before it was finished")}}
	}
	x.write(x.statusOf(resp), resp)
}

// statusOf maps a response to its HTTP status. An executed operation is 200
// whatever its errors; a refused document is 400, but 200 in application/json,
// where older clients take any other status for a broken server. Refusals that
// proxies and retry logic act upon keep their status in both.
func (x *exchange) statusOf(resp *graphql.Response) int {
	if !wire.IsRefusal(resp) {
		return http.StatusOK
	}
	switch wire.CodeOf(resp.Errors[0]) {
	case fault.Unauthenticated:
		return http.StatusUnauthorized
	case fault.TopForbidden:
		return http.StatusForbidden
	case fault.RateLimited:
		return http.StatusTooManyRequests
	case fault.Unavailable:
		return http.StatusServiceUnavailable
	case fault.Internal:
		return http.StatusInternalServerError
	default: // a refused document
	}
	if x.mediaType == typeResponse {
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// refuse answers a request that is not run at all.
func (x *exchange) refuse(status int, err *gqlerror.Error) {
	x.write(status, &graphql.Response{Errors: gqlerror.List{err}})
}

// write encodes resp once and sends it within writeTimeout.
func (x *exchange) write(status int, resp *graphql.Response) {
	body, err := wire.AppendResponse(make([]byte, 0, len(resp.Data)+256), resp)
	if err != nil {
		status = http.StatusInternalServerError
		body, _ = wire.AppendResponse(nil, &graphql.Response{Errors: gqlerror.List{internalError(x.r.Context())}})
	}
	control := http.NewResponseController(x.w)
	// Neither deadline call can be relied upon (a recorder has none), and a
	// missing one only loses the limit.
	_ = control.SetWriteDeadline(time.Now().Add(writeTimeout))
	header := x.w.Header()
	header.Set("Content-Type", x.mediaType+"; charset=utf-8")
	header.Set("Content-Length", strconv.Itoa(len(body)))
	header.Set("Cache-Control", "no-store")
	header.Add("Vary", "Accept")
	x.w.WriteHeader(status)
	if _, err := x.w.Write(body); err != nil { //nolint:gosec // JSON under a JSON type and nosniff, never a page
		return // The client is gone; net/http closes the connection.
	}
	// Without the flush the last bytes would be written after this handler, under
	// no deadline; and a deadline left behind would hit the next request of a
	// kept-alive connection.
	if control.Flush() == nil {
		_ = control.SetWriteDeadline(time.Time{})
	}
}

// recovered answers a panic of the executor or of a resolver that was not
// recovered further down. It is to be deferred.
func (x *exchange) recovered() {
	cause := recover()
	if cause == nil {
		return
	}
	if err, ok := cause.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(cause)
	}
	x.refuse(http.StatusInternalServerError, presentPanic(x.r.Context(), x.exec, cause))
}

// presentPanic gives a panic to the recover function of the executor, which
// logs it, and to its presenter, which masks it.
func presentPanic(ctx context.Context, exec graphql.GraphExecutor, cause any) *gqlerror.Error {
	presenter, ok := exec.(interface {
		PresentRecoveredError(ctx context.Context, err any) error
	})
	if ok {
		var presented *gqlerror.Error
		if errors.As(presenter.PresentRecoveredError(ctx, cause), &presented) {
			return presented
		}
	}
	return internalError(ctx)
}

func internalError(ctx context.Context) *gqlerror.Error {
	err := wire.NewError(fault.Internal, "internal error")
	if id := wire.RequestID(ctx); id != "" {
		err.Extensions["requestId"] = id
	}
	return err
}
