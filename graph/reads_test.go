package graph_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

const dashboard = `query($id: ID!, $first: Int) { project(id: $id) { name virtualMachines(first: $first) { totalCount nodes {
	id name kind template { slug } addOns { slug } resources { cpu memory disk }
	composition { capabilities { capability providedBy { slug } } missing { capability suppliers { slug } } leastResources { cpu } }
	providers { id status cloudAccount { name } availability { action available reason fix } composition { leastResources { cpu } } }
	operations(statuses: [QUEUED, RUNNING]) { nodes { id kind status progress steps { name status } } }
} } } }`

func TestDashboardCostsTheSameForAnyNumberOfVMs(t *testing.T) {
	w := newWorld(t)
	account, projectID := w.account(), w.project("Shop")
	made, cost := 0, map[int]int64{}
	for _, n := range []int{5, 50, 100} {
		for ; made < n; made++ {
			w.vm(projectID, fmt.Sprintf("vm-%d", made), account)
		}
		vars := map[string]any{"id": projectID, "first": 100}
		w.must(dashboard, vars) // the catalog is read once, however many VMs there are
		before := w.sent.n.Load()
		data := w.must(dashboard, vars)
		cost[n] = w.sent.n.Load() - before
		require.Equal(t, float64(n), at(data, "project", "virtualMachines", "totalCount"))
		nodes := at(data, "project", "virtualMachines", "nodes").([]any)
		require.Len(t, nodes, n)
		last := nodes[n-1]
		require.Equal(t, "sim", at(last, "providers", 0, "cloudAccount", "name"))
		require.Len(t, at(last, "providers", 0, "availability"), 4)
		require.Len(t, at(last, "addOns"), 2)
		require.NotEmpty(t, at(last, "operations", "nodes", 0, "steps"))
		require.NotEmpty(t, at(last, "composition", "missing", 0, "suppliers"))
	}
	require.Equal(t, cost[5], cost[50])
	require.Equal(t, cost[5], cost[100])
	// Two of them are the token and the total count.
	require.LessOrEqual(t, cost[100], int64(10))
}

// Below edges and in lists of lists no batch reaches; the loaders do.
func TestListsOfListsCostTheSameForAnyNumberOfParents(t *testing.T) {
	w := newWorld(t)
	account, made := w.account(), 0
	const query = `query($team: ID!) { viewer { user { email } token { name } teams { viewerRole } }
		team(id: $team) { name members { nodes { user { name } role } } cloudAccounts { totalCount }
		projects(first: 50) { edges { cursor node { name team { name }
			virtualMachines(first: 5) { totalCount edges { node { name project { name } template { slug } addOns { slug }
				providers { virtualMachine { name } cloudAccount { name } availability { available } }
				operations(first: 2) { totalCount edges { node { target { id } actor { name } steps { name } } } } } } }
			components(first: 5) { totalCount nodes { id name kind } } operations(first: 2) { totalCount nodes { kind } }
		} } } } }`
	vars := map[string]any{"team": w.teamID}
	cost := map[int]int64{}
	for _, n := range []int{2, 8} {
		for ; made < n; made++ {
			projectID := w.project(fmt.Sprint("project ", made))
			w.vm(projectID, "one", account)
			w.vm(projectID, "two", account)
		}
		w.must(query, vars)
		before := w.sent.n.Load()
		data := w.must(query, vars)
		cost[n] = w.sent.n.Load() - before
		projects := at(data, "team", "projects", "edges").([]any)
		require.Len(t, projects, n)
		node := at(projects[n-1], "node", "virtualMachines", "edges", 1, "node")
		require.Equal(t, "two", at(node, "providers", 0, "virtualMachine", "name"))
		require.Equal(t, "ann", at(node, "operations", "edges", 0, "node", "actor", "name"))
		require.Equal(t, "VIRTUAL_MACHINE", at(projects[0], "node", "components", "nodes", 1, "kind"))
		require.Equal(t, float64(2), at(projects[0], "node", "operations", "totalCount"))
	}
	require.Equal(t, cost[2], cost[8])
}

func TestPagesFollowOneAnother(t *testing.T) {
	w := newWorld(t)
	projectID := w.project("Shop")
	for i := range 5 {
		w.vm(projectID, fmt.Sprint("vm-", i), "")
	}
	const query = `query($id: ID!, $first: Int, $after: Cursor, $last: Int, $before: Cursor) { project(id: $id) {
		virtualMachines(first: $first, after: $after, last: $last, before: $before) {
			nodes { name } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } } }`
	page := func(vars map[string]any) (names []string, info any) {
		vars["id"] = projectID
		list := at(w.must(query, vars), "project", "virtualMachines")
		for _, n := range at(list, "nodes").([]any) {
			names = append(names, at(n, "name").(string))
		}
		return names, at(list, "pageInfo")
	}
	names, info := page(map[string]any{"first": 2})
	require.Equal(t, []string{"vm-0", "vm-1"}, names)
	require.Equal(t, []any{true, false}, []any{at(info, "hasNextPage"), at(info, "hasPreviousPage")})
	names, info = page(map[string]any{"first": 2, "after": at(info, "endCursor")})
	require.Equal(t, []string{"vm-2", "vm-3"}, names)
	names, _ = page(map[string]any{"last": 2, "before": at(info, "startCursor")})
	require.Equal(t, []string{"vm-0", "vm-1"}, names)
	names, info = page(map[string]any{"first": 0})
	require.Empty(t, names)
	require.Nil(t, at(info, "endCursor"))
}

func TestNodes(t *testing.T) {
	w := newWorld(t)
	account, projectID := w.account(), w.project("Shop")
	vmID, providerID, operationID := w.vm(projectID, "web", account)
	items := w.catalogIDs()
	ids := []any{
		string(w.owner.UserID), string(w.teamID), string(w.owner.TokenID), account, projectID, vmID, providerID, operationID,
		items["plain-debian"], items["docker"], "vm_" + projectID[len("prj_"):], "wl_" + projectID[len("prj_"):], vmID,
	}
	data := w.must(`query($ids: [ID!]!) { nodes(ids: $ids) { __typename id } }`, map[string]any{"ids": ids})
	var kinds []any
	for i, n := range data["nodes"].([]any) {
		if n == nil {
			kinds = append(kinds, nil)
			continue
		}
		require.Equal(t, ids[i], at(n, "id"))
		kinds = append(kinds, at(n, "__typename"))
	}
	require.Equal(t, []any{
		"User", "Team", "AccessToken", "CloudAccount", "Project", "VirtualMachine", "VirtualMachineProvider", "Operation",
		"VmTemplate", "AddOnPack", nil, nil, "VirtualMachine",
	}, kinds)
	many := make([]string, 101)
	for i := range many {
		many[i] = vmID
	}
	a := w.ask(`query($ids: [ID!]!) { nodes(ids: $ids) { id } }`, map[string]any{"ids": many})
	require.Equal(t, "BAD_REQUEST", a.Errors[0].Extensions["code"])
}

// What a later mutation of a request answers is read after it, not kept from an
// earlier one.
func TestMutationsOfOneRequestSeeOneAnother(t *testing.T) {
	w := newWorld(t)
	account, projectID := w.account(), w.project("Shop")
	vmID, providerID, operationID := w.vm(projectID, "web", account)
	data := w.must(`mutation($op: ID!, $vm: ID!, $provider: ID!) {
		a: cancelOperation(input: {operationId: $op}) { operation { target { ... on VirtualMachineProvider { virtualMachine { name } } } } }
		b: updateVirtualMachine(input: {virtualMachineId: $vm, name: "renamed"}) { virtualMachine { name } }
		c: destroyVirtualMachineProvider(input: {virtualMachineProviderId: $provider}) { virtualMachineProvider { virtualMachine { name } } }
	}`, map[string]any{"op": operationID, "vm": vmID, "provider": providerID})
	require.Equal(t, "web", at(data, "a", "operation", "target", "virtualMachine", "name"))
	require.Equal(t, "renamed", at(data, "c", "virtualMachineProvider", "virtualMachine", "name"))
}

func TestPlatformAndCatalog(t *testing.T) {
	w := newWorld(t)
	data := w.must(`{ platform { version features { deployVmEnabled } cloudProviders { kind name simulated } }
		vmTemplates { slug leastResources { cpu memory disk } defaultShutdownTimer capabilities }
		addOnPacks { slug extraResources { cpu } fitsTemplates } }`, nil)
	require.Equal(t, "1.2.3", at(data, "platform", "version"))
	require.Equal(t, true, at(data, "platform", "features", "deployVmEnabled"))
	require.Equal(t, "SIMULATOR", at(data, "platform", "cloudProviders", 0, "kind"))
	require.NotZero(t, at(data, "vmTemplates", 0, "leastResources", "memory"))
	require.IsType(t, []any{}, at(data, "addOnPacks", 0, "fitsTemplates"))
}
