package graph_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/auth"
	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/operation"
	"biztraak.dev/vm/internal/page"
	"biztraak.dev/vm/internal/syslog"
	"biztraak.dev/vm/internal/team"
)

// colleague makes another user, a member of the team, and answers a token.
func (w *world) colleague() (token string, who auth.Actor) {
	w.t.Helper()
	text, hash := auth.NewToken()
	who = auth.Actor{UserID: ident.New(ident.User), TokenID: ident.New(ident.Token), Ceiling: auth.Owner}
	exec := func(sql string, args ...any) { require.NoError(w.t, w.db.Gorm(w.t.Context()).Exec(sql, args...).Error) }
	exec("INSERT INTO app_user (id, email, name, created_at) VALUES (?, 'bob@example.com', 'bob', app_now())", who.UserID)
	exec("INSERT INTO access_token (id, user_id, name, hash, ceiling, created_at) VALUES (?, ?, 't', ?, 'OWNER', app_now())",
		who.TokenID, who.UserID, hash)
	exec("INSERT INTO team_member (team_id, user_id, role, joined_at) VALUES (?, ?, 'MEMBER', app_now())", w.teamID, who.UserID)
	exec("INSERT INTO team_access (team_id, user_id) VALUES (?, ?) ON CONFLICT DO NOTHING", w.teamID, who.UserID)
	return text, who
}

func (w *world) rename(vmID, name string) {
	w.t.Helper()
	w.mutate("updateVirtualMachine", map[string]any{"virtualMachineId": vmID, "name": name}, "virtualMachine { name }")
}

func TestStateIsSentNowAndAfterEachChange(t *testing.T) {
	w := newWorld(t)
	account, projectID := w.account(), w.project("Shop")
	vmID, providerID, operationID := w.vm(projectID, "web", account)
	s := w.dial(w.token)
	s.subscribe("1", `subscription { virtualMachine(id: "`+vmID+`") { name template { slug } providers { status cloudAccount { name } } operations { nodes { status } } } }`)
	got := s.next()
	require.Equal(t, "web", at(got, "virtualMachine", "name"))
	require.Equal(t, "sim", at(got, "virtualMachine", "providers", 0, "cloudAccount", "name"))
	w.rename(vmID, "shop")
	require.Equal(t, "shop", at(s.next(), "virtualMachine", "name"))
	w.mutate("destroyVirtualMachineProvider", map[string]any{"virtualMachineProviderId": providerID}, "operation { id }")
	got = s.next()
	require.Equal(t, "DELETING", at(got, "virtualMachine", "providers", 0, "status"), "what is below it has changed")
	require.Len(t, at(got, "virtualMachine", "operations", "nodes"), 2)
	s.send(map[string]any{"id": "1", "type": "complete"})
	s.subscribe("2", `subscription { operation(id: "`+operationID+`") { kind cancelable } }`)
	require.Equal(t, "PROVISION", at(s.next(), "operation", "kind"))
	s.subscribe("3", `subscription { virtualMachineProvider(id: "`+providerID+`") { status virtualMachine { name } } }`)
	require.Equal(t, "shop", at(s.next(), "virtualMachineProvider", "virtualMachine", "name"))
}

func TestStatesAreConflated(t *testing.T) {
	w := newWorld(t)
	projectID := w.project("Shop")
	vmID, _, _ := w.vm(projectID, "web", "")
	s := w.dial(w.token)
	s.subscribe("1", `subscription { virtualMachine(id: "`+vmID+`") { version } }`)
	s.next()
	const changes = 40
	started := time.Now()
	for i := range changes {
		w.rename(vmID, fmt.Sprint("web-", i))
	}
	most := int(time.Since(started)/(100*time.Millisecond)) + 2
	events := 0
	for at(s.next(), "virtualMachine", "version") != float64(changes+1) {
		events++
	}
	require.LessOrEqual(t, events, most+1)
}

func TestStateEndsWithNull(t *testing.T) {
	w := newWorld(t)
	projectID := w.project("Shop")
	vmID, _, _ := w.vm(projectID, "web", "")
	s := w.dial(w.token)
	s.subscribe("1", `subscription { virtualMachine(id: "`+string(ident.New(ident.VM))+`") { name } }`)
	require.Nil(t, s.next()["virtualMachine"])
	require.Equal(t, frame{ID: "1", Type: "complete"}, s.read())
	s.subscribe("2", `subscription { virtualMachine(id: "`+vmID+`") { name } }`)
	s.next()
	w.mutate("deleteVirtualMachine", map[string]any{"virtualMachineId": vmID}, "deletedVirtualMachineId")
	require.Nil(t, s.next()["virtualMachine"])
	require.Equal(t, frame{ID: "2", Type: "complete"}, s.read())
	s.subscribe("3", `subscription { virtualMachine(id: "nonsense") { name } }`)
	require.Equal(t, "BAD_REQUEST", s.failed()["code"])
}

func TestLostAccessEndsSubscriptions(t *testing.T) {
	w := newWorld(t)
	account, projectID := w.account(), w.project("Shop")
	vmID, providerID, _ := w.vm(projectID, "web", account)
	documents := map[string]string{
		"virtualMachine": `subscription { virtualMachine(id: "` + vmID + `") { name } }`,
		"projectEvents":  `subscription { projectEvents(projectId: "` + projectID + `") { endCursor } }`,
		"systemLogs":     `subscription { systemLogs(providerId: "` + providerID + `", tail: 0) { endCursor } }`,
	}
	for field, document := range documents {
		t.Run(field+" when membership ends", func(t *testing.T) {
			token, who := w.colleague()
			defer func() {
				require.NoError(t, w.db.Gorm(t.Context()).Exec("DELETE FROM access_token WHERE user_id = ?", who.UserID).Error)
				require.NoError(t, w.db.Gorm(t.Context()).Exec("UPDATE app_user SET email = id WHERE id = ?", who.UserID).Error)
			}()
			s := w.dial(token)
			s.subscribe("1", document)
			require.NotNil(t, s.next()[field])
			_, err := w.deps.Teams.RemoveMember(w.as(), team.RemoveMemberInput{TeamID: w.teamID, UserID: who.UserID})
			require.NoError(t, err)
			require.Nil(t, s.next()[field])
			require.Equal(t, "FORBIDDEN", s.failed()["code"])
			s.subscribe("2", document)
			require.Nil(t, s.next()[field], "it looks absent from then on")
		})
		t.Run(field+" when the token is revoked", func(t *testing.T) {
			made, err := w.deps.Teams.CreateToken(w.as(), team.CreateTokenInput{Name: "short", Ceiling: auth.Viewer})
			require.NoError(t, err)
			s := w.dial(*made.Secret)
			s.subscribe("1", document)
			require.NotNil(t, s.next()[field])
			_, err = w.deps.Teams.RevokeToken(w.as(), team.RevokeTokenInput{TokenID: made.AccessToken.ID})
			require.NoError(t, err)
			require.Equal(t, "UNAUTHENTICATED", s.failed()["code"])
			s.subscribe("2", document)
			require.Equal(t, "UNAUTHENTICATED", s.failed()["code"])
		})
	}
}

// A lower role changes what can be done with an object: its followers see that.
func TestChangedRoleIsAChangeOfState(t *testing.T) {
	w := newWorld(t)
	account, projectID := w.account(), w.project("Shop")
	_, providerID, _ := w.vm(projectID, "web", account)
	token, who := w.colleague()
	s := w.dial(token)
	s.subscribe("1", `subscription { virtualMachineProvider(id: "`+providerID+`") { availability { action available reason } } }`)
	require.Equal(t, true, at(s.next(), "virtualMachineProvider", "availability", 3, "available"))
	_, err := w.deps.Teams.UpdateMember(w.as(), team.UpdateMemberInput{TeamID: w.teamID, UserID: who.UserID, Role: auth.Viewer})
	require.NoError(t, err)
	require.Equal(t, "FORBIDDEN", at(s.next(), "virtualMachineProvider", "availability", 3, "reason"))
}

func TestEventsAreEachSentOnceAndInOrder(t *testing.T) {
	w := newWorld(t)
	account, projectID := w.account(), w.project("Shop")
	vmID, _, operationID := w.vm(projectID, "web", account)
	const fields = `{ events { __typename seq cursor kind subject { id } operation { id } actor { name }
		... on ProviderStatusEvent { provider: status } ... on OperationEvent { status step } } endCursor }`
	feed := func(after string) string {
		return `subscription { projectEvents(projectId: "` + projectID + `"` + after + `) ` + fields + ` }`
	}
	s := w.dial(w.token)
	s.subscribe("now", feed(""))
	first := s.next()
	require.Empty(t, at(first, "projectEvents", "events"))
	now := at(first, "projectEvents", "endCursor").(string)
	w.rename(vmID, "shop")
	event := at(s.next(), "projectEvents", "events", 0)
	require.Equal(t, []any{"ComponentEvent", "COMPONENT_UPDATED", vmID, "ann", nil},
		[]any{at(event, "__typename"), at(event, "kind"), at(event, "subject", "id"), at(event, "actor", "name"), at(event, "operation")})
	s.send(map[string]any{"id": "now", "type": "complete"})

	s.subscribe("all", feed(`, after: "`+string(operation.EventCursor(0))+`"`))
	var kinds []any
	for last := float64(0); len(kinds) < 5; {
		for _, e := range at(s.next(), "projectEvents", "events").([]any) {
			require.Equal(t, last+1, at(e, "seq"))
			last = at(e, "seq").(float64)
			kinds = append(kinds, at(e, "kind"))
			if at(e, "__typename") == "OperationEvent" {
				require.Equal(t, operationID, at(e, "operation", "id"))
			}
		}
	}
	require.Equal(t, "PROJECT_CREATED", kinds[0])
	s.send(map[string]any{"id": "all", "type": "complete"})

	s.subscribe("on", feed(`, after: "`+now+`"`))
	require.Equal(t, "COMPONENT_UPDATED", at(s.next(), "projectEvents", "events", 0, "kind"), "it goes on exactly there")
	for name, cursor := range map[string]string{
		"beyond the head": string(operation.EventCursor(9999)), "of another list": string(page.NewCursor("x")), "malformed": "%",
	} {
		s.subscribe(name, feed(`, after: "`+cursor+`"`))
		require.Equal(t, "BAD_REQUEST", s.failed()["code"], name)
	}
	data := w.must(`query($id: ID!) { project(id: $id) { events(first: 2) { nodes { seq subject { id } } pageInfo { hasNextPage } } } }`,
		map[string]any{"id": projectID})
	require.Equal(t, projectID, at(data, "project", "events", "nodes", 0, "subject", "id"))
	require.Equal(t, true, at(data, "project", "events", "pageInfo", "hasNextPage"))
}

func TestLogIsFollowed(t *testing.T) {
	w := newWorld(t)
	account, projectID := w.account(), w.project("Shop")
	_, providerID, _ := w.vm(projectID, "web", account)
	say := func(texts ...string) {
		require.NoError(t, w.writer.Write(t.Context(), func(tx *operation.Tx) error {
			for _, text := range texts {
				tx.Log(ident.ID(providerID), "%s", text)
			}
			return nil
		}))
	}
	say("one", "two", "three")
	data := w.must(`query($id: ID!) { virtualMachineProvider(id: $id) { systemLogs { nodes { seq plainMessage source cursor } pageInfo { endCursor hasPreviousPage } }
		last: systemLogs(last: 1, filter: {contains: "two"}) { nodes { seq message } } } }`, map[string]any{"id": providerID})
	nodes := at(data, "virtualMachineProvider", "systemLogs", "nodes").([]any)
	require.Equal(t, "three", at(nodes[len(nodes)-1], "plainMessage"))
	require.Equal(t, "two", at(data, "virtualMachineProvider", "last", "nodes", 0, "message"))

	feed := func(args string) string {
		return `subscription { systemLogs(providerId: "` + providerID + `"` + args + `) { lines { seq message unit priority time truncated } endCursor lagged } }`
	}
	s := w.dial(w.token)
	s.subscribe("1", feed(`, tail: 2`))
	got := s.next()
	require.Equal(t, "two", at(got, "systemLogs", "lines", 0, "message"))
	say("four")
	got = s.next()
	require.Equal(t, "four", at(got, "systemLogs", "lines", 0, "message"))
	s.send(map[string]any{"id": "1", "type": "complete"})
	s.subscribe("2", feed(`, after: "`+string(page.NewCursor("log", "2020-01-01", "-5"))+`"`))
	require.Equal(t, "BAD_REQUEST", s.failed()["code"])

	// What is no longer kept: lines before the third.
	cursor := syslog.Line{Seq: 0, Day: time.Now().UTC()}.Cursor()
	require.NoError(t, w.db.Gorm(t.Context()).Exec("UPDATE log_day SET first_seq = 3 WHERE provider_id = ?", providerID).Error)
	s.subscribe("3", feed(`, after: "`+string(cursor)+`"`))
	extensions := s.failed()
	require.Equal(t, []any{"BAD_REQUEST", "LOG_CURSOR_EXPIRED"}, []any{extensions["code"], extensions["userErrorCode"]})
	s.subscribe("4", feed(`, after: "`+extensions["firstCursor"].(string)+`"`))
	require.Equal(t, float64(3), at(s.next(), "systemLogs", "lines", 0, "seq"))
}
