package e2e_test

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/app"
)

// others are inputs that differ in one field from the fixture's: the same key
// with them is refused.
var others = map[string]func(e *estate, fields object) (name string, value any){
	"createTeam":          otherName,
	"createAccessToken":   otherName,
	"connectCloudAccount": otherName,
	"createProject":       otherName,
	"createVirtualMachine": func(*estate, object) (string, any) {
		return "resources", object{"cpu": "4", "memory": "4Gi", "disk": "40Gi"}
	},
	"provisionVirtualMachine": func(e *estate, fields object) (string, any) {
		return "virtualMachineId", e.vm(e.owner, e.project(e.owner, e.team))
	},
	"startVirtualMachine":           otherMachine("STOPPED"),
	"stopVirtualMachine":            otherMachine("RUNNING"),
	"restartVirtualMachine":         otherMachine("RUNNING"),
	"destroyVirtualMachineProvider": otherMachine("RUNNING"),
	"retryOperation": func(e *estate, _ object) (string, any) {
		return "operationId", e.failed(e.provider(e.vm(e.owner, e.project(e.owner, e.team)), e.account, "FAILED"))
	},
}

func otherName(e *estate, _ object) (string, any) { return "name", e.name("other") }

func otherMachine(status string) func(*estate, object) (string, any) {
	return func(e *estate, _ object) (string, any) {
		// Of the same version, so that nothing else is wrong with it.
		return "virtualMachineProviderId", e.provider(e.vm(e.owner, e.project(e.owner, e.team)), e.account, status)
	}
}

// TestIdempotency calls every mutation that takes a key twice with the same
// input, at the same time and after it, and once with another input.
func TestIdempotency(t *testing.T) {
	t.Parallel()
	docs, fixtures := loadDocuments(t), fixtures()
	e := newEstate(t, app.Roles{Serve: true})
	tried := 0
	for _, r := range docs.roots() {
		if r.operation != "mutation" || docs.schema.Types[r.Arguments[0].Type.Name()].Fields.ForName("idempotencyKey") == nil {
			continue
		}
		tried++
		t.Run(r.Name, func(t *testing.T) {
			e := e.in(t)
			variables := fixtures[r.String()].variables(e)
			require.NotNil(t, dig(variables, "input", "idempotencyKey"), "the fixture has no key")
			e.repeats(r, docs.operation(r, levels), variables)
		})
	}
	require.Len(t, others, tried)
}

func (e *estate) repeats(r root, document string, variables object) {
	e.t.Helper()
	const twins = 4
	answers, failed := make([]apiReply, twins), make([]error, twins)
	var all sync.WaitGroup
	for i := range answers {
		all.Go(func() { answers[i], failed[i] = e.try(e.owner.bearer, document, variables) })
	}
	all.Wait()
	require.NoError(e.t, errors.Join(failed...))
	rows := e.rows()
	answers = append(answers, e.call(e.owner.bearer, document, variables))
	require.Equal(e.t, rows, e.rows(), "a repeat has written something")
	first := 0
	objects := map[string]bool{}
	for _, a := range answers {
		require.Empty(e.t, a.Errors, a.body)
		require.Empty(e.t, a.refusals(e.t, r.Name), a.body)
		payload, _ := a.Data[r.Name].(object)
		if payload["replayed"] == false {
			first++
		}
		e.secretOnce(payload)
		objects[idsOfPayload(payload)] = true
	}
	require.Equal(e.t, 1, first, "the work was done once")
	require.Len(e.t, objects, 1, "the answers are about the same objects")
	for ids := range objects {
		require.NotEmpty(e.t, ids)
	}
	name, other := others[r.Name](e, variables)
	a := e.call(e.owner.bearer, document, with(variables, []any{"input", name}, other))
	require.Equal(e.t, []string{"IDEMPOTENCY_KEY_REUSED input.idempotencyKey"}, a.refused(e.t, r.Name), a.body)
	if r.Name == "connectCloudAccount" {
		a := e.call(e.owner.bearer, document, with(variables, []any{"input", "simulator", "token"}, "another"))
		require.Equal(e.t, []string{"IDEMPOTENCY_KEY_REUSED input.idempotencyKey"}, a.refused(e.t, r.Name), a.body)
	}
}

// secretOnce says that a payload shows its secret at the first time only.
func (e *estate) secretOnce(payload object) {
	e.t.Helper()
	secret, has := payload["secret"]
	if !has {
		return
	}
	if payload["replayed"] == true {
		require.Nil(e.t, secret)
		return
	}
	require.NotNil(e.t, secret)
}

// idsOfPayload are the ids of the objects that a payload holds.
func idsOfPayload(payload object) string {
	var ids []string
	for _, name := range []string{
		"team", "accessToken", "cloudAccount", "project", "virtualMachine", "virtualMachineProvider", "operation",
	} {
		if id, ok := dig(payload, name, "id").(string); ok {
			ids = append(ids, id)
		}
	}
	return strings.Join(ids, " ")
}
