package transport

import (
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"biztraak.dev/vm/internal/transport/wire"
)

// writeError answers with a GraphQL-shaped error outside of the executor.
func writeError(w http.ResponseWriter, status int, err *gqlerror.Error) {
	body, _ := wire.AppendResponse(nil, &graphql.Response{Errors: gqlerror.List{err}})
	writeBody(w, status, body)
}

// writeJSON answers with any value that can be encoded.
func writeJSON(w http.ResponseWriter, status int, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		status, body = http.StatusInternalServerError, []byte(`{"status":"error"}`)
	}
	writeBody(w, status, body)
}

func writeBody(w http.ResponseWriter, status int, body []byte) {
	header := w.Header()
	header.Set("Content-Type", typeJSON+"; charset=utf-8")
	header.Set("Content-Length", strconv.Itoa(len(body)))
	header.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	// A client that is gone is not an event of ours; the access log has it.
	_, _ = w.Write(body)
}
