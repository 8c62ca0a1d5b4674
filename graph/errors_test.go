package graph_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/page"
)

func TestWhatIsOutOfFormIsABadRequest(t *testing.T) {
	w := newWorld(t)
	id, shop := string(ident.New(ident.Project)), w.project("Shop")
	project := func(args string) string {
		return `{ project(id: "` + shop + `") { virtualMachines(` + args + `) { nodes { id } } } }`
	}
	for _, c := range []struct {
		name, query string
		vars        map[string]any
		code, says  string
	}{
		{"id in the text", `{ node(id: "nonsense") { id } }`, nil, "BAD_REQUEST", "id: "},
		{"id in a variable", `query($id: ID!) { project(id: $id) { id } }`, map[string]any{"id": "prj_'--"}, "BAD_REQUEST", "id: "},
		{"number for an id", `query($id: ID!) { project(id: $id) { id } }`, map[string]any{"id": 7}, "BAD_REQUEST", "id: "},
		{"id in an input", `mutation($i: UpdateProjectInput!) { updateProject(input: $i) { project { id } } }`,
			map[string]any{"i": map[string]any{"projectId": "x", "name": "y"}}, "BAD_REQUEST", "input.projectId: "},
		{"id in a list", `query($ids: [ID!]!) { nodes(ids: $ids) { id } }`, map[string]any{"ids": []any{id, "x"}}, "BAD_REQUEST", "ids[1]: "},
		{"absurd size", `mutation($i: CreateVirtualMachineInput!) { createVirtualMachine(input: $i) { virtualMachine { id } } }`,
			map[string]any{"i": map[string]any{"projectId": id, "name": "y", "templateId": string(ident.New(ident.Template)),
				"resources": map[string]any{"memory": "9999999999999P"}}}, "BAD_REQUEST", "input.resources.memory: "},
		{"moment without offset", `mutation($i: CreateAccessTokenInput!) { createAccessToken(input: $i) { secret } }`,
			map[string]any{"i": map[string]any{"name": "y", "expiresAt": "2027-01-01T00:00:00"}}, "BAD_REQUEST", "input.expiresAt: "},
		{"cursor of nothing", project(`after: "a b"`), nil, "BAD_REQUEST", "cursor"},
		{"cursor of another list", project(`after: "` + string(page.NewCursor("a", "b")) + `"`), nil, "BAD_REQUEST", "another list"},
		{"cursor that is no text", project(`after: "` + string(page.NewCursor("\xff")) + `"`), nil, "BAD_REQUEST", "cursor"},
		{"page too large", project(`first: 101`), nil, "BAD_REQUEST", "100"},
		{"page negative", project(`first: -1`), nil, "BAD_REQUEST", "100"},
		{"both ends", project(`first: 1, last: 1`), nil, "BAD_REQUEST", "not both"},
		{"integer too large", `mutation($v: Int) { updateProject(input: {projectId: "` + shop + `", name: "x", expectedVersion: $v}) { project { id } } }`,
			map[string]any{"v": 1 << 40}, "BAD_REQUEST", "input.expectedVersion: an Int"},
		{"enum in small letters", `mutation($i: CreateAccessTokenInput!) { createAccessToken(input: $i) { secret } }`,
			map[string]any{"i": map[string]any{"name": "y", "ceiling": "owner"}}, "GRAPHQL_VALIDATION_FAILED", "Role"},
		{"enum in a list", `query($id: ID!, $s: [OperationStatus!]) { project(id: $id) { operations(statuses: $s) { totalCount } } }`,
			map[string]any{"id": id, "s": []any{"QUEUED", "queued"}}, "GRAPHQL_VALIDATION_FAILED", "OperationStatus"},
		{"unknown field", `{ viewer { usr { id } } }`, nil, "GRAPHQL_VALIDATION_FAILED", "usr"},
		{"no document", `{`, nil, "GRAPHQL_PARSE_FAILED", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := w.ask(c.query, c.vars)
			require.Len(t, a.Errors, 1)
			require.Equal(t, c.code, a.Errors[0].Extensions["code"], a.Errors[0].Message)
			require.Contains(t, a.Errors[0].Message, c.says)
			require.NotContains(t, a.Errors[0].Message, "Did you mean")
			require.Less(t, len(a.Errors[0].Message), 400)
		})
	}
	require.Empty(t, w.log.String(), "a fault of the client is not logged as one of ours")
}

func TestPathEndsAtTheField(t *testing.T) {
	w := newWorld(t)
	a := w.ask(`{ p: node(id: "x") { id } }`, nil)
	require.Equal(t, []any{"p"}, a.Errors[0].Path)
}

// One value stands for a list of one.
func TestSingleEnumForAList(t *testing.T) {
	w := newWorld(t)
	id := w.project("Shop")
	data := w.must(`query($id: ID!, $s: [OperationStatus!]) { project(id: $id) { operations(statuses: $s) { totalCount } } }`,
		map[string]any{"id": id, "s": "QUEUED"})
	require.Equal(t, float64(0), at(data, "project", "operations", "totalCount"))
}

func TestOwnFaultsAreMaskedAndLoggedOnce(t *testing.T) {
	w := newWorld(t)
	account, projectID := w.account(), w.project("Shop")
	for _, name := range []string{"a", "b", "c"} {
		w.vm(projectID, name, account)
	}
	require.NoError(t, w.db.Gorm(t.Context()).Exec("ALTER TABLE cloud_account RENAME TO hidden").Error)
	a := w.ask(`query($id: ID!) { project(id: $id) { name virtualMachines { nodes { name providers { cloudAccount { name } } } } } }`,
		map[string]any{"id": projectID})
	require.Len(t, a.Errors, 3)
	for _, e := range a.Errors {
		require.Equal(t, "internal error", e.Message)
		require.Equal(t, "INTERNAL", e.Extensions["code"])
		require.NotEmpty(t, e.Extensions["requestId"])
		require.Equal(t, "cloudAccount", e.Path[len(e.Path)-1])
	}
	nodes := at(a.Data, "project", "virtualMachines", "nodes").([]any)
	require.Equal(t, "a", at(nodes, 0, "name"), "what could be read is answered")
	require.Nil(t, at(nodes, 0, "providers", 0, "cloudAccount"))
	require.Equal(t, 1, strings.Count(w.log.String(), "a request failed"))
	require.Contains(t, w.log.String(), a.Errors[0].Extensions["requestId"])
}

func TestRefusalsTellWhatAScreenNeeds(t *testing.T) {
	w := newWorld(t)
	account, projectID := w.account(), w.project("Shop")
	vmID, providerID, operationID := w.vm(projectID, "web", account)
	items := w.catalogIDs()
	refuse := func(mutation, input string, vars map[string]any) any {
		a := w.ask(mutation+`{ m: `+input+` { userErrors { __typename code message path
			... on StaleVersionError { currentVersion } ... on InUseError { usedBy { id } }
			... on OperationInProgressError { operation { id kind } }
			... on MissingCapabilitiesError { capability suppliers { slug } } } } }`, vars)
		require.Empty(t, a.Errors)
		errs := at(a.Data, "m", "userErrors").([]any)
		require.NotEmpty(t, errs)
		require.NotEmpty(t, at(errs[0], "message"))
		return errs[0]
	}
	got := refuse(`mutation($id: ID!) `, `updateVirtualMachine(input: {virtualMachineId: $id, name: "x", expectedVersion: 9})`, map[string]any{"id": vmID})
	require.Equal(t, []any{"StaleVersionError", "STALE_VERSION", float64(1)}, []any{at(got, "__typename"), at(got, "code"), at(got, "currentVersion")})
	got = refuse(`mutation($id: ID!) `, `deleteVirtualMachine(input: {virtualMachineId: $id})`, map[string]any{"id": vmID})
	require.Equal(t, []any{"InUseError", "IN_USE", providerID}, []any{at(got, "__typename"), at(got, "code"), at(got, "usedBy", 0, "id")})
	got = refuse(`mutation($id: ID!) `, `deleteProject(input: {projectId: $id})`, map[string]any{"id": projectID})
	require.Equal(t, []any{"InUseError", vmID}, []any{at(got, "__typename"), at(got, "usedBy", 0, "id")})
	got = refuse(`mutation($id: ID!) `, `startVirtualMachine(input: {virtualMachineProviderId: $id})`, map[string]any{"id": providerID})
	require.Equal(t, []any{"OperationInProgressError", operationID, "PROVISION"},
		[]any{at(got, "__typename"), at(got, "operation", "id"), at(got, "operation", "kind")})
	got = refuse(`mutation($i: CreateVirtualMachineInput!) `, `createVirtualMachine(input: $i)`, map[string]any{"i": map[string]any{
		"projectId": projectID, "name": "y", "templateId": items["plain-debian"], "addOnIds": []string{items["managed-deploy"]}}})
	require.Equal(t, []any{"MissingCapabilitiesError", "ADD_ON_REQUIRES"}, []any{at(got, "__typename"), at(got, "code")})
	require.NotEmpty(t, at(got, "suppliers"))
	got = refuse(`mutation($id: ID!) `, `updateProject(input: {projectId: $id, name: ""})`, map[string]any{"id": projectID})
	require.Equal(t, []any{"InputError", "NAME_INVALID", []any{"input", "name"}}, []any{at(got, "__typename"), at(got, "code"), at(got, "path")})
}

func TestIntrospectionTellsNothingOfTheGenerator(t *testing.T) {
	w := newWorld(t)
	data := w.must(`{ __schema { directives { name } } }`, nil)
	for _, d := range at(data, "__schema", "directives").([]any) {
		require.NotEqual(t, "goField", at(d, "name"))
	}
}
