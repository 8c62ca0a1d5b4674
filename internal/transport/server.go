package transport

import (
	"log/slog"
	"net/http"
	"time"
)

// Limits of a connection. The time for an answer is not among them: it is set
// when an answer is ready (POST, GET), and a WebSocket has limits of its own.
const (
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 30 * time.Second
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 64 << 10
)

// NewServer makes an HTTP server with limits for an open network. Its Shutdown
// does not see WebSockets: shut their registry down first.
func NewServer(handler http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
}
