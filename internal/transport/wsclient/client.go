// Package wsclient is a small graphql-transport-ws client: what the demo and the
// tests of the whole system follow subscriptions with.
//
// It keeps one connection and does not reconnect: whoever uses it decides that
// by the close code. It knows the protocol and nothing of the schema.
package wsclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

const (
	subprotocol  = "graphql-transport-ws"
	writeTimeout = 10 * time.Second
	// queue is how many messages a stream holds before the connection waits for
	// its reader: back-pressure reaches the server.
	queue = 16
)

// CloseError says that the connection has ended and how.
type CloseError struct {
	// Code is the close code; 1006 when there was none.
	Code   int
	Reason string
}

// Error gives the code and the reason.
func (e *CloseError) Error() string {
	return fmt.Sprintf("the connection was closed with %d %s", e.Code, e.Reason)
}

// ErrComplete is the end of a stream that has told all.
var ErrComplete = errors.New("the stream is complete")

// OperationError is an `error` message: the operation was refused or has failed.
type OperationError struct {
	// Errors are the GraphQL errors, as they came.
	Errors json.RawMessage
}

// Error gives the errors as JSON.
func (e *OperationError) Error() string { return "the operation failed: " + string(e.Errors) }

type message struct {
	ID      string          `json:"id,omitempty"`
	Type    string          `json:"type"`
	Payload json.RawMessage `json:"payload,omitempty"`
}

// Conn is one connection, after its connection_ack.
type Conn struct {
	ws    *websocket.Conn
	write sync.Mutex

	mu      sync.Mutex // guards the rest
	streams map[string]*Stream
	next    int
	err     error
	done    chan struct{}
}

// Dial connects to a GraphQL endpoint, http or https, with an access token.
func Dial(ctx context.Context, endpoint, token string) (*Conn, error) {
	d := websocket.Dialer{Subprotocols: []string{subprotocol}, HandshakeTimeout: writeTimeout}
	ws, res, err := d.DialContext(ctx, "ws"+strings.TrimPrefix(endpoint, "http"), nil)
	if res != nil {
		_ = res.Body.Close() // gorilla has read it
	}
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", endpoint, err)
	}
	c := &Conn{ws: ws, streams: map[string]*Stream{}, done: make(chan struct{})}
	payload, err := json.Marshal(map[string]string{"authorization": "Bearer " + token})
	if err != nil {
		return nil, err
	}
	if err := c.send(message{Type: "connection_init", Payload: payload}); err != nil {
		return nil, errors.Join(err, ws.Close())
	}
	var ack message
	if err := ws.ReadJSON(&ack); err != nil {
		return nil, errors.Join(closeError(err), ws.Close())
	}
	if ack.Type != "connection_ack" {
		return nil, errors.Join(fmt.Errorf("the server answered %q to connection_init", ack.Type), ws.Close())
	}
	go c.read()
	return c, nil
}

func (c *Conn) send(m message) error {
	c.write.Lock()
	defer c.write.Unlock()
	_ = c.ws.SetWriteDeadline(time.Now().Add(writeTimeout))
	return c.ws.WriteJSON(m)
}

// Close ends the connection.
func (c *Conn) Close() error {
	c.write.Lock()
	_ = c.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""),
		time.Now().Add(time.Second))
	c.write.Unlock()
	err := c.ws.Close()
	<-c.done
	return err
}

// Done is closed when the connection has ended; Err says how.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Err is how the connection ended; nil while it lives.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

func (c *Conn) read() {
	var err error
	for err == nil {
		var m message
		if err = c.ws.ReadJSON(&m); err == nil {
			err = c.take(m)
		}
	}
	c.mu.Lock()
	c.err = closeError(err)
	c.mu.Unlock()
	_ = c.ws.Close()
	close(c.done)
}

func (c *Conn) take(m message) error {
	if m.Type == "ping" {
		return c.send(message{Type: "pong"})
	}
	c.mu.Lock()
	s := c.streams[m.ID]
	if s != nil && m.Type != "next" {
		delete(c.streams, m.ID)
	}
	c.mu.Unlock()
	if s == nil {
		return nil
	}
	select {
	case s.in <- m:
	case <-s.stopped:
	}
	return nil
}

func closeError(err error) error {
	var closed *websocket.CloseError
	if errors.As(err, &closed) {
		return &CloseError{Code: closed.Code, Reason: closed.Text}
	}
	return &CloseError{Code: websocket.CloseAbnormalClosure, Reason: err.Error()}
}

// Stream is one subscription.
type Stream struct {
	conn    *Conn
	id      string
	in      chan message
	stopped chan struct{}
	once    sync.Once
}

// Subscribe begins an operation.
func (c *Conn) Subscribe(query string, variables map[string]any) (*Stream, error) {
	payload, err := json.Marshal(map[string]any{"query": query, "variables": variables})
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.next++
	s := &Stream{conn: c, id: strconv.Itoa(c.next), in: make(chan message, queue), stopped: make(chan struct{})}
	c.streams[s.id] = s
	c.mu.Unlock()
	if err := c.send(message{ID: s.id, Type: "subscribe", Payload: payload}); err != nil {
		return nil, fmt.Errorf("subscribe: %w", err)
	}
	return s, nil
}

// Next waits for the next result: the whole of {"data": …, "errors": …}. It
// answers ErrComplete at the end, an *OperationError when the operation was
// refused, and a *CloseError when the connection has ended.
func (s *Stream) Next(ctx context.Context) (json.RawMessage, error) {
	var m message
	select {
	case m = <-s.in:
	default:
		select {
		case m = <-s.in:
		case <-s.conn.done:
			select { // what came before the end is not lost
			case m = <-s.in:
			default:
				return nil, s.conn.Err()
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	switch m.Type {
	case "next":
		return m.Payload, nil
	case "complete":
		return nil, ErrComplete
	}
	return nil, &OperationError{Errors: m.Payload}
}

// Stop ends the subscription.
func (s *Stream) Stop() error {
	var err error
	s.once.Do(func() {
		close(s.stopped)
		s.conn.mu.Lock()
		_, live := s.conn.streams[s.id]
		delete(s.conn.streams, s.id)
		s.conn.mu.Unlock()
		if live {
			err = s.conn.send(message{ID: s.id, Type: "complete"})
		}
	})
	return err
}
