package graphqlws

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/gorilla/websocket"
)

// conn is one connection. Its reader goroutine runs serve and owns what is not
// said to be guarded.
type conn struct {
	options Options
	ws      *websocket.Conn
	exec    graphql.GraphExecutor
	buffers *buffers

	// ctx is given to operations; the reader adds the actor to it.
	ctx    context.Context
	cancel context.CancelFunc
	inited bool
	acked  bool
	// initTimer closes the connection if connection_init does not come.
	initTimer *time.Timer
	// user is guarded by the registry: it is set when a place was claimed.
	user string

	// writing holds a token during a write: gorilla allows one writer at a time.
	// Whoever waits for it gives up when over is closed, so that a stuck write
	// keeps nobody but itself.
	writing chan struct{}
	over    <-chan struct{}

	mu      sync.Mutex // guards the rest
	closing bool
	timers  []*time.Timer
	pinger  *time.Timer
	ops     map[string]*operation
	// active counts the goroutines of operations, those included that were
	// completed by the client and have not come back from their resolver yet.
	active  int
	running sync.WaitGroup
}

func newConn(ctx context.Context, options Options, ws *websocket.Conn, exec graphql.GraphExecutor) *conn {
	c := &conn{options: options, ws: ws, exec: exec, buffers: &options.Registry.buffers}
	c.ctx, c.cancel = context.WithCancel(ctx)
	c.writing, c.over = make(chan struct{}, 1), c.ctx.Done()
	ws.SetReadLimit(options.ReadLimit)
	// Control frames do not come out of ReadMessage, yet are a sign of life.
	ws.SetPongHandler(func(string) error { c.extend(); return nil })
	answer := ws.PingHandler()
	ws.SetPingHandler(func(data string) error { c.extend(); return answer(data) })
	c.initTimer = c.after(options.InitTimeout, func() { c.close(closeInitTimeout, "Connection initialisation timeout") })
	return c
}

// serve reads until the connection ends, and returns when all that it had
// started has ended too.
func (c *conn) serve() {
	defer c.finish()
	c.extend()
	for {
		kind, data, err := c.ws.ReadMessage()
		if err != nil {
			c.readFailed(err)
			return
		}
		c.extend()
		// Once a close was sent the rest is read only to let the peer answer it;
		// closing the socket over unread data would destroy the close frame.
		if c.isClosing() {
			continue
		}
		if code, reason := c.handle(kind, data); code != 0 {
			c.close(code, reason)
		}
	}
}

// extend gives the peer time until the next sign of life.
func (c *conn) extend() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closing {
		silence := time.Duration(silentPings * float64(c.options.PingInterval))
		_ = c.ws.SetReadDeadline(time.Now().Add(silence)) // fails only on a closed socket
	}
}

func (c *conn) isClosing() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closing
}

// readFailed closes properly what can still be closed.
func (c *conn) readFailed(err error) {
	var closed *websocket.CloseError
	var network net.Error // gorilla hides os.ErrDeadlineExceeded
	switch {
	case errors.As(err, &closed), errors.Is(err, io.EOF), errors.Is(err, net.ErrClosed), c.isClosing():
		return // the peer has closed, or has had its time to
	case errors.As(err, &network) && network.Timeout():
		c.close(closeSlow, "No sign of life")
	default:
		// Too large or not a WebSocket frame: gorilla has sent the close code.
		c.drain()
	}
	c.options.Log.DebugContext(c.ctx, "websocket read failed", "error", err)
}

// drain reads on past gorilla, which reads no more after a fault in a frame.
func (c *conn) drain() {
	raw := c.ws.NetConn()
	_ = raw.SetReadDeadline(time.Now().Add(c.options.CloseTimeout))
	_, _ = io.Copy(io.Discard, raw) // whatever ends it, the socket is closed next
}

// close sends a close frame, ends all operations and leaves it to the reader to
// finish. Only the first call counts. Safe from any goroutine that does not
// hold the write lock.
func (c *conn) close(code int, reason string) {
	if !c.beginClose() {
		return
	}
	deadline := time.Now().Add(c.options.CloseTimeout)
	_ = c.ws.SetReadDeadline(deadline)
	frame := websocket.FormatCloseMessage(code, clipReason(reason))
	// If a stuck write holds the socket until the deadline, the peer never learns
	// the code; nothing can be done about that.
	if err := c.ws.WriteControl(websocket.CloseMessage, frame, deadline); err != nil {
		c.options.Log.DebugContext(context.Background(), "websocket close frame not sent", "code", code, "error", err)
	}
}

// beginClose marks the connection and reports whether this was the first call.
func (c *conn) beginClose() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing {
		return false
	}
	c.closing = true
	for _, timer := range c.timers {
		timer.Stop()
	}
	c.timers = nil
	c.cancel()
	return true
}

// stalled is called out of a write that makes no progress. The close frame has
// to wait for that write, so it gets a goroutine; it lives for CloseTimeout at
// most.
func (c *conn) stalled() { go c.close(closeSlow, "Too slow") }

// abort drops the socket; the reader then finishes.
func (c *conn) abort() {
	c.beginClose()
	_ = c.ws.Close()
}

// finish ends everything that belongs to the connection.
func (c *conn) finish() {
	c.beginClose()
	_ = c.ws.Close()
	c.running.Wait()
	c.options.Registry.remove(c)
}

// after runs f once in d, unless the connection closes before; nil if it has.
// Timers and not goroutines, so that an idle connection stays at one goroutine.
func (c *conn) after(d time.Duration, f func()) *time.Timer {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing {
		return nil
	}
	timer := time.AfterFunc(d, f)
	c.timers = append(c.timers, timer)
	return timer
}

var errClosing = errors.New("the connection is closing")

// write sends one message. It blocks while the peer does not take it.
func (c *conn) write(data []byte) error {
	if !c.lockWriting() {
		return errClosing
	}
	defer c.unlockWriting()
	return c.writeLocked(data)
}

// lockWriting waits for the turn to write; false when the connection has ended.
func (c *conn) lockWriting() bool {
	select {
	case c.writing <- struct{}{}:
		return true
	case <-c.over:
		return false
	}
}

func (c *conn) unlockWriting() { <-c.writing }

func (c *conn) writeLocked(data []byte) error {
	if c.isClosing() {
		return errClosing
	}
	err := c.ws.WriteMessage(websocket.TextMessage, data)
	if err != nil {
		c.abort()
	}
	return err
}
