package devstack

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// redisTick is how often the in-process Redis learns that time has passed. Keys
// may outlive their TTL by this much. miniredis can follow the clock by itself,
// but then it sorts all its keys at every command.
const redisTick = 250 * time.Millisecond

// Redis is an in-process stand-in for a Redis server: one process, nothing kept
// after the end. Good enough wherever losing Redis loses nothing.
type Redis struct {
	server   *miniredis.Miniredis
	password string
	stop     chan struct{}
	stopOnce sync.Once
	stopped  chan struct{}
}

// StartRedis listens on a free port of 127.0.0.1, with a password, since every
// user of the machine can reach that port.
func StartRedis(ctx context.Context) (*Redis, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("start in-process redis: %w", err)
	}
	r := &Redis{
		server:   miniredis.NewMiniRedis(),
		password: rand.Text(),
		stop:     make(chan struct{}),
		stopped:  make(chan struct{}),
	}
	r.server.RequireAuth(r.password)
	if err := r.server.StartAddr("127.0.0.1:0"); err != nil {
		return nil, fmt.Errorf("start in-process redis: %w", err)
	}
	go r.passTime()
	return r, nil
}

// URL is what go-redis and asynq take: redis://:password@127.0.0.1:port/0.
func (r *Redis) URL() string {
	u := url.URL{Scheme: "redis", User: url.UserPassword("", r.password), Host: r.server.Addr(), Path: "/0"}
	return u.String()
}

// Stop closes the server and its connections. A second call changes nothing.
func (r *Redis) Stop(ctx context.Context) error {
	r.stopOnce.Do(func() { close(r.stop) })
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		<-r.stopped
		r.server.Close()
	}()
	select {
	case <-closed:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("stop in-process redis: %w", context.Cause(ctx))
	}
}

// passTime ages all TTLs by the time that has really gone by: without it no key
// would ever expire.
func (r *Redis) passTime() {
	defer close(r.stopped)
	ticker := time.NewTicker(redisTick)
	defer ticker.Stop()
	last := time.Now()
	for {
		select {
		case <-r.stop:
			return
		case <-ticker.C:
			now := time.Now()
			r.server.FastForward(now.Sub(last))
			last = now
		}
	}
}
