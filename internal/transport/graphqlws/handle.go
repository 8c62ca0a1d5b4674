package graphqlws

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gorilla/websocket"

	"biztraak.dev/vm/internal/transport"
)

// handle acts on one message. A code other than 0 closes the connection.
func (c *conn) handle(kind int, data []byte) (code int, reason string) {
	if kind != websocket.TextMessage {
		return closeBadMessage, "Invalid message: text frames only"
	}
	if !utf8.Valid(data) {
		return closeBadUTF8, "Invalid UTF-8"
	}
	var m message
	if err := json.Unmarshal(data, &m); err != nil {
		return closeBadMessage, "Invalid message: not a JSON object of the protocol"
	}
	switch m.Type {
	case typeInit:
		return c.init(m.Payload)
	case typePing:
		if !isObject(m.Payload) {
			return closeBadMessage, "Invalid message: payload of ping"
		}
		c.pong(m.Payload)
	case typePong:
		if !isObject(m.Payload) {
			return closeBadMessage, "Invalid message: payload of pong"
		}
	case typeSubscribe:
		return c.subscribe(m)
	case typeComplete:
		if m.ID == "" {
			return closeBadMessage, "Invalid message: complete without id"
		}
		c.complete(m.ID)
	default:
		return closeBadMessage, "Invalid message: unknown type"
	}
	return 0, ""
}

// pong answers a ping with its own payload.
func (c *conn) pong(payload json.RawMessage) {
	buf := c.buffers.get()
	defer c.buffers.put(buf)
	*buf = append(*buf, `{"type":"pong"`...)
	if len(payload) > 0 && payload[0] == '{' {
		*buf = append(appendPayload(*buf), payload...)
	}
	*buf = append(*buf, '}')
	_ = c.write(*buf) // a failed write has ended the connection
}

// init authenticates. The timer of connection_init has done its work once the
// message is here; the Authenticator gets a limit of its own.
func (c *conn) init(payload json.RawMessage) (int, string) {
	if c.inited {
		return closeTooManyInits, "Too many initialisation requests"
	}
	c.inited = true
	c.initTimer.Stop()
	token, ok := tokenOf(payload)
	if !ok {
		return closeBadMessage, "Invalid message: payload of connection_init"
	}
	if token == "" {
		return closeForbidden, "Forbidden: connection_init needs {\"authorization\":\"Bearer <token>\"}"
	}
	ctx, cancel := context.WithTimeout(c.ctx, c.options.InitTimeout)
	defer cancel()
	identity, err := c.options.Authenticator.Authenticate(ctx, token)
	switch {
	case errors.Is(err, transport.ErrUnauthenticated):
		return closeForbidden, "Forbidden"
	case err != nil:
		c.options.Log.WarnContext(c.ctx, "websocket token could not be checked", "error", err)
		return closeTryAgain, "The token cannot be checked now"
	case !identity.ExpiresAt.IsZero() && !time.Now().Before(identity.ExpiresAt):
		return closeForbidden, "The token has expired"
	case !c.options.Registry.claim(c, identity.User):
		return closeTryAgain, "Too many connections of this user"
	}
	c.ctx = identity.Apply(c.ctx)
	if !identity.ExpiresAt.IsZero() {
		c.after(time.Until(identity.ExpiresAt), func() { c.close(closeForbidden, "The token has expired") })
	}
	c.acked = true
	if c.write([]byte(ackMessage)) == nil {
		c.keepAlive()
	}
	return 0, ""
}

// tokenOf reads the payload of connection_init. The key is "authorization"; as
// for the header of that name, case does not matter. It reports false for a
// payload that is no object, and "" when there is no usable token.
func tokenOf(payload json.RawMessage) (string, bool) {
	if len(payload) == 0 {
		return "", true
	}
	var fields map[string]any
	if err := json.Unmarshal(payload, &fields); err != nil {
		return "", false
	}
	for key, value := range fields {
		if text, ok := value.(string); ok && strings.EqualFold(key, "authorization") {
			token, _ := transport.Bearer(text)
			return token, true
		}
	}
	return "", true
}

// keepAlive pings at each interval. The peer's answer extends the read deadline
// and shows proxies on the way that the connection is in use.
func (c *conn) keepAlive() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closing {
		c.pinger = time.AfterFunc(c.options.PingInterval, c.ping)
		c.timers = append(c.timers, c.pinger)
	}
}

func (c *conn) ping() {
	if c.write([]byte(pingMessage)) != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closing {
		c.pinger.Reset(c.options.PingInterval)
	}
}
