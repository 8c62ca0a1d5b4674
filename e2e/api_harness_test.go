package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/app"
	"biztraak.dev/vm/internal/auth"
	"biztraak.dev/vm/internal/config"
	"biztraak.dev/vm/internal/ident"
)

// logBuffer keeps all that is logged.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// api is an installation with one or more processes, and a client of one of them
// that sees all there is to a response.
type api struct {
	*installation
	t     *testing.T
	ctx   context.Context //nolint:containedctx // the test's own
	trace *statements
	logs  *logBuffer
	url   string
}

// startAPI starts a system with one process. Without a worker what is asked for
// stays queued, and nothing happens by itself. An empty URL is the in-process
// Redis.
func startAPI(t *testing.T, roles app.Roles, redisURL string) *api {
	t.Helper()
	s := &api{installation: install(t, redisURL), t: t, ctx: t.Context(), trace: &statements{}, logs: &logBuffer{}}
	s.url = s.serve(roles, nil).URL() + "/graphql"
	return s
}

// serve starts one more process of the system.
func (s *api) serve(roles app.Roles, change func(*config.Config)) *process {
	s.t.Helper()
	return s.start(roles, func(o *app.Options) {
		if change != nil {
			change(o.Config)
		}
		o.Log = slog.New(slog.NewJSONHandler(s.logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
		o.Hooks.Store.Tracer = s.trace
	})
}

// at is a client of another process of the same system.
func (s *api) at(p *process) *api {
	other := *s
	other.url = p.URL() + "/graphql"
	return &other
}

// object is JSON as it comes.
type object = map[string]any

// apiReply is what a call answers.
type apiReply struct {
	status int
	body   string
	Data   object
	Errors []topError
}

type topError struct {
	Message    string
	Path       []any
	Extensions struct {
		Code, UserErrorCode, FirstCursor string
	}
}

// refusal is a userError, without what its type adds.
type refusal struct {
	Typename string `json:"__typename"`
	Code     string
	Message  string
	Path     []string
}

// at is the code with the path, as in "NAME_INVALID input.name".
func (r refusal) at() string { return strings.TrimSpace(r.Code + " " + strings.Join(r.Path, ".")) }

// try sends an operation and reads the answer, whatever it is; for any
// goroutine.
func (s *api) try(bearer, query string, variables object) (apiReply, error) {
	body, err := json.Marshal(object{"query": query, "variables": variables})
	if err != nil {
		return apiReply{}, err
	}
	req, err := http.NewRequestWithContext(s.ctx, http.MethodPost, s.url, bytes.NewReader(body))
	if err != nil {
		return apiReply{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/graphql-response+json")
	if bearer != "" {
		req.Header.Set("Authorization", "Bearer "+bearer)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return apiReply{}, err
	}
	defer res.Body.Close() //nolint:errcheck // it is only read
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		return apiReply{}, err
	}
	out := apiReply{status: res.StatusCode, body: string(raw)}
	return out, json.Unmarshal(raw, &out)
}

// call is try for the test's own goroutine.
func (s *api) call(bearer, query string, variables object) apiReply {
	s.t.Helper()
	out, err := s.try(bearer, query, variables)
	require.NoError(s.t, err, out.body)
	return out
}

// must sends an operation that no error and no refusal may meet, and answers
// its data.
func (s *api) must(bearer, query string, variables object) object {
	s.t.Helper()
	a := s.call(bearer, query, variables)
	require.Empty(s.t, a.Errors, a.body)
	for name := range a.Data {
		require.Empty(s.t, a.refusals(s.t, name), a.body)
	}
	return a.Data
}

// refusals are the userErrors of a payload.
func (a apiReply) refusals(t *testing.T, field string) []refusal {
	t.Helper()
	payload, ok := a.Data[field].(object)
	if !ok || payload["userErrors"] == nil {
		return nil
	}
	raw, err := json.Marshal(payload["userErrors"])
	require.NoError(t, err)
	var out []refusal
	require.NoError(t, json.Unmarshal(raw, &out))
	return out
}

// refused are the refusals of a payload in the form of refusal.at.
func (a apiReply) refused(t *testing.T, field string) []string {
	t.Helper()
	var out []string
	for _, r := range a.refusals(t, field) {
		out = append(out, r.at())
	}
	return out
}

// dig follows names and numbers into JSON; it answers nil where one is missing.
func dig(v any, path ...any) any {
	for _, p := range path {
		switch at := p.(type) {
		case string:
			o, _ := v.(object)
			v = o[at]
		case int:
			l, _ := v.([]any)
			if at >= len(l) {
				return nil
			}
			v = l[at]
		}
	}
	return v
}

// text is dig for text that has to be there.
func text(t *testing.T, v any, path ...any) string {
	t.Helper()
	out, ok := dig(v, path...).(string)
	require.True(t, ok, "no text at %v in %v", path, v)
	return out
}

// exec writes to the database.
func (s *api) exec(sql string, args ...any) {
	s.t.Helper()
	_, err := s.sql.Exec(s.ctx, sql, args...)
	require.NoError(s.t, err)
}

// person is a user with a token of the ceiling OWNER.
type person struct{ user, token, bearer string }

// person makes a user. There is no way in through the API: people come by
// invitation, or with the installation.
func (s *api) person(name string) person {
	s.t.Helper()
	p := person{user: newID(ident.User)}
	s.exec(`INSERT INTO app_user (id, email, name, created_at) VALUES ($1, $2, $3, now())`,
		p.user, name+"@example.com", name)
	p.token, p.bearer = s.token(p.user, "OWNER", nil)
	return p
}

// token makes a further token for a user.
func (s *api) token(user, ceiling string, expires *time.Time) (id, bearer string) {
	s.t.Helper()
	id = newID(ident.Token)
	bearer, hash := auth.NewToken()
	s.exec(`INSERT INTO access_token (id, user_id, name, hash, ceiling, expires_at, created_at)
		VALUES ($1, $2, 'test', $3, $4, $5, now())`, id, user, hash, ceiling, expires)
	return id, bearer
}

// join makes a person a member of a team.
func (s *api) join(team string, p person, role string) {
	s.t.Helper()
	s.exec(`INSERT INTO team_member (team_id, user_id, role, joined_at) VALUES ($1, $2, $3, now())`, team, p.user, role)
	s.exec(`INSERT INTO team_access (team_id, user_id) VALUES ($1, $2) ON CONFLICT DO NOTHING`, team, p.user)
}

func newID(kind ident.Kind) string { return string(ident.New(kind)) }
