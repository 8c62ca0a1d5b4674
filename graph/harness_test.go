package graph_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql/handler"
	"github.com/99designs/gqlgen/graphql/handler/extension"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"biztraak.dev/vm/graph"
	"biztraak.dev/vm/graph/model"
	"biztraak.dev/vm/internal/auth"
	"biztraak.dev/vm/internal/catalog"
	"biztraak.dev/vm/internal/catalog/builtin"
	"biztraak.dev/vm/internal/devstack/pgtest"
	"biztraak.dev/vm/internal/hub"
	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/operation"
	"biztraak.dev/vm/internal/project"
	"biztraak.dev/vm/internal/provider"
	"biztraak.dev/vm/internal/provider/simulator"
	"biztraak.dev/vm/internal/seal"
	"biztraak.dev/vm/internal/store"
	"biztraak.dev/vm/internal/syslog"
	"biztraak.dev/vm/internal/team"
	"biztraak.dev/vm/internal/transport"
	"biztraak.dev/vm/internal/transport/graphqlws"
	"biztraak.dev/vm/internal/transport/limits"
	"biztraak.dev/vm/internal/vm"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// patience is how long a test waits for what has to come; it is reached only
// when a test fails.
const patience = 30 * time.Second

// statements counts what is sent to the database.
type statements struct{ n atomic.Int64 }

func (s *statements) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	s.n.Add(1)
	return ctx
}

func (*statements) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// journal keeps what is logged.
type journal struct {
	mu   sync.Mutex
	text strings.Builder
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(b)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// platform is what operations and VMs need of the hub and of the logs.
type platform struct {
	hub  *hub.Hub
	logs *syslog.Store
}

func (p *platform) Announce(ctx context.Context, what []operation.Announcement) {
	for _, a := range what {
		p.hub.Publish(ctx, hub.Wake{Stream: a.Stream, From: a.From, Seq: a.Seq, Topics: a.Topics})
	}
}

func (p *platform) AppendPlatform(
	ctx context.Context, tx operation.SQLTx, id ident.ID, at time.Time, lines []string,
) (int64, error) {
	out := make([]syslog.Line, len(lines))
	for i, text := range lines {
		out[i] = syslog.Line{Time: at, Source: syslog.Platform, Unit: "test", Message: text}
	}
	return p.logs.AppendTx(ctx, tx, string(id), out)
}

func (p *platform) WantTx(ctx context.Context, tx operation.SQLTx, id ident.ID, wanted bool) error {
	return p.logs.WantTx(ctx, tx, string(id), wanted)
}

// world is an installation without workers, served over HTTP, with one team and
// its owner.
type world struct {
	t      *testing.T
	db     *store.DB
	sent   *statements
	log    *journal
	deps   graph.Deps
	writer *operation.Writer
	tokens *auth.Tokens
	url    string
	token  string
	owner  auth.Actor
	teamID ident.ID
}

func newWorld(t *testing.T) *world {
	t.Helper()
	t.Cleanup(func() { goleak.VerifyNone(t, pgtest.Goleak()...) })
	w := &world{t: t, sent: &statements{}, log: &journal{}}
	var err error
	w.db, err = store.Open(t.Context(), pgtest.DSN(t), store.Options{Tracer: w.sent})
	require.NoError(t, err)
	t.Cleanup(w.db.Close)
	w.services()
	w.serve()
	w.token, w.teamID, err = w.deps.Teams.Bootstrap(t.Context(), "Acme", "ann@example.com")
	require.NoError(t, err)
	w.owner, err = w.tokens.Authenticate(t.Context(), w.token)
	require.NoError(t, err)
	return w
}

func (w *world) services() {
	t, p, log := w.t, &platform{}, slog.New(slog.NewTextHandler(w.log, nil))
	path := filepath.Join(t.TempDir(), "keyset.json")
	require.NoError(t, seal.CreateKeyset(path))
	sealer, err := seal.LoadKeyset(path)
	require.NoError(t, err)
	drivers, err := provider.NewRegistry(simulator.New(simulator.NewMemoryStore(), simulator.Options{}))
	require.NoError(t, err)
	w.writer, w.tokens = operation.NewWriter(w.db, p, p), auth.NewTokens(w.db)
	d := graph.Deps{
		Teams:    team.NewService(team.Deps{DB: w.db, Writer: w.writer, Sealer: sealer, Drivers: drivers}),
		Projects: project.NewService(project.Deps{DB: w.db, Writer: w.writer}),
		Catalog:  catalog.NewService(catalog.Deps{DB: w.db}),
		Version:  "1.2.3", DeployVMEnabled: true, Log: log,
		CloudProviders: []*model.CloudProvider{{Kind: "SIMULATOR", Name: "Simulator", Simulated: true}},
	}
	d.VMs = vm.NewService(vm.Deps{
		DB: w.db, Writer: w.writer, Catalog: d.Catalog, Accounts: d.Teams, Drivers: drivers, Journals: p, Log: log, DeployEnabled: true,
	})
	handlers, err := operation.NewRegistry(d.VMs.Handlers()...)
	require.NoError(t, err)
	d.Operations = operation.NewService(w.db, w.writer, handlers)
	d.VMs.Use(d.Operations, handlers)
	d.Hub, err = hub.New(hub.Config{Log: log, Heads: hub.Sources{
		hub.KindProject: d.Operations.ProjectHeads, hub.KindAccess: d.Operations.AccessHeads, hub.KindToken: d.Operations.TokenHeads,
		hub.KindLog: func(ctx context.Context, ids []string) (map[string]int64, error) { return d.Logs.Heads(ctx, ids) },
	}})
	require.NoError(t, err)
	d.Logs = syslog.New(w.db.Pool(), d.Hub)
	p.hub, p.logs = d.Hub, d.Logs
	require.NoError(t, d.Hub.Start(t.Context()))
	t.Cleanup(func() { require.NoError(t, d.Hub.Stop(context.Background())) })
	keeper, err := syslog.NewKeeper(w.db.Pool(), syslog.Limits{RetentionDays: 7, MaxBytes: 1 << 20}, log)
	require.NoError(t, err)
	require.NoError(t, keeper.Maintain(t.Context()))
	items, err := builtin.Load()
	require.NoError(t, err)
	require.NoError(t, d.Catalog.Load(t.Context(), items))
	w.deps = d
}

// Authenticate implements transport.Authenticator.
func (w *world) Authenticate(ctx context.Context, bearer string) (transport.Identity, error) {
	who, err := w.tokens.Authenticate(ctx, bearer)
	if err != nil {
		return transport.Identity{}, transport.ErrUnauthenticated
	}
	return transport.Identity{
		Context: func(ctx context.Context) context.Context { return auth.WithActor(ctx, who) }, User: string(who.UserID),
	}, nil
}

func (w *world) serve() {
	registry := graphqlws.NewRegistry(graphqlws.Caps{ShutdownSpread: time.Millisecond})
	srv := handler.New(graph.New(w.deps))
	srv.AddTransport(graphqlws.New(graphqlws.Options{Registry: registry, Authenticator: w, Log: w.deps.Log}))
	srv.AddTransport(transport.POST{})
	limits.Configure(srv, limits.Default())
	graph.Configure(srv, w.deps)
	srv.Use(extension.Introspection{})
	listener := httptest.NewServer(transport.NewRouter(transport.Options{
		GraphQL: srv, Authenticator: w, Log: slog.New(slog.DiscardHandler), // of the graph alone
	}))
	w.url = listener.URL + "/graphql"
	w.t.Cleanup(func() {
		require.NoError(w.t, registry.Shutdown(context.Background()))
		listener.Close()
		http.DefaultClient.CloseIdleConnections()
	})
}

// as is a context of the owner, for services.
func (w *world) as() context.Context { return auth.WithActor(w.t.Context(), w.owner) }

type answer struct {
	Data   map[string]any
	Errors []struct {
		Message    string
		Path       []any
		Extensions map[string]any
	}
}

// at finds a value by keys and indices.
func at(v any, path ...any) any {
	for _, p := range path {
		switch p := p.(type) {
		case string:
			v = v.(map[string]any)[p]
		case int:
			v = v.([]any)[p]
		}
	}
	return v
}

// ask runs a document as the owner.
func (w *world) ask(query string, vars map[string]any) answer {
	w.t.Helper()
	body, err := json.Marshal(map[string]any{"query": query, "variables": vars})
	require.NoError(w.t, err)
	req, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, w.url, bytes.NewReader(body))
	require.NoError(w.t, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+w.token)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(w.t, err)
	defer func() { _ = resp.Body.Close() }()
	var a answer
	require.NoError(w.t, json.NewDecoder(resp.Body).Decode(&a))
	return a
}

// must is ask for a document that has no errors, and no refusals in `m`.
func (w *world) must(query string, vars map[string]any) map[string]any {
	w.t.Helper()
	a := w.ask(query, vars)
	require.Empty(w.t, a.Errors)
	if m, ok := a.Data["m"].(map[string]any); ok {
		require.Empty(w.t, m["userErrors"])
	}
	return a.Data
}

// mutate runs one mutation and answers its payload.
func (w *world) mutate(name string, input map[string]any, fields string) map[string]any {
	w.t.Helper()
	query := fmt.Sprintf(`mutation($input: %sInput!) { m: %s(input: $input) { %s userErrors { code message path } } }`,
		strings.ToUpper(name[:1])+name[1:], name, fields)
	return w.must(query, map[string]any{"input": input})["m"].(map[string]any)
}

func (w *world) project(name string) string {
	w.t.Helper()
	return at(w.mutate("createProject", map[string]any{"teamId": w.teamID, "name": name}, "project { id }"), "project", "id").(string)
}

func (w *world) account() string {
	w.t.Helper()
	return at(w.mutate("connectCloudAccount", map[string]any{
		"teamId": w.teamID, "name": "sim", "simulator": map[string]any{"token": "x"},
	}, "cloudAccount { id }"), "cloudAccount", "id").(string)
}

// catalogIDs are the ids of a template and of add-ons by slug.
func (w *world) catalogIDs() map[string]string {
	w.t.Helper()
	ids := map[string]string{}
	data := w.must(`{ vmTemplates { id slug } addOnPacks { id slug } }`, nil)
	for _, list := range data {
		for _, item := range list.([]any) {
			ids[at(item, "slug").(string)] = at(item, "id").(string)
		}
	}
	return ids
}

// vm makes a VM and, with an account, a provider of it that waits for a worker.
func (w *world) vm(projectID, name, account string) (vmID, providerID, operationID string) {
	w.t.Helper()
	ids := w.catalogIDs()
	vmID = at(w.mutate("createVirtualMachine", map[string]any{
		"projectId": projectID, "name": name, "templateId": ids["plain-debian"], "addOnIds": []string{ids["docker"], ids["terminal"]},
	}, "virtualMachine { id }"), "virtualMachine", "id").(string)
	if account == "" {
		return vmID, "", ""
	}
	made := w.mutate("provisionVirtualMachine", map[string]any{"virtualMachineId": vmID, "cloudAccountId": account},
		"virtualMachineProvider { id } operation { id }")
	return vmID, at(made, "virtualMachineProvider", "id").(string), at(made, "operation", "id").(string)
}
