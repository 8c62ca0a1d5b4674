package hub

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
)

// errSilent means that Redis answered no ping: the connection is half open.
var errSilent = errors.New("no answer to a ping")

// write publishes what waits, until the context ends. While Redis is away it
// tries with a growing pause, during which wakes of one stream become one.
func (b *bus) write(ctx context.Context) {
	retry := newRetry()
	failing := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-b.kick:
		}
		err := b.flush(ctx)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			if failing {
				b.log.InfoContext(ctx, "wakes reach redis again")
			}
			failing = false
			retry.Reset()
			continue
		}
		if !failing {
			b.log.WarnContext(ctx, "wakes do not reach redis; other processes find changes by polling", slog.Any("error", err))
		}
		failing = true
		if !pause(ctx, retry.NextBackOff()) {
			return
		}
	}
}

// flush sends everything that waits in one round trip. What fails is dropped:
// the poll of the other processes is faster than a retry.
func (b *bus) flush(ctx context.Context) error {
	messages, count := b.take()
	if len(messages) == 0 {
		return nil
	}
	pipe := b.writer.Pipeline()
	for _, body := range messages {
		pipe.Publish(ctx, b.channel, body)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		b.dropped.Add(count)
		return err
	}
	b.sent.Add(count)
	return nil
}

// read listens until the context ends, and connects again with a growing pause.
func (b *bus) read(ctx context.Context) {
	retry := newRetry()
	failing := false
	for ctx.Err() == nil {
		err := b.listen(ctx, func() {
			retry.Reset()
			if failing {
				b.log.InfoContext(ctx, "listening to redis again")
			}
			failing = false
			b.resync() // what was announced meanwhile is lost
		})
		b.connected.Store(false)
		if ctx.Err() != nil {
			return
		}
		if !failing {
			b.log.WarnContext(ctx, "redis cannot be listened to; changes are found by polling", slog.Any("error", err))
		}
		failing = true
		if !pause(ctx, retry.NextBackOff()) {
			return
		}
	}
}

// listen delivers messages over one connection until it breaks or the context
// ends. up is called once the channel is subscribed to.
func (b *bus) listen(ctx context.Context, up func()) error {
	sub := b.reader.Subscribe(ctx, b.channel)
	unhook := context.AfterFunc(ctx, func() { _ = sub.Close() }) // breaks the blocking read
	defer func() {
		if unhook() {
			_ = sub.Close() // the connection is given up; there is nothing to save
		}
	}()
	asked := false // a ping is under way
	for {
		got, err := sub.ReceiveTimeout(ctx, listenBlock)
		if timedOut(err) && !asked {
			asked = true
			if err := sub.Ping(ctx); err != nil {
				return err
			}
			continue
		}
		if timedOut(err) {
			return errSilent
		}
		if err != nil {
			return err
		}
		asked = false
		switch m := got.(type) {
		case *redis.Subscription:
			b.connected.Store(true)
			up()
		case *redis.Message:
			b.receive(m.Payload)
		}
	}
}

// receive delivers one message. Messages are untrusted: a bad one is counted.
func (b *bus) receive(payload string) {
	var m message
	if err := json.Unmarshal([]byte(payload), &m); err != nil {
		b.malformed.Add(1)
		return
	}
	if m.Origin == b.origin {
		return
	}
	b.received.Add(int64(len(m.Wakes)))
	b.deliver(m.Wakes)
}

func timedOut(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// pause waits; false means that the context ended first.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
