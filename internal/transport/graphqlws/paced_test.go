package graphqlws

import (
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	testWindow = 10 * time.Second
	testLinger = 2 * time.Second
)

// pace writes 100 bytes to a reader that takes them as take says, and gives the
// bytes written, how often the write was reported as stalled, and its error.
func pace(take func(io.Reader)) (n, stalls int, took time.Duration, err error) {
	near, far := net.Pipe()
	defer func() { _ = near.Close(); _ = far.Close() }()
	conn := &pacedConn{Conn: near}
	conn.start(testWindow, testLinger, func() { stalls++ })
	go take(far)
	begin := time.Now()
	n, err = conn.Write(make([]byte, 100))
	return n, stalls, time.Since(begin), err
}

// takeAfter reads n bytes after a pause.
func takeAfter(r io.Reader, pause time.Duration, n int) {
	<-time.After(pause)
	_, _ = io.CopyN(io.Discard, r, int64(n))
}

func TestPacedWrites(t *testing.T) {
	tests := map[string]struct {
		take   func(io.Reader)
		n      int
		stalls int
		took   time.Duration
		err    error
	}{
		"slow but steady": {n: 100, took: 90 * time.Second, take: func(r io.Reader) {
			for range 10 {
				takeAfter(r, 9*time.Second, 10)
			}
		}},
		"never reads": {n: 0, stalls: 1, took: testWindow + testLinger, err: os.ErrDeadlineExceeded, take: func(io.Reader) {}},
		"stops half way": {n: 50, stalls: 1, took: time.Second + 2*testWindow - time.Second + testLinger, err: os.ErrDeadlineExceeded,
			take: func(r io.Reader) { takeAfter(r, time.Second, 50) }},
		"wakes up in the last moment": {n: 100, stalls: 1, took: 11 * time.Second,
			take: func(r io.Reader) { takeAfter(r, 11*time.Second, 100) }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n, stalls, took, err := pace(test.take)
				require.ErrorIs(t, err, test.err)
				require.Equal(t, test.n, n)
				require.Equal(t, test.stalls, stalls)
				require.Equal(t, test.took, took)
			})
		})
	}
}
