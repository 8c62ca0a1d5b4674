package graphqlws

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/gorilla/websocket"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"biztraak.dev/vm/internal/fault"
	"biztraak.dev/vm/internal/transport/wire"
)

// Subprotocol is the name that a client has to offer in Sec-WebSocket-Protocol.
const Subprotocol = "graphql-transport-ws"

const (
	handshakeTimeout = 10 * time.Second
	// Clients send little, so the buffer that each connection keeps is small;
	// write buffers are pooled and held only during a write.
	readBuffer  = 1 << 10
	writeBuffer = 4 << 10
)

// Transport serves WebSockets to a gqlgen server. Make it with New.
type Transport struct {
	options  Options
	upgrader websocket.Upgrader
}

var _ graphql.Transport = (*Transport)(nil)

// New makes a transport.
func New(options Options) *Transport {
	t := &Transport{options: options.withDefaults()}
	t.upgrader = websocket.Upgrader{
		HandshakeTimeout: handshakeTimeout,
		ReadBufferSize:   readBuffer,
		WriteBufferSize:  writeBuffer,
		WriteBufferPool:  &sync.Pool{},
		Subprotocols:     []string{Subprotocol},
		Error:            refuseHandshake,
	}
	if options.Origins != nil {
		t.upgrader.CheckOrigin = func(r *http.Request) bool {
			origin := r.Header.Get("Origin")
			return origin == "" || options.Origins(origin)
		}
	}
	return t
}

// Supports takes every WebSocket handshake, the malformed ones too: they get an
// answer that says what is wrong.
func (t *Transport) Supports(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.EqualFold(r.Header.Get("Upgrade"), "websocket")
}

// Do upgrades the connection and returns; the connection lives on in its own
// goroutine. That frees what the HTTP server keeps for a request, more than the
// connection itself needs. The context of the request ends here, so operations
// get a fresh one with the request id and, after connection_init, the actor.
func (t *Transport) Do(w http.ResponseWriter, r *http.Request, exec graphql.GraphExecutor) {
	if !t.options.Registry.open() {
		w.Header().Set("Retry-After", "2")
		refuse(w, http.StatusServiceUnavailable, wire.NewError(fault.Unavailable, "the server takes no more connections now"))
		return
	}
	hijacker := pacingHijacker{ResponseWriter: w}
	ws, err := t.upgrader.Upgrade(&hijacker, r, nil)
	if err != nil {
		t.options.Log.DebugContext(r.Context(), "websocket handshake refused", "error", err)
		return
	}
	c := newConn(wire.WithRequestID(context.Background(), wire.RequestID(r.Context())), t.options, ws, exec)
	hijacker.conn.start(t.options.WriteTimeout, t.options.CloseTimeout, c.stalled)
	if code, reason := t.options.Registry.add(c); code != 0 {
		c.close(code, reason)
	} else if ws.Subprotocol() != Subprotocol {
		c.close(closeSubprotocol, "Subprotocol not acceptable")
	}
	go c.serve()
}

// pacingHijacker hands gorilla a connection whose writes are watched.
type pacingHijacker struct {
	http.ResponseWriter
	conn *pacedConn
}

// Hijack takes the connection over from the HTTP server.
func (h *pacingHijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	h.conn = &pacedConn{Conn: conn}
	return h.conn, rw, nil
}

// refuseHandshake answers a handshake that gorilla found wanting. Its reasons
// are fixed texts about the request's headers.
func refuseHandshake(w http.ResponseWriter, _ *http.Request, status int, reason error) {
	code := fault.BadRequest
	if status == http.StatusForbidden {
		code = fault.TopForbidden
	}
	w.Header().Set("Sec-Websocket-Version", "13")
	refuse(w, status, wire.NewError(code, "%s", strings.TrimPrefix(reason.Error(), "websocket: ")))
}

func refuse(w http.ResponseWriter, status int, err *gqlerror.Error) {
	body, _ := wire.AppendResponse(nil, &graphql.Response{Errors: gqlerror.List{err}})
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that is gone needs no answer
}
