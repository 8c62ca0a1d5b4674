package graphqlws

import (
	"encoding/json"
	"sync"
	"unicode/utf8"

	"github.com/gorilla/websocket"
)

// Close codes of the protocol and of RFC 6455 that this server sends.
const (
	closeBadUTF8      = websocket.CloseInvalidFramePayloadData // 1007
	closeRestart      = websocket.CloseServiceRestart          // 1012
	closeTryAgain     = websocket.CloseTryAgainLater           // 1013
	closeBadMessage   = 4400
	closeUnauthorized = 4401
	closeForbidden    = 4403
	closeSubprotocol  = 4406
	closeInitTimeout  = 4408
	closeDuplicateID  = 4409
	closeTooManyInits = 4429
	closeSlow         = 4499
)

// maxCloseReason is what fits into a control frame beside the code.
const maxCloseReason = 123

// message is one message of a client.
type message struct {
	ID      string          `json:"id"`
	Type    string          `json:"type"`
	Payload json.RawMessage `json:"payload"`
}

// The types of messages.
const (
	typeInit      = "connection_init"
	typePing      = "ping"
	typePong      = "pong"
	typeSubscribe = "subscribe"
	typeComplete  = "complete"
)

// Messages without an id never change.
const (
	ackMessage  = `{"type":"connection_ack"}`
	pingMessage = `{"type":"ping"}`
)

// isObject tells that an optional payload is absent, null or an object, which
// is all that the protocol allows for connection_init, ping and pong.
func isObject(payload json.RawMessage) bool {
	return len(payload) == 0 || payload[0] == '{' || string(payload) == "null"
}

// appendHead starts the message of an operation; the payload and a closing
// brace are to follow.
func appendHead(dst []byte, kind, id string) []byte {
	dst = append(append(append(dst, `{"type":"`...), kind...), `","id":`...)
	quoted, _ := json.Marshal(id) // a string can always be encoded
	return append(dst, quoted...)
}

// appendPayload starts the payload.
func appendPayload(dst []byte) []byte { return append(dst, `,"payload":`...) }

// clipReason cuts a close reason to the size of a control frame.
func clipReason(reason string) string {
	if len(reason) <= maxCloseReason {
		return reason
	}
	reason = reason[:maxCloseReason]
	for !utf8.ValidString(reason) {
		reason = reason[:len(reason)-1]
	}
	return reason
}

// maxPooled keeps one huge message from living on in the pool.
const maxPooled = 64 << 10

// buffers lend the memory in which messages are put together.
type buffers struct{ pool sync.Pool }

func (b *buffers) get() *[]byte {
	if buf, ok := b.pool.Get().(*[]byte); ok {
		return buf
	}
	return new(make([]byte, 0, 1<<10))
}

func (b *buffers) put(buf *[]byte) {
	if cap(*buf) <= maxPooled {
		*buf = (*buf)[:0]
		b.pool.Put(buf)
	}
}
