package graphqlws

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// Caps limit what a Registry admits. Zero values take the defaults.
type Caps struct {
	// Connections is how many connections the process holds: 10,000. One more is
	// upgraded only to be closed with 1013.
	Connections int
	// PerUser is how many of them one user may have: 20. One more is closed with
	// 1013 after connection_init.
	PerUser int
	// ShutdownSpread is the time over which Shutdown spreads its goodbyes, so
	// that the clients do not all come back to the next process at once: 5 s.
	ShutdownSpread time.Duration
}

// Stats is a snapshot of a Registry.
type Stats struct {
	// Connections are the open sockets, those included that are closing.
	Connections int
	// Operations are the running operations.
	Operations int
}

const reasonRestart = "Service restart"

// Registry knows all connections of the process: http.Server forgets a
// connection once it has become a WebSocket, and its Shutdown neither tells nor
// awaits it. Make it with NewRegistry.
type Registry struct {
	caps       Caps
	buffers    buffers
	operations atomic.Int64

	mu    sync.Mutex // guards the rest, and conn.user
	conns map[*conn]struct{}
	users map[string]int
	// gone is made by Shutdown and closed when no connection is left.
	gone chan struct{}
}

// NewRegistry makes an empty registry.
func NewRegistry(caps Caps) *Registry {
	setDefault(&caps.Connections, 10_000)
	setDefault(&caps.PerUser, 20)
	setDefault(&caps.ShutdownSpread, 5*time.Second)
	return &Registry{caps: caps, conns: map[*conn]struct{}{}, users: map[string]int{}}
}

// Stats counts now.
func (r *Registry) Stats() Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	return Stats{Connections: len(r.conns), Operations: int(r.operations.Load())}
}

// open tells whether handshakes are answered at all: not during shutdown, and
// not while twice the cap is there, which is a flood whose members are still
// being told to go.
func (r *Registry) open() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.gone == nil && len(r.conns) < 2*r.caps.Connections
}

// add registers c, in any case. A code other than 0 says that c has to be closed
// with it: c is over the cap, or its handshake was overtaken by Shutdown.
func (r *Registry) add(c *conn) (code int, reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.conns[c] = struct{}{}
	switch {
	case r.gone != nil:
		return closeRestart, reasonRestart
	case len(r.conns) > r.caps.Connections:
		return closeTryAgain, "Too many connections"
	}
	return 0, ""
}

// claim gives c one of the places of its user. An empty user has no cap.
func (r *Registry) claim(c *conn, user string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if user == "" {
		return true
	}
	if r.users[user] >= r.caps.PerUser {
		return false
	}
	r.users[user]++
	c.user = user
	return true
}

// remove forgets c, of which nothing is left.
func (r *Registry) remove(c *conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.conns, c)
	if c.user != "" {
		if r.users[c.user]--; r.users[c.user] == 0 {
			delete(r.users, c.user)
		}
	}
	if r.gone != nil && len(r.conns) == 0 {
		r.closeGone()
	}
}

// closeGone is for a holder of the lock; connections that were upgrading when
// Shutdown began can empty the registry more than once.
func (r *Registry) closeGone() {
	select {
	case <-r.gone:
	default:
		close(r.gone)
	}
}

// Shutdown refuses new connections, closes all with 1012 spread over time, and
// waits until they and their operations have ended. When ctx ends first the
// remaining sockets are dropped and its error is returned. The spread takes at
// most half of the time that ctx leaves. Call it once.
func (r *Registry) Shutdown(ctx context.Context) error {
	r.mu.Lock()
	r.gone = make(chan struct{})
	conns := make([]*conn, 0, len(r.conns))
	for c := range r.conns {
		conns = append(conns, c)
	}
	if len(conns) == 0 {
		r.closeGone()
	}
	r.mu.Unlock()

	spread := r.caps.ShutdownSpread
	if deadline, ok := ctx.Deadline(); ok {
		spread = min(spread, time.Until(deadline)/2)
	}
	for _, c := range conns {
		// The timer belongs to the connection, so one that ends before takes it
		// along.
		wait := rand.N(max(spread, 1)) //nolint:gosec // it spreads the closes, nobody gains by guessing it
		c.after(wait, func() { c.close(closeRestart, reasonRestart) })
	}
	select {
	case <-r.gone:
		return nil
	case <-ctx.Done():
		r.abort()
		return fmt.Errorf("shut down websockets: %w", ctx.Err())
	}
}

// abort drops every socket that is left.
func (r *Registry) abort() {
	r.mu.Lock()
	conns := make([]*conn, 0, len(r.conns))
	for c := range r.conns {
		conns = append(conns, c)
	}
	r.mu.Unlock()
	for _, c := range conns {
		c.abort()
	}
}
