package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/transport/wsclient"
)

// client calls the API of one process as one user.
type client struct {
	t        testing.TB
	url      string
	endpoint string
	token    string
	http     *http.Client
}

func newClient(t testing.TB, url, token string) *client {
	const timeout = 30 * time.Second
	transport := &http.Transport{MaxIdleConnsPerHost: 64, MaxConnsPerHost: 64}
	t.Cleanup(transport.CloseIdleConnections)
	return &client{
		t: t, url: url, endpoint: url + "/graphql", token: token,
		http: &http.Client{Timeout: timeout, Transport: transport},
	}
}

// graphqlAnswer is a GraphQL response.
type graphqlAnswer struct {
	Status int
	Data   json.RawMessage
	Errors []struct {
		Message    string
		Path       []any
		Extensions struct{ Code string }
	}
}

// post sends a document and answers whatever comes.
func (c *client) post(ctx context.Context, query string, variables map[string]any) (*graphqlAnswer, error) {
	body, err := json.Marshal(map[string]any{"query": query, "variables": variables})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.endpoint, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/graphql-response+json")
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	out := &graphqlAnswer{Status: res.StatusCode}
	if err := json.Unmarshal(raw, out); err != nil {
		return nil, fmt.Errorf("status %d: %s: %w", res.StatusCode, raw, err)
	}
	return out, nil
}

// try sends a document and decodes its data; top-level errors are an error.
func (c *client) try(ctx context.Context, query string, variables map[string]any, out any) error {
	a, err := c.post(ctx, query, variables)
	if err != nil {
		return err
	}
	if len(a.Errors) > 0 {
		return fmt.Errorf("status %d: %+v", a.Status, a.Errors)
	}
	return json.Unmarshal(a.Data, out)
}

// call is try for what must succeed; for the test's own goroutine.
func (c *client) call(query string, variables map[string]any, out any) {
	c.t.Helper()
	require.NoError(c.t, c.try(c.t.Context(), query, variables, out))
}

// get answers the status and the body of a page.
func (c *client) get(path string) (int, string) {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), http.MethodGet, c.url+path, nil)
	require.NoError(c.t, err)
	res, err := c.http.Do(req)
	require.NoError(c.t, err)
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	require.NoError(c.t, err)
	return res.StatusCode, string(body)
}

// dial opens a WebSocket that is closed with the test.
func (c *client) dial() *wsclient.Conn {
	c.t.Helper()
	conn, err := wsclient.Dial(c.t.Context(), c.endpoint, c.token)
	require.NoError(c.t, err)
	c.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// feed is a subscription whose results are read one after the other.
type feed[T any] struct {
	t      testing.TB
	stream *wsclient.Stream
}

// follow begins a subscription; each result's data is a T.
func follow[T any](c *client, conn *wsclient.Conn, query string, variables map[string]any) *feed[T] {
	c.t.Helper()
	stream, err := conn.Subscribe(query, variables)
	require.NoError(c.t, err)
	return &feed[T]{t: c.t, stream: stream}
}

// next waits for the next result.
func (f *feed[T]) next(patience time.Duration) (T, error) {
	var r struct {
		Data   T
		Errors json.RawMessage
	}
	ctx, cancel := context.WithTimeout(f.t.Context(), patience)
	defer cancel()
	raw, err := f.stream.Next(ctx)
	if err == nil {
		err = json.Unmarshal(raw, &r)
	}
	if err == nil && len(r.Errors) > 0 {
		err = errors.New(string(r.Errors))
	}
	return r.Data, err
}

// until reads results until one is wanted, and answers it.
func (f *feed[T]) until(what string, patience time.Duration, wanted func(T) bool) T {
	f.t.Helper()
	deadline := time.Now().Add(patience)
	for {
		got, err := f.next(time.Until(deadline))
		require.NoError(f.t, err, "while waiting for %s", what)
		if wanted(got) {
			return got
		}
	}
}
