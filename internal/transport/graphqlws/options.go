package graphqlws

import (
	"log/slog"
	"time"

	"biztraak.dev/vm/internal/transport"
)

// Options configure a Transport. Zero durations and numbers take the defaults.
type Options struct {
	// Registry counts the connections and shuts them down. Required.
	Registry *Registry
	// Authenticator checks the token of connection_init. Required.
	Authenticator transport.Authenticator
	// Origins tells which browser origins may connect. A request without Origin
	// does not come from a browser and may always. Nil: only the origin that has
	// the same host as the request.
	Origins func(origin string) bool
	// Log receives panics and, at debug level, why connections end. Required.
	Log *slog.Logger

	// InitTimeout is how long a client may take for connection_init, and an
	// Authenticator for its answer: 5 s.
	InitTimeout time.Duration
	// PingInterval is the time between pings: 15 s. A peer from which nothing
	// comes for two and a half intervals is taken for gone.
	PingInterval time.Duration
	// WriteTimeout is how long a peer may take no byte: 10 s. A slow peer that
	// takes some is served on.
	WriteTimeout time.Duration
	// CloseTimeout is how long a closed connection waits for the peer's own
	// close, so that the close code arrives: 2 s.
	CloseTimeout time.Duration
	// ReadLimit is the largest message of a client in bytes: 256 KiB.
	ReadLimit int64
	// MaxOperations is how many operations one connection may have open: 50. One
	// more gets an `error` with code RATE_LIMITED, and the connection lives on.
	MaxOperations int
}

// silentPings is after how many ping intervals without any sign a peer is gone.
const silentPings = 2.5

func (o Options) withDefaults() Options {
	setDefault(&o.InitTimeout, 5*time.Second)
	setDefault(&o.PingInterval, 15*time.Second)
	setDefault(&o.WriteTimeout, 10*time.Second)
	setDefault(&o.CloseTimeout, 2*time.Second)
	setDefault(&o.ReadLimit, 256<<10)
	setDefault(&o.MaxOperations, 50)
	return o
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
