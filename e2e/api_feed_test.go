package e2e_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/app"
	"biztraak.dev/vm/internal/transport/wsclient"
)

const (
	followEvents = `subscription($p: ID!, $a: Cursor) { projectEvents(projectId: $p, after: $a) {
		endCursor events { seq kind cursor subject { id } } } }`
	followLogs = `subscription($p: ID!, $a: Cursor, $t: Int, $f: SystemLogFilter) { systemLogs(providerId: $p, after: $a, tail: $t, filter: $f) {
		endCursor lagged lines { seq cursor unit priority plainMessage } } }`
)

// seqs are the numbers in a batch of events or lines.
func seqs(batch any, list string) []int {
	items, _ := dig(batch, list).([]any)
	out := make([]int, len(items))
	for i, item := range items {
		n, _ := dig(item, "seq").(float64)
		out[i] = int(n)
	}
	return out
}

// upTo are the numbers from one on to another.
func upTo(from, to int) []int {
	var out []int
	for n := from; n <= to; n++ {
		out = append(out, n)
	}
	return out
}

// TestEventsResume follows a project over thirty connections, one after the
// other, while things happen in it: each event comes once and in order.
func TestEventsResume(t *testing.T) {
	t.Parallel()
	const reconnects, renames = 30, 150
	e := newEstate(t, app.Roles{Serve: true})
	project := e.project(e.owner, e.team)
	vm := e.vm(e.owner, project)
	renamed := e.renameOften(vm, renames)
	const before = 2 // the project and the VM were made
	var got []int
	after := dig(e.must(e.owner.bearer, `query($p: ID!) { project(id: $p) { events(first: 1) { pageInfo { endCursor } } } }`,
		object{"p": project}), "project", "events", "pageInfo", "endCursor")
	for n := 0; n < reconnects || len(got) < renames+before-1; n++ {
		conn := e.dial(e.owner.bearer)
		u := e.subscribe(conn, followEvents, object{"p": project, "a": after})
		batch := u.until(func(d object) bool {
			return len(seqs(d["projectEvents"], "events")) > 0 || len(got) == renames+before-1
		})["projectEvents"]
		got, after = append(got, seqs(batch, "events")...), dig(batch, "endCursor")
		_ = conn.Close() // the other end may have closed it first
	}
	require.NoError(t, renamed())
	require.Equal(t, upTo(before, renames+before), got)
}

// TestManySubscriptions follows one project two hundred times.
func TestManySubscriptions(t *testing.T) {
	t.Parallel()
	const connections, each, renames = 5, 40, 10
	e := newEstate(t, app.Roles{Serve: true})
	project := e.project(e.owner, e.team)
	vm := e.vm(e.owner, project)
	var all []*apiStream
	for range connections {
		conn := e.dial(e.owner.bearer)
		for range each {
			all = append(all, e.subscribe(conn, followEvents, object{"p": project}))
		}
	}
	for _, u := range all {
		require.Empty(t, seqs(u.next()["projectEvents"], "events"), "it starts now")
	}
	for i := range renames {
		e.rename(vm, fmt.Sprintf("vm-%d", i))
	}
	for _, u := range all {
		var got []int
		for len(got) < renames {
			got = append(got, seqs(u.next()["projectEvents"], "events")...)
		}
		require.Equal(t, upTo(3, renames+2), got)
	}
}

// TestLogFeed reads a log from its tail, from a cursor, through a filter and from
// far behind.
func TestLogFeed(t *testing.T) {
	t.Parallel()
	e := newEstate(t, app.Roles{Serve: true})
	provider := e.provider(e.vm(e.owner, e.project(e.owner, e.team)), e.account, "RUNNING")
	conn := e.dial(e.viewer.bearer)
	e.logLines(provider, 10)
	tail := e.subscribe(conn, followLogs, object{"p": provider, "t": 3})
	batch := tail.next()["systemLogs"]
	require.Equal(t, upTo(8, 10), seqs(batch, "lines"))
	fourth := dig(e.must(e.viewer.bearer, `query($p: ID!) { virtualMachineProvider(id: $p) { systemLogs(first: 4) { pageInfo { endCursor } } } }`,
		object{"p": provider}), "virtualMachineProvider", "systemLogs", "pageInfo", "endCursor")
	after := e.subscribe(conn, followLogs, object{"p": provider, "a": fourth, "t": 1})
	require.Equal(t, upTo(5, 10), seqs(after.next()["systemLogs"], "lines"))
	errors := e.subscribe(conn, followLogs, object{"p": provider, "t": 2, "f": object{"minPriority": 3, "units": []any{"app"}}})
	require.Equal(t, []int{8, 10}, seqs(errors.next()["systemLogs"], "lines"))
	nine := e.subscribe(conn, followLogs, object{"p": provider, "t": 100, "f": object{"contains": "line 9", "sources": []any{"PLATFORM"}}})
	require.Equal(t, []int{10}, seqs(nine.next()["systemLogs"], "lines"))
	e.logLines(provider, 2)
	for _, u := range []*apiStream{tail, after} {
		require.Equal(t, []int{11, 12}, seqs(u.next()["systemLogs"], "lines"))
	}
	require.Equal(t, []int{12}, seqs(errors.next()["systemLogs"], "lines"))

	const many = 1500
	e.logLines(provider, many)
	behind := e.subscribe(conn, followLogs, object{"p": provider, "a": fourth, "t": 1})
	var got []int
	lagged := []bool{}
	for len(got) < many+8 {
		b := behind.next()["systemLogs"]
		got = append(got, seqs(b, "lines")...)
		lagged = append(lagged, dig(b, "lagged") == true)
	}
	require.Equal(t, upTo(5, many+12), got)
	require.True(t, lagged[0], "the first batch is from behind the live end")
	require.False(t, lagged[len(lagged)-1], "the last one is not")
}

// TestExpiredCursor follows a log from a line that is not kept any more: one
// error with a code and the first cursor that is left, on a connection that goes
// on.
func TestExpiredCursor(t *testing.T) {
	t.Parallel()
	e := newEstate(t, app.Roles{Serve: true})
	provider := e.provider(e.vm(e.owner, e.project(e.owner, e.team)), e.account, "RUNNING")
	e.logLines(provider, 10)
	first := dig(e.must(e.owner.bearer, `query($p: ID!) { virtualMachineProvider(id: $p) { systemLogs(first: 1) { pageInfo { endCursor } } } }`,
		object{"p": provider}), "virtualMachineProvider", "systemLogs", "pageInfo", "endCursor")
	e.exec(`DELETE FROM log_line WHERE provider_id = $1 AND seq < 6`, provider)
	e.exec(`UPDATE log_day SET first_seq = 6 WHERE provider_id = $1`, provider)
	conn := e.dial(e.owner.bearer)
	_, err := e.subscribe(conn, followLogs, object{"p": provider, "a": first}).raw()
	told := refusedOperation(t, err)
	require.Equal(t, "BAD_REQUEST", told.Extensions.Code)
	require.Equal(t, "LOG_CURSOR_EXPIRED", told.Extensions.UserErrorCode)
	again := e.subscribe(conn, followLogs, object{"p": provider, "a": told.Extensions.FirstCursor})
	require.Equal(t, upTo(6, 10), seqs(again.next()["systemLogs"], "lines"))
}

// refusedOperation is the first error of an operation that was refused or ended.
func refusedOperation(t *testing.T, err error) topError {
	t.Helper()
	var refused *wsclient.OperationError
	require.ErrorAs(t, err, &refused)
	var errs []topError
	require.NoError(t, json.Unmarshal(refused.Errors, &errs))
	require.NotEmpty(t, errs)
	return errs[0]
}

// TestErrorThenSubscribe has operations refused for each reason; the next one on
// the same connection is as good as new.
func TestErrorThenSubscribe(t *testing.T) {
	t.Parallel()
	e := newEstate(t, app.Roles{Serve: true})
	project := e.project(e.owner, e.team)
	conn := e.dial(e.owner.bearer)
	for _, c := range []struct{ name, document, code string }{
		{"no GraphQL", `subscription {`, "GRAPHQL_PARSE_FAILED"},
		{"no such field", `subscription { nothing }`, "GRAPHQL_VALIDATION_FAILED"},
		{"no id", `subscription { projectEvents(projectId: "x") { endCursor } }`, "BAD_REQUEST"},
		{"no cursor", `subscription { projectEvents(projectId: "` + project + `", after: "x") { endCursor } }`, "BAD_REQUEST"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := e.in(t)
			_, err := e.subscribe(conn, c.document, nil).raw()
			require.Equal(t, c.code, refusedOperation(t, err).Extensions.Code)
			u := e.subscribe(conn, followEvents, object{"p": project})
			require.NotNil(t, dig(u.next(), "projectEvents", "endCursor"))
			require.NoError(t, u.stream.Stop())
		})
	}
}
