package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/app"
)

// TestBadPages gives every list what it must not take.
func TestBadPages(t *testing.T) {
	t.Parallel()
	e := newEstate(t, app.Roles{Serve: true})
	project := e.project(e.owner, e.team)
	vm := e.vm(e.owner, project)
	provider := e.provider(vm, e.account, "RUNNING")
	foreign := text(t, e.must(e.owner.bearer, `query($p: ID!) { project(id: $p) { events(first: 1) { pageInfo { endCursor } } } }`,
		object{"p": project}), "project", "events", "pageInfo", "endCursor")
	holders := map[string]string{"Team": e.team, "Project": project, "VirtualMachine": vm, "VirtualMachineProvider": provider}
	seen := 0
	for holder, id := range holders {
		for _, f := range loadDocuments(t).schema.Types[holder].Fields {
			if f.Arguments.ForName("first") == nil {
				continue
			}
			seen++
			cases := []string{
				"first: -1", "first: 101", "first: 2147483647", `first: 1, after: ""`, `first: 1, after: "x"`, `first: 1, after: "☃"`,
				`first: 1, after: "` + strings.Repeat("A", 5000) + `"`,
			}
			if f.Arguments.ForName("last") != nil {
				cases = append(cases, "first: 1, last: 1", "last: -1", "last: 101", `last: 1, before: "x"`)
			}
			if f.Name != "events" && f.Name != "systemLogs" {
				cases = append(cases, `first: 1, after: "`+foreign+`"`)
			}
			for _, args := range cases {
				a := e.call(e.owner.bearer, fmt.Sprintf(`query($id: ID!) { node(id: $id) { ... on %s { %s(%s) { pageInfo { endCursor } } } } }`,
					holder, f.Name, args), object{"id": id})
				require.NotEmpty(t, a.Errors, "%s.%s(%.80s): %s", holder, f.Name, args, a.body)
				require.Equal(t, "BAD_REQUEST", a.Errors[0].Extensions.Code, "%s.%s(%.80s): %s", holder, f.Name, args, a.body)
			}
		}
	}
	require.GreaterOrEqual(t, seen, 9)
	ids := make([]string, 101)
	for i := range ids {
		ids[i] = project
	}
	a := e.call(e.owner.bearer, `query($ids: [ID!]!) { nodes(ids: $ids) { id } }`, object{"ids": ids})
	require.Equal(t, "BAD_REQUEST", a.Errors[0].Extensions.Code, a.body)
	require.Len(t, e.must(e.owner.bearer, `query($ids: [ID!]!) { nodes(ids: $ids) { id } }`, object{"ids": ids[:100]})["nodes"], 100)
}
