package catalog_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/auth"
	"biztraak.dev/vm/internal/catalog"
	"biztraak.dev/vm/internal/catalog/manifest"
	"biztraak.dev/vm/internal/devstack/pgtest"
	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/store"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// counter counts statements.
type counter struct{ n atomic.Int64 }

func (c *counter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	c.n.Add(1)
	return ctx
}

func (c *counter) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// fixture is a database with a user of a team.
type fixture struct {
	t      *testing.T
	db     *store.DB
	count  *counter
	teamID ident.ID
	ctx    context.Context
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{t: t, count: &counter{}, teamID: ident.New(ident.Team)}
	var err error
	f.db, err = store.Open(t.Context(), pgtest.DSN(t), store.Options{Tracer: f.count})
	require.NoError(t, err)
	t.Cleanup(f.db.Close)
	user := ident.New(ident.User)
	f.exec("INSERT INTO app_user VALUES (?, 'a@example.com', 'a', app_now())", user)
	f.exec("INSERT INTO team (id, name, created_at) VALUES (?, 'Acme', app_now())", f.teamID)
	f.exec("INSERT INTO team_member VALUES (?, ?, 'MEMBER', app_now())", f.teamID, user)
	f.ctx = auth.WithActor(t.Context(), auth.Actor{UserID: user, Ceiling: auth.Member})
	return f
}

func (f *fixture) exec(sql string, args ...any) {
	f.t.Helper()
	require.NoError(f.t, f.db.Gorm(f.t.Context()).Exec(sql, args...).Error)
}

func (f *fixture) service() *catalog.Service { return catalog.NewService(catalog.Deps{DB: f.db}) }

// outsider is in no team.
func (f *fixture) outsider() context.Context {
	return auth.WithActor(f.t.Context(), auth.Actor{UserID: ident.New(ident.User), Ceiling: auth.Owner})
}

// own gives an item of everybody's to a team, and answers its id.
func (f *fixture) own(slug, version string, team ident.ID) ident.ID {
	f.t.Helper()
	f.exec("UPDATE catalog_item SET team_id = ? WHERE slug = ? AND version = ?", team, slug, version)
	var id ident.ID
	require.NoError(f.t, f.db.Gorm(f.t.Context()).Raw("SELECT id FROM catalog_item WHERE slug = ? AND version = ?", slug, version).Scan(&id).Error)
	return id
}

func (f *fixture) stored() int {
	f.t.Helper()
	var n int
	require.NoError(f.t, f.db.Gorm(f.t.Context()).Raw("SELECT count(*) FROM catalog_item").Scan(&n).Error)
	return n
}

func template(slug, version string) manifest.Manifest {
	return manifest.Manifest{
		APIVersion: manifest.APIVersion, Kind: manifest.KindTemplate,
		Metadata: manifest.Metadata{Slug: slug, Version: version, Name: slug, Description: "a template", Icon: "box"},
		Template: &manifest.TemplateSpec{
			BaseImages:           map[manifest.ProviderKind]string{manifest.ProviderSimulator: "debian-13"},
			Least:                manifest.LeastResources{CPU: 500, Memory: manifest.GiB, Disk: 10 * manifest.GiB},
			DefaultShutdownTimer: manifest.Duration(time.Hour),
		},
	}
}

func addOn(slug, version string, change func(*manifest.AddOnSpec)) manifest.Manifest {
	spec := &manifest.AddOnSpec{}
	if change != nil {
		change(spec)
	}
	return manifest.Manifest{
		APIVersion: manifest.APIVersion, Kind: manifest.KindAddOn,
		Metadata: manifest.Metadata{Slug: slug, Version: version, Name: slug, Description: "an add-on", Icon: "box"},
		AddOn:    spec,
	}
}
