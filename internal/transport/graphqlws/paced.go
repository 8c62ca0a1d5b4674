package graphqlws

import (
	"errors"
	"net"
	"os"
	"time"
)

// pacedConn bounds how long a write may make no progress. A deadline for the
// whole write would cut off a peer that takes a large message slowly but
// steadily; here the clock starts anew with each part that was taken.
type pacedConn struct {
	net.Conn
	// deadline is what the writer asked for; gorilla sets it before each write,
	// to zero for messages. Handshake and control frames have a real one.
	deadline time.Time
	// window is the time without progress that a message may take.
	window time.Duration
	// linger is a last chance after the window: the operations are gone by then,
	// and if the peer wakes up it can still be told the close code, which cannot
	// be sent in the middle of a frame.
	linger  time.Duration
	stalled func()
}

// start begins the watch. stalled is called from the blocked write, once, and
// must not wait for it.
func (p *pacedConn) start(window, linger time.Duration, stalled func()) {
	p.window, p.linger, p.stalled = window, linger, stalled
}

// SetWriteDeadline is for the next Write, and has to be called by its caller.
func (p *pacedConn) SetWriteDeadline(t time.Time) error {
	p.deadline = t
	return nil
}

// Write writes all of b, however long that takes, as long as some of it is
// taken in each window; or within the deadline, if there is one.
func (p *pacedConn) Write(b []byte) (int, error) {
	if !p.deadline.IsZero() || p.window == 0 {
		_ = p.Conn.SetWriteDeadline(p.deadline) // a closed socket is reported by Write
		return p.Conn.Write(b)
	}
	total, window, stalled := 0, p.window, false
	for {
		_ = p.Conn.SetWriteDeadline(time.Now().Add(window))
		n, err := p.Conn.Write(b[total:])
		total += n
		switch {
		case err == nil || !errors.Is(err, os.ErrDeadlineExceeded):
			return total, err
		case stalled:
			return total, err
		case n > 0:
			continue
		}
		stalled, window = true, p.linger
		p.stalled()
	}
}
