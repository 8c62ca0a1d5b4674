package transport

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"biztraak.dev/vm/internal/fault"
	"biztraak.dev/vm/internal/transport/wire"
)

const (
	// MaxBody is the largest request body in bytes.
	MaxBody = 1 << 20
	// bodyTimeout is how long a client may take to send the body.
	bodyTimeout = 10 * time.Second
)

// POST runs queries and mutations that are sent as a JSON body. The zero value
// is ready to use.
type POST struct {
	// BodyTimeout is how long a client may take to send the body; 0 means 10 s.
	BodyTimeout time.Duration
}

var _ graphql.Transport = POST{}

// Supports takes every POST, so that a wrong content type gets an answer that
// says so.
func (POST) Supports(r *http.Request) bool {
	return r.Method == http.MethodPost
}

// Do reads, runs and answers one request.
func (t POST) Do(w http.ResponseWriter, r *http.Request, exec graphql.GraphExecutor) {
	x, ok := begin(w, r, exec)
	if !ok {
		return
	}
	defer x.recovered()
	if err := checkContent(r.Header); err != nil {
		x.refuse(http.StatusUnsupportedMediaType, err)
		return
	}
	start := graphql.Now()
	raw, status, err := t.readBody(w, r)
	if err != nil {
		x.refuse(status, err)
		return
	}
	params, err := wire.DecodeParams(raw)
	if err != nil {
		x.refuse(http.StatusBadRequest, err)
		return
	}
	params.ReadTime = graphql.TraceTiming{Start: start, End: graphql.Now()}
	x.run(params, permitPOST)
}

func permitPOST(kind ast.Operation) (int, *gqlerror.Error) {
	if kind == ast.Subscription {
		return http.StatusBadRequest, subscriptionHint()
	}
	return 0, nil
}

func subscriptionHint() *gqlerror.Error {
	return wire.NewError(fault.BadRequest,
		"subscriptions run over a WebSocket at the same path, subprotocol graphql-transport-ws")
}

// checkContent accepts plain JSON only. Form types and text/plain are what a
// page of another origin can send without asking first, and a compressed body
// would get round the size limit.
func checkContent(h http.Header) *gqlerror.Error {
	mediaType, params, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil || mediaType != typeJSON {
		return wire.NewError(fault.BadRequest, "the Content-Type must be %s", typeJSON)
	}
	if !isUTF8(params["charset"]) {
		return wire.NewError(fault.BadRequest, "the charset of the body must be utf-8")
	}
	if encoding := h.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return wire.NewError(fault.BadRequest, "the body must not be compressed")
	}
	return nil
}

// readBody reads at most MaxBody bytes within the body timeout. The status
// belongs to the error.
func (t POST) readBody(w http.ResponseWriter, r *http.Request) ([]byte, int, *gqlerror.Error) {
	timeout := t.BodyTimeout
	if timeout == 0 {
		timeout = bodyTimeout
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(timeout)) // a recorder has none
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case err == nil:
		// net/http watches the connection while the operation runs. A deadline
		// left behind would end that watch and cancel the operation.
		_ = control.SetReadDeadline(time.Time{})
		return raw, 0, nil
	case errors.As(err, &tooLarge):
		return nil, http.StatusRequestEntityTooLarge,
			wire.NewError(fault.BadRequest, "the body is larger than %d bytes", MaxBody)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, http.StatusRequestTimeout,
			wire.NewError(fault.BadRequest, "the body did not arrive within %s", timeout)
	default:
		return nil, http.StatusBadRequest, wire.NewError(fault.BadRequest, "the body could not be read")
	}
}
