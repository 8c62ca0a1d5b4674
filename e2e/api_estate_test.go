package e2e_test

import (
	"fmt"
	"testing"

	"biztraak.dev/vm/internal/app"
	"biztraak.dev/vm/internal/ident"
)

// estate is what the tests of the API play with: a team with an owner and a
// viewer, and a stranger who has one of everything in a team of their own.
type estate struct {
	*api
	owner, member, viewer, stranger person
	// ceiling is a token of the owner that lends no more than VIEWER.
	ceiling       string
	team, account string
	templates     map[string]string
	addOns        map[string]string
	foreign       map[ident.Kind]string
}

// newEstate starts a system and fills it. Roles without Work leave all
// operations queued.
func newEstate(t *testing.T, roles app.Roles) *estate {
	t.Helper()
	return furnish(startAPI(t, roles, ""))
}

func furnish(s *api) *estate {
	s.t.Helper()
	e := &estate{api: s, templates: map[string]string{}, addOns: map[string]string{}}
	e.owner, e.member, e.viewer, e.stranger = s.person("Olga"), s.person("Mark"), s.person("Vera"), s.person("Sven")
	_, e.ceiling = s.token(e.owner.user, "VIEWER", nil)
	e.team = e.makeTeam(e.owner)
	s.join(e.team, e.member, "MEMBER")
	s.join(e.team, e.viewer, "VIEWER")
	e.account = e.connect(e.owner, e.team, nil)
	catalog := s.must(e.owner.bearer, `{ vmTemplates { id slug } addOnPacks { id slug } }`, nil)
	for list, into := range map[string]map[string]string{"vmTemplates": e.templates, "addOnPacks": e.addOns} {
		items, _ := catalog[list].([]any)
		for _, item := range items {
			into[text(s.t, item, "slug")] = text(s.t, item, "id")
		}
	}
	e.fillForeign()
	return e
}

// in is the same estate for a subtest.
func (e *estate) in(t *testing.T) *estate {
	t.Helper()
	other, s, i := *e, *e.api, *e.installation
	i.t, s.installation, s.t, s.ctx = t, &i, t, t.Context()
	other.api = &s
	return &other
}

// fillForeign gives the stranger one of everything.
func (e *estate) fillForeign() {
	e.t.Helper()
	theirs := e.makeTeam(e.stranger)
	account := e.connect(e.stranger, theirs, nil)
	project := e.project(e.stranger, theirs)
	vm := e.vm(e.stranger, project)
	provider := e.provider(vm, account, "RUNNING")
	e.foreign = map[ident.Kind]string{
		ident.User: e.stranger.user, ident.Team: theirs, ident.Token: e.stranger.token, ident.Account: account,
		ident.Project: project, ident.VM: vm, ident.Provider: provider, ident.Operation: e.failed(provider),
		ident.Template: e.privateItem(e.templates["plain-debian"], theirs),
		ident.AddOn:    e.privateItem(e.addOns["docker"], theirs),
	}
}

// name answers a name that was not used before.
func (e *estate) name(prefix string) string {
	return prefix + "-" + newID(ident.Package)[4:]
}

func (e *estate) makeTeam(p person) string {
	e.t.Helper()
	return text(e.t, e.must(p.bearer, `mutation($n: String!) { createTeam(input: { name: $n }) {
		team { id } userErrors { code message } } }`, object{"n": e.name("team")}), "createTeam", "team", "id")
}

// connect connects an account whose machines have a fault; nil for none.
func (e *estate) connect(p person, team string, fault any) string {
	e.t.Helper()
	return text(e.t, e.must(p.bearer, `mutation($t: ID!, $n: String!, $f: SimulatorFault) { connectCloudAccount(input: {
		teamId: $t, name: $n, simulator: { token: "secret", fault: $f } }) { cloudAccount { id } userErrors { code message } } }`,
		object{"t": team, "n": e.name("account"), "f": fault}), "connectCloudAccount", "cloudAccount", "id")
}

func (e *estate) project(p person, team string) string {
	e.t.Helper()
	return text(e.t, e.must(p.bearer, `mutation($t: ID!, $n: String!) { createProject(input: { teamId: $t, name: $n }) {
		project { id } userErrors { code message } } }`, object{"t": team, "n": e.name("project")}), "createProject", "project", "id")
}

func (e *estate) vm(p person, project string) string {
	e.t.Helper()
	return e.vmNamed(p, project, e.name("vm"))
}

func (e *estate) vmNamed(p person, project, name string) string {
	e.t.Helper()
	return text(e.t, e.must(p.bearer, `mutation($p: ID!, $n: String!, $tpl: ID!) { createVirtualMachine(input: {
		projectId: $p, name: $n, templateId: $tpl }) { virtualMachine { id } userErrors { code message } } }`,
		object{"p": project, "n": name, "tpl": e.templates["plain-debian"]}), "createVirtualMachine", "virtualMachine", "id")
}

// roads are how a provider gets into a status; the database lets it go no other
// way.
var roads = map[string][]string{
	"PENDING": {}, "PROVISIONING": {"PROVISIONING"}, "RUNNING": {"PROVISIONING", "RUNNING"},
	"FAILED":  {"PROVISIONING", "FAILED"},
	"STOPPED": {"PROVISIONING", "RUNNING", "STOPPING", "STOPPED"}, "LOST": {"LOST"},
	"DELETED": {"DELETING", "DELETED"},
}

// provider writes a machine that is in the status and that nothing holds.
func (e *estate) provider(vm, account, status string) string {
	e.t.Helper()
	id := newID(ident.Provider)
	e.exec(`INSERT INTO vm_provider (id, team_id, project_id, vm_id, account_id, kind, region, size, status, status_since,
			simulated, created_at, applied_template_id, applied_add_on_ids)
		SELECT $1, c.team_id, c.project_id, c.id, $3, 'SIMULATOR', 'sim-1', 'small', 'PENDING', now(), true, now(),
			v.template_id, v.add_on_ids
		FROM component c JOIN virtual_machine v ON v.id = c.id WHERE c.id = $2`, id, vm, account)
	for _, next := range roads[status] {
		e.exec(`UPDATE vm_provider SET status = $2 WHERE id = $1`, id, next)
	}
	return id
}

// failed writes a provision of the machine that has failed and can be retried.
func (e *estate) failed(provider string) string {
	e.t.Helper()
	return e.operation(provider, "FAILED", "CAPACITY")
}

// operation writes an operation of the machine that has ended, with an error
// unless it succeeded.
func (e *estate) operation(provider, status, code string) string {
	e.t.Helper()
	id := newID(ident.Operation)
	e.exec(`INSERT INTO operation (id, team_id, project_id, kind, status, target_id, ancestors, actor_id, urgent, simulated,
			run_after, created_at, started_at, finished_at, error_code, error_message, error_retryable)
		SELECT $1, p.team_id, p.project_id, 'PROVISION', $3, p.id, ARRAY[p.vm_id, p.project_id], $5, false, true,
			now(), now(), now(), now(), nullif($4, ''), 'no room', $4 <> ''
		FROM vm_provider p WHERE p.id = $2`, id, provider, status, code, e.owner.user)
	e.exec(`INSERT INTO operation_step (operation_id, idx, phase, name, status) VALUES ($1, 0, 'FORWARD', 'create_instance', 'FAILED')`, id)
	return id
}

// privateItem publishes a copy of an item for one team alone.
func (e *estate) privateItem(original, team string) string {
	e.t.Helper()
	id := newID(ident.ID(original).Kind())
	e.exec(`INSERT INTO catalog_item (id, kind, team_id, slug, version, digest, manifest, created_at)
		SELECT $1, kind, $3, slug, version, digest, manifest, now() FROM catalog_item WHERE id = $2`, id, original, team)
	return id
}

// item publishes a changed copy of an item: change is a JSON document whose
// objects are merged into its spec.
func (e *estate) item(original, slug, spec string) string {
	e.t.Helper()
	id := newID(ident.ID(original).Kind())
	e.exec(`INSERT INTO catalog_item (id, kind, team_id, slug, version, digest, manifest, created_at)
		SELECT $1, kind, $3, $4, version, digest, jsonb_set(jsonb_set(manifest, '{metadata,slug}', to_jsonb($4::text)),
			'{spec}', (manifest -> 'spec') || $5::jsonb), now() FROM catalog_item WHERE id = $2`,
		id, original, e.team, slug, spec)
	return id
}

// queued asks for a machine, and leaves the work queued when there is no worker.
func (e *estate) queued(vm string) (provider, operation string) {
	e.t.Helper()
	d := e.must(e.owner.bearer, `mutation($v: ID!, $a: ID!) { provisionVirtualMachine(input: { virtualMachineId: $v, cloudAccountId: $a }) {
		virtualMachineProvider { id } operation { id } userErrors { code message } } }`, object{"v": vm, "a": e.account})
	return text(e.t, d, "provisionVirtualMachine", "virtualMachineProvider", "id"), text(e.t, d, "provisionVirtualMachine", "operation", "id")
}

// rows counts the rows of every table.
func (e *estate) rows() map[string]int64 {
	e.t.Helper()
	var sql string
	tables, err := e.sql.Query(e.ctx, `SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1`)
	if err != nil {
		e.t.Fatal(err)
	}
	for tables.Next() {
		var name string
		if err := tables.Scan(&name); err != nil {
			e.t.Fatal(err)
		}
		if sql != "" {
			sql += " UNION ALL "
		}
		sql += fmt.Sprintf("SELECT '%s', count(*) FROM %s", name, name)
	}
	counts, err := e.sql.Query(e.ctx, sql)
	if err != nil {
		e.t.Fatal(err)
	}
	out := map[string]int64{}
	for counts.Next() {
		var name string
		var n int64
		if err := counts.Scan(&name, &n); err != nil {
			e.t.Fatal(err)
		}
		out[name] = n
	}
	return out
}
