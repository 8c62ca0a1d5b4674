package catalog_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/auth"
	"biztraak.dev/vm/internal/catalog"
	"biztraak.dev/vm/internal/catalog/builtin"
	"biztraak.dev/vm/internal/catalog/composition"
	"biztraak.dev/vm/internal/catalog/manifest"
	"biztraak.dev/vm/internal/devstack/pgtest"
	"biztraak.dev/vm/internal/fault"
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

func TestLoadBuiltin(t *testing.T) {
	f := newFixture(t)
	s := f.service()
	items, err := builtin.Load()
	require.NoError(t, err)
	require.NoError(t, s.Load(t.Context(), items))
	require.Equal(t, len(items), f.stored())
	require.NoError(t, s.Load(t.Context(), items))
	require.Equal(t, len(items), f.stored())

	templates, err := s.Templates(f.ctx)
	require.NoError(t, err)
	addOns, err := s.AddOns(f.ctx)
	require.NoError(t, err)
	require.Len(t, items, len(templates)+len(addOns))
	want := map[string]manifest.Manifest{}
	for _, m := range items {
		want[m.Metadata.Slug] = m
	}
	for _, x := range templates {
		require.Equal(t, ident.Template, x.ID.Kind())
		require.Equal(t, want[x.Slug], x.Manifest, "what is stored is what was loaded")
	}
	for _, x := range addOns {
		require.Equal(t, ident.AddOn, x.ID.Kind())
		require.Equal(t, want[x.Slug], x.Manifest)
	}
}

func TestLoadAtOnce(t *testing.T) {
	f := newFixture(t)
	items := []manifest.Manifest{template("base", "1.0.0"), addOn("node", "1.0.0", nil)}
	errs := make([]error, 6)
	var group sync.WaitGroup
	for i := range errs {
		group.Go(func() { errs[i] = f.service().Load(t.Context(), items) })
	}
	group.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	require.Equal(t, 2, f.stored())
}

func TestLoadRefusesAChangedVersion(t *testing.T) {
	f := newFixture(t)
	s := f.service()
	require.NoError(t, s.Load(t.Context(), []manifest.Manifest{addOn("node", "1.0.0", nil)}))
	changed := addOn("node", "1.0.0", func(a *manifest.AddOnSpec) { a.Capabilities = []manifest.Capability{manifest.TLSTermination} })
	for name, items := range map[string][]manifest.Manifest{
		"stored before":        {addOn("python", "1.0.0", nil), changed},
		"twice in what is new": {addOn("ruby", "1.0.0", nil), renamed(changed, "ruby")},
	} {
		t.Run(name, func(t *testing.T) {
			err := s.Load(t.Context(), items)
			require.ErrorContains(t, err, items[1].Metadata.Slug)
			require.ErrorContains(t, err, "1.0.0")
			require.Equal(t, 1, f.stored(), "all or nothing")
		})
	}
	changed.Metadata.Version = "1.0.1"
	require.NoError(t, s.Load(t.Context(), []manifest.Manifest{changed}))
	// A template and an add-on of one name are two things.
	require.NoError(t, s.Load(t.Context(), []manifest.Manifest{template("node", "1.0.0")}))
	require.Equal(t, 3, f.stored())
}

func renamed(m manifest.Manifest, slug string) manifest.Manifest {
	m.Metadata.Slug = slug
	return m
}

func TestNewestVersions(t *testing.T) {
	for _, c := range []struct {
		name     string
		versions []string
		want     string
	}{
		{"by number, not by text", []string{"1.9.0", "1.10.0", "1.2.0"}, "1.10.0"},
		{"a release follows its candidates", []string{"2.0.0-rc.1", "2.0.0", "2.0.0-rc.10"}, "2.0.0"},
		{"candidates by number", []string{"2.0.0-rc.2", "2.0.0-rc.10"}, "2.0.0-rc.10"},
		{"one", []string{"0.1.0"}, "0.1.0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t)
			s := f.service()
			items := []manifest.Manifest{template("a", "1.0.0")}
			for _, v := range c.versions {
				items = append(items, template("b", v))
			}
			require.NoError(t, s.Load(t.Context(), items))
			got, err := s.Templates(f.ctx)
			require.NoError(t, err)
			require.Len(t, got, 2)
			require.Equal(t, "a", got[0].Slug)
			require.Equal(t, c.want, got[1].Version)
		})
	}
}

func TestFields(t *testing.T) {
	f := newFixture(t)
	s := f.service()
	require.NoError(t, s.Load(t.Context(), []manifest.Manifest{template("base", "1.0.0"), addOn("node", "1.0.0", func(a *manifest.AddOnSpec) {
		a.Fits = []string{"base"}
		a.ExtraResources = &manifest.ExtraResources{Memory: manifest.GiB}
		a.Capabilities = []manifest.Capability{manifest.TLSTermination}
	})}))
	templates, err := s.Templates(f.ctx)
	require.NoError(t, err)
	require.Equal(t, composition.Resources{MilliCPU: 500, MemoryBytes: 1 << 30, DiskBytes: 10 << 30}, templates[0].LeastResources)
	require.Equal(t, time.Hour, *templates[0].DefaultShutdownTimer)
	require.Equal(t, "a template", templates[0].Description)
	addOns, err := s.AddOns(f.ctx)
	require.NoError(t, err)
	require.Equal(t, composition.Resources{MemoryBytes: 1 << 30}, addOns[0].ExtraResources)
	require.Equal(t, []string{"base"}, addOns[0].FitsTemplates)
	require.Equal(t, []manifest.Capability{manifest.TLSTermination}, addOns[0].Capabilities)

	image, err := s.BaseImage(t.Context(), templates[0].ID, manifest.ProviderSimulator)
	require.NoError(t, err)
	require.Equal(t, "debian-13", image)
	image, err = s.BaseImage(t.Context(), templates[0].ID, manifest.ProviderEC2)
	require.NoError(t, err)
	require.Empty(t, image)
	_, err = s.BaseImage(t.Context(), addOns[0].ID, manifest.ProviderEC2)
	require.ErrorIs(t, err, catalog.ErrNoItem)
}

func TestItemsOfATeam(t *testing.T) {
	f := newFixture(t)
	s := f.service()
	require.NoError(t, s.Load(t.Context(), []manifest.Manifest{
		template("base", "1.0.0"), template("base", "2.0.0"), addOn("node", "1.0.0", nil), addOn("own", "1.0.0", nil),
	}))
	base, own := f.own("base", "2.0.0", f.teamID), f.own("own", "1.0.0", f.teamID)
	for _, c := range []struct {
		name      string
		ctx       context.Context
		templates []string
		addOns    []string
		sees      bool
	}{
		{"a member", f.ctx, []string{"1.0.0", "2.0.0"}, []string{"node", "own"}, true},
		{"an outsider", f.outsider(), []string{"1.0.0"}, []string{"node"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var templates, addOns []string
			ts, err := s.Templates(c.ctx)
			require.NoError(t, err)
			for _, x := range ts {
				templates = append(templates, x.Version)
			}
			as, err := s.AddOns(c.ctx)
			require.NoError(t, err)
			for _, x := range as {
				addOns = append(addOns, x.Slug)
			}
			require.Equal(t, c.templates, templates)
			require.Equal(t, c.addOns, addOns)
			tpl, err := s.Template(c.ctx, base)
			require.NoError(t, err)
			require.Equal(t, c.sees, tpl != nil)
			found, err := s.AddOnsByID(c.ctx, []ident.ID{own})
			require.NoError(t, err)
			require.Equal(t, c.sees, found[0] != nil)
			item, err := s.Item(c.ctx, own)
			require.NoError(t, err)
			require.Equal(t, c.sees, item != nil)
		})
	}
}

func TestReadsByID(t *testing.T) {
	f := newFixture(t)
	require.NoError(t, f.service().Load(t.Context(), []manifest.Manifest{
		template("base", "1.0.0"), addOn("node", "1.0.0", nil), addOn("python", "1.0.0", nil),
	}))
	s := f.service()
	all, err := s.AddOns(f.ctx)
	require.NoError(t, err)
	templates, err := s.Templates(f.ctx)
	require.NoError(t, err)
	node, python, base := all[0].ID, all[1].ID, templates[0].ID

	fresh := f.service()
	before := f.count.n.Load()
	got, err := fresh.AddOnsByID(f.ctx, []ident.ID{python, ident.New(ident.AddOn), node, base, python})
	require.NoError(t, err)
	require.EqualValues(t, 1, f.count.n.Load()-before, "all that is missing is one statement")
	require.Equal(t, "python", got[0].Slug)
	require.Nil(t, got[1])
	require.Equal(t, "node", got[2].Slug)
	require.Nil(t, got[3], "a template is no add-on")
	require.Same(t, got[0], got[4])

	before = f.count.n.Load()
	again, err := fresh.AddOn(f.ctx, node)
	require.NoError(t, err)
	require.Same(t, got[2], again)
	require.EqualValues(t, before, f.count.n.Load(), "a published version is read once")

	none, err := fresh.Template(f.ctx, node)
	require.NoError(t, err)
	require.Nil(t, none)
	item, err := fresh.Item(f.ctx, node)
	require.NoError(t, err)
	require.Equal(t, composition.Ref{Kind: manifest.KindAddOn, Slug: "node", Version: "1.0.0"}, item.Ref())
	absent, err := fresh.Item(f.ctx, ident.New(ident.AddOn))
	require.NoError(t, err)
	require.True(t, absent == nil)
	_, err = fresh.Item(t.Context(), node)
	var needsActor *fault.Fault
	require.ErrorAs(t, err, &needsActor)
}
