package e2e_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/app"
	"biztraak.dev/vm/internal/ident"
)

// mostDashboardStatements is what the whole request may cost, the look-up of the
// token included.
const mostDashboardStatements = 8

// fleet fills a project with VMs of two machines each. Every third VM has work
// under way; the VMs are of different templates and add-ons.
func (e *estate) fleet(project string, vms int) {
	e.t.Helper()
	templates := []string{"plain-debian", "n8n", "code-environment"}
	for i := range vms {
		id, name := newID(ident.VM), fmt.Sprintf("fleet-%03d", i)
		e.exec(`INSERT INTO component (id, team_id, project_id, kind, name, slug, created_at)
			VALUES ($1, $2, $3, 'VIRTUAL_MACHINE', $4, $4, now())`, id, e.team, project, name)
		e.exec(`INSERT INTO virtual_machine (id, template_id, add_on_ids, cpu_milli, memory_bytes, disk_bytes)
			VALUES ($1, $2, $3, 8000, 17179869184, 171798691840)`,
			id, e.templates[templates[i%len(templates)]], []string{e.addOns["docker"], e.addOns["terminal"]}[:i%3])
		e.provider(id, e.account, "RUNNING")
		second := e.provider(id, e.account, "PROVISIONING")
		if i%3 == 0 {
			e.exec(`UPDATE operation SET status = 'QUEUED', finished_at = NULL WHERE id = $1`, e.operation(second, "SUCCEEDED", ""))
		}
	}
}

// TestDashboardStatements asks for the dashboard of projects of three sizes: it
// costs as many statements with a hundred VMs as with five.
func TestDashboardStatements(t *testing.T) {
	t.Parallel()
	document, err := os.ReadFile("../bench/dashboard.graphql")
	require.NoError(t, err)
	e := newEstate(t, app.Roles{Serve: true})
	big := e.project(e.owner, e.team)
	e.fleet(big, 110)
	ask := func(first int) []string {
		e.trace.take()
		d := e.must(e.owner.bearer, string(document), object{"project": big, "first": first})
		sent := e.trace.take()
		nodes, _ := dig(d, "project", "virtualMachines", "nodes").([]any)
		require.Len(t, nodes, first)
		busy := 0
		for _, n := range nodes {
			machines, _ := dig(n, "providers").([]any)
			require.Len(t, machines, 2)
			if dig(n, "operations", "nodes", 0, "steps", 0) != nil {
				busy++
			}
		}
		require.Equal(t, (first+2)/3, busy)
		return sent
	}
	ask(5) // what the process keeps of the catalog is read once
	few := ask(5)
	require.NotEmpty(t, few, "nothing is traced")
	require.LessOrEqual(t, len(few)+1, mostDashboardStatements, strings.Join(few, "\n"))
	for _, first := range []int{50, 100} {
		sent := ask(first)
		require.Len(t, sent, len(few), "%d VMs:\n%s", first, strings.Join(sent, "\n"))
	}
}

// TestConnectionStatements reads each list of the schema with one row and with
// many, with all that a row has to say: the number of statements is the same.
func TestConnectionStatements(t *testing.T) {
	t.Parallel()
	const rows = 12
	docs := loadDocuments(t)
	e := newEstate(t, app.Roles{Serve: true})
	holders := e.crowded(rows)
	seen := 0
	for _, def := range docs.schema.Types {
		for _, f := range def.Fields {
			if !strings.HasSuffix(f.Type.Name(), "Connection") {
				continue
			}
			seen++
			t.Run(def.Name+"."+f.Name, func(t *testing.T) {
				e := e.in(t)
				id, ok := holders[def.Name]
				require.True(t, ok, "there is no %s with many rows", def.Name)
				node := docs.schema.Types[docs.schema.Types[f.Type.Name()].Fields.ForName("nodes").Type.Name()]
				count := ""
				if docs.schema.Types[f.Type.Name()].Fields.ForName("totalCount") != nil {
					count = "totalCount"
				}
				document := fmt.Sprintf(`query($id: ID!, $first: Int) { node(id: $id) { ... on %s { %s(first: $first) { %s nodes %s } } } }`,
					def.Name, f.Name, count, docs.selection(node, 1))
				ask := func(first int) []string {
					e.trace.take()
					d := e.must(e.owner.bearer, document, object{"id": id, "first": first})
					got, _ := dig(d, "node", f.Name, "nodes").([]any)
					require.Len(t, got, first)
					return e.trace.take()
				}
				ask(rows)
				one, many := ask(1), ask(rows)
				require.NotEmpty(t, one)
				require.Len(t, many, len(one), "with one row:\n%s\nwith %d:\n%s", strings.Join(one, "\n"), rows, strings.Join(many, "\n"))
			})
		}
	}
	require.GreaterOrEqual(t, seen, 9)
}

// crowded makes one of each type that has lists, with as many rows of one kind
// in each.
func (e *estate) crowded(rows int) map[string]string {
	e.t.Helper()
	for range rows {
		e.join(e.team, e.api.person(e.name("guest")), "MEMBER")
		e.connect(e.owner, e.team, nil)
		e.project(e.owner, e.team)
	}
	projects := ids(e, `SELECT id FROM project WHERE team_id = $1 ORDER BY id`, e.team)
	for _, p := range projects {
		e.provider(e.vm(e.owner, p), e.account, "RUNNING")
	}
	project := projects[0]
	for range rows {
		vm := e.vm(e.owner, project)
		e.failed(e.provider(vm, e.account, "FAILED"))
		e.provider(vm, e.account, "RUNNING")
	}
	vms := ids(e, `SELECT id FROM component WHERE project_id = $1 ORDER BY id`, project)
	provider := e.provider(vms[0], e.account, "FAILED")
	for range rows {
		e.failed(provider)
	}
	// Events of one kind: the first tells of the project itself.
	e.exec(`DELETE FROM event WHERE project_id = $1 AND kind <> 'COMPONENT_CREATED'`, project)
	e.logLines(provider, rows)
	return map[string]string{"Team": e.team, "Project": project, "VirtualMachine": vms[0], "VirtualMachineProvider": provider}
}

func ids(e *estate, sql string, args ...any) []string {
	e.t.Helper()
	return value[[]string](e.installation, `SELECT array_agg(id) FROM (`+sql+`) x`, args...)
}
