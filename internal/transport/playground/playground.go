// Package playground serves the page at "/" where a person tries the API: an
// editor, ready examples, results, and subscriptions as they stream.
//
// It owns the page and its files, which are embedded and need no network but
// this server. It must not know the schema: examples and a token come from the
// application.
package playground

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"
)

//go:embed assets
var assets embed.FS

const (
	pathConfig = "/playground/config.json"
	prefix     = "/playground/"
	// policy lets the page load its own two files and talk to its own server, and
	// nothing else; what a result contains can never run.
	policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; " +
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

// Config is what the page is told, as JSON at /playground/config.json.
type Config struct {
	// Endpoint is the path of the API; "" for "/graphql".
	Endpoint string `json:"endpoint"`
	// Token is filled into the token field; "" leaves it empty. Whoever can open
	// the page gets it, so it is for a server on localhost only.
	Token string `json:"token"`
	// Examples are offered above the editor; the first is shown at the start.
	Examples []Example `json:"examples"`
}

// Example is one ready operation.
type Example struct {
	// Name is the label of its button.
	Name string `json:"name"`
	// Description is one sentence on what it shows.
	Description string `json:"description"`
	// Query is the document.
	Query string `json:"query"`
	// Variables are put into the variables field; nil for none.
	Variables map[string]any `json:"variables,omitempty"`
}

// New makes the handler of "/" and "/playground/". The error tells of variables
// that cannot be JSON.
func New(config Config) (http.Handler, error) {
	if config.Endpoint == "" {
		config.Endpoint = "/graphql"
	}
	if config.Examples == nil {
		config.Examples = []Example{}
	}
	encoded, err := json.Marshal(config)
	if err != nil {
		return nil, fmt.Errorf("encode the playground's configuration: %w", err)
	}
	return &handler{config: encoded}, nil
}

type handler struct{ config []byte }

// ServeHTTP serves the page, its files and its configuration.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Security-Policy", policy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cache-Control", "no-cache")
	name := "index.html"
	switch r.URL.Path {
	case "/":
	case pathConfig:
		h.serveConfig(w, r)
		return
	default:
		name = strings.TrimPrefix(r.URL.Path, prefix)
	}
	content, err := fs.ReadFile(assets, path.Join("assets", path.Clean("/"+name)))
	if err != nil {
		http.NotFound(w, r)
		return
	}
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(content))
}

// serveConfig gives the token to the page and to nobody else: a browser says
// when another site asks.
func (h *handler) serveConfig(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
		http.Error(w, "the configuration is for this server's own page", http.StatusForbidden)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_, _ = w.Write(h.config) // a client that is gone needs no answer
}
