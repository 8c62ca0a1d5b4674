package transport

import (
	"errors"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/google/uuid"

	"biztraak.dev/vm/internal/fault"
	"biztraak.dev/vm/internal/transport/wire"
)

const (
	headerRequestID  = "X-Request-Id"
	maxRequestIDSize = 64
)

// requestID gives each request an id, the caller's own when it is sane, and
// answers it in the same header.
func requestID(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get(headerRequestID)
		if !saneRequestID(id) {
			id = uuid.NewString()
		}
		w.Header().Set(headerRequestID, id)
		next.ServeHTTP(w, r.WithContext(wire.WithRequestID(r.Context(), id)))
	})
}

// saneRequestID keeps what goes into logs short and free of separators.
func saneRequestID(id string) bool {
	if id == "" || len(id) > maxRequestIDSize {
		return false
	}
	return strings.IndexFunc(id, func(r rune) bool {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		digit := r >= '0' && r <= '9'
		return !letter && !digit && !strings.ContainsRune("-_.", r)
	}) < 0
}

// accessLog writes one line for each request: no query string, header or body,
// since any of them may hold a secret. Health checks are logged at debug level.
func accessLog(log *slog.Logger) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			start := time.Now()
			rec := &recorder{ResponseWriter: w}
			defer func() {
				level := slog.LevelInfo
				if r.URL.Path == pathHealth || r.URL.Path == pathReady {
					level = slog.LevelDebug
				}
				log.LogAttrs(r.Context(), level, "request",
					slog.String("method", r.Method),
					slog.String("path", r.URL.Path),
					slog.Int("status", rec.status),
					slog.Int64("bytes", rec.bytes),
					slog.Duration("took", time.Since(start)),
					slog.String("requestId", wire.RequestID(r.Context())))
			}()
			next.ServeHTTP(rec, r)
		})
	}
}

// recoverPanics turns a panic of a handler into a masked answer. The stack goes
// to the log only.
func recoverPanics(log *slog.Logger) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			defer func() {
				cause := recover()
				if cause == nil {
					return
				}
				if err, ok := cause.(error); ok && errors.Is(err, http.ErrAbortHandler) {
					panic(cause) // net/http's own way to drop a connection
				}
				log.ErrorContext(r.Context(), "panic in a handler", "cause", cause,
					"requestId", wire.RequestID(r.Context()), "stack", string(debug.Stack()))
				if rec, ok := w.(*recorder); ok && rec.status != 0 {
					panic(http.ErrAbortHandler) // half an answer is out: make that visible
				}
				writeError(w, http.StatusInternalServerError, internalError(r.Context()))
			}()
			next.ServeHTTP(w, r)
		})
	}
}

// checkHost answers only to hosts that allowed knows (nil: to all). It stops
// pages whose name was rebound to this address (DNS rebinding) from reading a
// server that listens on localhost.
func checkHost(allowed func(host string) bool) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if allowed != nil && !allowed(hostOnly(r.Host)) {
				writeError(w, http.StatusMisdirectedRequest, wire.NewError(fault.BadRequest,
					"this server does not answer to that Host; use http://localhost"))
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

// LocalHosts knows the names of the machine itself: localhost and anything
// below it, 127.0.0.1 and ::1. host has no port and no brackets.
func LocalHosts(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return host == "localhost" || host == "127.0.0.1" || host == "::1" || strings.HasSuffix(host, ".localhost")
}

func hostOnly(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return strings.TrimSuffix(strings.TrimPrefix(hostport, "["), "]")
}

// secureHeaders sets what every answer carries. The policy is the one for data;
// a page sets its own.
func secureHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("X-Frame-Options", "DENY")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		next.ServeHTTP(w, r)
	})
}
