package team_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/auth"
	"biztraak.dev/vm/internal/devstack/pgtest"
	"biztraak.dev/vm/internal/fault"
	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/operation"
	"biztraak.dev/vm/internal/provider"
	"biztraak.dev/vm/internal/provider/simulator"
	"biztraak.dev/vm/internal/seal"
	"biztraak.dev/vm/internal/store"
	"biztraak.dev/vm/internal/team"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// said records what was announced.
type said struct {
	mu      sync.Mutex
	streams []string
}

func (s *said) Announce(_ context.Context, what []operation.Announcement) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range what {
		s.streams = append(s.streams, fmt.Sprintf("%s %d", a.Stream, a.Seq))
	}
}

func (s *said) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.streams
	s.streams = nil
	return out
}

// fixture is an installation with one team and its owner.
type fixture struct {
	*team.Service
	t      *testing.T
	db     *store.DB
	said   *said
	teamID ident.ID
	token  string
	owner  auth.Actor
}

// driver is a simulator whose Verify can be replaced.
type driver struct {
	*simulator.Simulator
	mu     sync.Mutex
	verify func(ctx context.Context, a provider.Account) error
	calls  int
}

func (d *driver) Verify(ctx context.Context, a provider.Account) error {
	d.mu.Lock()
	d.calls++
	verify := d.verify
	d.mu.Unlock()
	if verify != nil {
		return verify(ctx, a)
	}
	return d.Simulator.Verify(ctx, a)
}

func newFixture(t *testing.T, drivers ...provider.Driver) *fixture {
	t.Helper()
	db, err := store.Open(t.Context(), pgtest.DSN(t), store.Options{})
	require.NoError(t, err)
	t.Cleanup(db.Close)
	path := filepath.Join(t.TempDir(), "keyset.json")
	require.NoError(t, seal.CreateKeyset(path))
	sealer, err := seal.LoadKeyset(path)
	require.NoError(t, err)
	if drivers == nil {
		drivers = []provider.Driver{simulator.New(simulator.NewMemoryStore(), simulator.Options{})}
	}
	registry, err := provider.NewRegistry(drivers...)
	require.NoError(t, err)
	f := &fixture{t: t, db: db, said: &said{}}
	f.Service = team.NewService(team.Deps{
		DB: db, Writer: operation.NewWriter(db, f.said, nil), Sealer: sealer, Drivers: registry,
	})
	f.token, f.teamID, err = f.Bootstrap(t.Context(), "Acme", "ann@example.com")
	require.NoError(t, err)
	f.owner, err = auth.NewTokens(db).Authenticate(t.Context(), f.token)
	require.NoError(t, err)
	f.said.take()
	return f
}

// as is a context of the actor.
func (f *fixture) as(who auth.Actor) context.Context { return auth.WithActor(f.t.Context(), who) }

// user makes a user with a token of the ceiling, and a member of the team when
// there is a role.
func (f *fixture) user(name string, role, ceiling auth.Role) auth.Actor {
	f.t.Helper()
	who := auth.Actor{UserID: ident.New(ident.User), TokenID: ident.New(ident.Token), Ceiling: ceiling}
	f.exec("INSERT INTO app_user (id, email, name, created_at) VALUES (?, ?, ?, app_now())", who.UserID, name+"@example.com", name)
	f.exec(`INSERT INTO access_token (id, user_id, name, hash, ceiling, created_at)
		VALUES (?, ?, 'test', decode(md5(random()::text), 'hex'), ?, app_now())`, who.TokenID, who.UserID, ceiling)
	if role != "" {
		f.join(who, role)
	}
	return who
}

func (f *fixture) join(who auth.Actor, role auth.Role) {
	f.t.Helper()
	f.exec("INSERT INTO team_member (team_id, user_id, role, joined_at) VALUES (?, ?, ?, app_now())", f.teamID, who.UserID, role)
}

func (f *fixture) exec(sql string, args ...any) {
	f.t.Helper()
	require.NoError(f.t, f.db.Gorm(f.t.Context()).Exec(sql, args...).Error)
}

func (f *fixture) count(sql string, args ...any) int {
	f.t.Helper()
	var n int
	require.NoError(f.t, f.db.Gorm(f.t.Context()).Raw(sql, args...).Scan(&n).Error)
	return n
}

func (f *fixture) audited(action string, object ident.ID) int {
	f.t.Helper()
	return f.count("SELECT count(*) FROM audit_event WHERE action = ? AND object_id = ?", action, object)
}

// later moves the database's clock.
func (f *fixture) later(d time.Duration) {
	f.t.Helper()
	f.exec("UPDATE clock_offset SET value = make_interval(secs => ?)", d.Seconds())
}

// refused checks that err is exactly these refusals, each "CODE path.to.field".
func refused(t *testing.T, err error, want ...string) {
	t.Helper()
	if len(want) == 0 {
		require.NoError(t, err)
		return
	}
	r, ok := fault.AsRefusals(err)
	require.True(t, ok, "no refusals: %v", err)
	var got []string
	for _, x := range r {
		require.NotEmpty(t, x.Message)
		require.Equal(t, "input", x.Path[0])
		got = append(got, string(x.Code)+" "+strings.Join(x.Path[1:], "."))
	}
	require.ElementsMatch(t, want, got)
}

func faulted(t *testing.T, err error, code fault.Top) {
	t.Helper()
	var f *fault.Fault
	require.ErrorAs(t, err, &f)
	require.Equal(t, code, f.Code)
}

func ptr[T any](v T) *T { return &v }
