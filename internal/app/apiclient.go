package app

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// api calls a GraphQL endpoint the way a frontend does.
type api struct {
	endpoint, token string
	client          *http.Client
}

func newAPI(endpoint, token string) *api {
	const timeout = 30 * time.Second
	return &api{endpoint: endpoint, token: token, client: &http.Client{Timeout: timeout}}
}

// call runs a document and decodes its data into out. Top-level errors are an
// error.
func (a *api) call(ctx context.Context, query string, variables map[string]any, out any) error {
	body, err := json.Marshal(map[string]any{"query": query, "variables": variables})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.endpoint, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/graphql-response+json")
	req.Header.Set("Authorization", "Bearer "+a.token)
	res, err := a.client.Do(req)
	if err != nil {
		return fmt.Errorf("call %s: %w", a.endpoint, err)
	}
	defer func() { _ = res.Body.Close() }()
	const largest = 16 << 20
	raw, err := io.ReadAll(io.LimitReader(res.Body, largest))
	if err != nil {
		return fmt.Errorf("call %s: %w", a.endpoint, err)
	}
	var answer struct {
		Data   json.RawMessage
		Errors []struct{ Message string }
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return fmt.Errorf("call %s: status %d, and no GraphQL answer", a.endpoint, res.StatusCode)
	}
	if len(answer.Errors) > 0 {
		return fmt.Errorf("call %s: status %d: %s", a.endpoint, res.StatusCode, answer.Errors[0].Message)
	}
	return json.Unmarshal(answer.Data, out)
}

// userErrors are the refusals of a payload.
type userErrors []struct {
	Code, Message string
	Path          []string
}

func (u userErrors) err() error {
	if len(u) == 0 {
		return nil
	}
	parts := make([]string, len(u))
	for i, e := range u {
		parts[i] = fmt.Sprintf("%s at %s: %s", e.Code, strings.Join(e.Path, "."), e.Message)
	}
	return fmt.Errorf("refused: %s", strings.Join(parts, "; "))
}
