package transport

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"biztraak.dev/vm/internal/fault"
	"biztraak.dev/vm/internal/transport/wire"
)

// GET runs queries whose parameters are in the URL: `query`, `operationName`,
// and `variables` and `extensions` as JSON. A GET must be safe (RFC 9110 9.2.1),
// so mutations are refused with 405. The zero value is ready to use.
type GET struct{}

var _ graphql.Transport = GET{}

// Supports takes every GET that is not a WebSocket handshake.
func (GET) Supports(r *http.Request) bool {
	return r.Method == http.MethodGet && !isUpgrade(r)
}

// Do runs and answers one request.
func (GET) Do(w http.ResponseWriter, r *http.Request, exec graphql.GraphExecutor) {
	x, ok := begin(w, r, exec)
	if !ok {
		return
	}
	defer x.recovered()
	start := graphql.Now()
	// There is no body: the read deadline of the server has done its work, and
	// would cancel an operation that takes longer.
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	params, err := paramsOfURL(r.URL.RawQuery)
	if err != nil {
		x.refuse(http.StatusBadRequest, err)
		return
	}
	params.ReadTime = graphql.TraceTiming{Start: start, End: graphql.Now()}
	x.run(params, x.permitGET)
}

func (x *exchange) permitGET(kind ast.Operation) (int, *gqlerror.Error) {
	switch kind {
	case ast.Query:
		return 0, nil
	case ast.Subscription:
		return http.StatusBadRequest, subscriptionHint()
	default:
		x.w.Header().Set("Allow", http.MethodPost)
		return http.StatusMethodNotAllowed, wire.NewError(fault.BadRequest, "a GET runs queries only; send the mutation by POST")
	}
}

func paramsOfURL(rawQuery string) (*graphql.RawParams, *gqlerror.Error) {
	values, err := url.ParseQuery(rawQuery)
	if err != nil {
		return nil, wire.NewError(fault.BadRequest, "the query string is malformed")
	}
	params := &graphql.RawParams{Query: values.Get("query"), OperationName: values.Get("operationName")}
	if strings.TrimSpace(params.Query) == "" {
		return nil, wire.NewError(fault.BadRequest, "the parameter \"query\" is required and must hold a GraphQL document")
	}
	var refused *gqlerror.Error
	if params.Variables, refused = wire.DecodeObject("variables", values.Get("variables")); refused != nil {
		return nil, refused
	}
	if params.Extensions, refused = wire.DecodeObject("extensions", values.Get("extensions")); refused != nil {
		return nil, refused
	}
	return params, nil
}
