package e2e_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/app"
	"biztraak.dev/vm/internal/config"
)

// refusedOnce sends a mutation that one rule is to refuse, and answers the
// refusal with all that its type adds.
func (e *estate) refusedOnce(mutation string, fields object) object {
	e.t.Helper()
	docs := loadDocuments(e.t)
	for _, r := range docs.roots() {
		if r.Name != mutation {
			continue
		}
		a := e.call(e.owner.bearer, docs.operation(r, levels), input(fields))
		require.Empty(e.t, a.Errors, a.body)
		require.Len(e.t, a.refusals(e.t, mutation), 1, a.body)
		refusal, _ := dig(a.Data, mutation, "userErrors", 0).(object)
		return refusal
	}
	e.t.Fatalf("there is no mutation %s", mutation)
	return nil
}

// userErrorCase brings one code about. Types other than InputError carry data,
// which the case looks at itself.
type userErrorCase struct {
	typename string
	produce  func(e *estate) object
}

func userErrorCases() map[string]userErrorCase {
	plain := func(mutation string, fields func(e *estate) object) userErrorCase {
		return userErrorCase{"InputError", func(e *estate) object { return e.refusedOnce(mutation, fields(e)) }}
	}
	newVM := func(e *estate) string { return e.vm(e.owner, e.project(e.owner, e.team)) }
	cases := map[string]userErrorCase{
		"NOT_FOUND": plain("createProject", func(e *estate) object {
			return object{"teamId": newID("team"), "name": "a"}
		}),
		"FORBIDDEN": plain("createVirtualMachine", func(e *estate) object {
			project := e.project(e.owner, e.team)
			e.owner = e.viewer
			return object{"projectId": project, "name": "a", "templateId": e.templates["n8n"]}
		}),
		"NAME_INVALID": plain("createTeam", func(*estate) object { return object{"name": ""} }),
		"NAME_TAKEN": plain("createProject", func(e *estate) object {
			name := e.name("Twice")
			e.must(e.owner.bearer, `mutation($t: ID!, $n: String!) { createProject(input: { teamId: $t, name: $n }) { userErrors { code } } }`,
				object{"t": e.team, "n": name})
			return object{"teamId": e.team, "name": "t" + name[1:]} // regardless of case
		}),
		"INPUT_INVALID": plain("createProject", func(e *estate) object {
			return object{"teamId": e.team, "name": e.name("p"), "idempotencyKey": ""}
		}),
		"IDEMPOTENCY_KEY_REUSED": plain("createProject", func(e *estate) object {
			key := e.name("key")
			e.must(e.owner.bearer, `mutation($t: ID!, $n: String!, $k: String) { createProject(input: { teamId: $t, name: $n, idempotencyKey: $k }) {
				userErrors { code } } }`, object{"t": e.team, "n": e.name("p"), "k": key})
			return object{"teamId": e.team, "name": e.name("p"), "idempotencyKey": key}
		}),
		"NOT_RETRYABLE": plain("retryOperation", func(e *estate) object {
			return object{"operationId": e.operation(e.provider(newVM(e), e.account, "RUNNING"), "SUCCEEDED", "")}
		}),
		"TOO_LATE": plain("cancelOperation", func(e *estate) object {
			return object{"operationId": e.failed(e.provider(newVM(e), e.account, "FAILED"))}
		}),
		"NOT_AVAILABLE": plain("restartVirtualMachine", func(e *estate) object {
			return object{"virtualMachineProviderId": e.provider(newVM(e), e.account, "STOPPED")}
		}),
		"TEMPLATE_NOT_FITTING": plain("provisionVirtualMachine", func(e *estate) object {
			vm := newVM(e)
			e.exec(`UPDATE virtual_machine SET template_id = $2 WHERE id = $1`, vm,
				e.item(e.templates["plain-debian"], e.name("elsewhere"), `{"baseImages": {"EC2": "debian"}}`))
			return object{"virtualMachineId": vm, "cloudAccountId": e.account}
		}),
		"ADD_ON_CONFLICTS": plain("createVirtualMachine", func(e *estate) object {
			loner := e.item(e.addOns["terminal"], e.name("loner"),
				`{"conflictsWith": ["docker"], "capabilities": [], "runtimePaths": [], "applySteps": []}`)
			return object{
				"projectId": e.project(e.owner, e.team), "name": "a", "templateId": e.templates["plain-debian"],
				"addOnIds": []any{e.addOns["docker"], loner},
			}
		}),
		"ADD_ON_NOT_FITTING": plain("createVirtualMachine", func(e *estate) object {
			return object{
				"projectId": e.project(e.owner, e.team), "name": "a", "templateId": e.templates["plain-debian"],
				"addOnIds": []any{e.item(e.addOns["python"], e.name("picky"), `{"fits": ["n8n"]}`)},
			}
		}),
		"RESOURCES_TOO_SMALL": plain("createVirtualMachine", func(e *estate) object {
			return object{
				"projectId": e.project(e.owner, e.team), "name": "a", "templateId": e.templates["plain-debian"],
				"resources": object{"memory": "1Mi"},
			}
		}),
		"CREDENTIALS_REJECTED": plain("connectCloudAccount", func(e *estate) object {
			return object{"teamId": e.team, "name": e.name("account"), "simulator": object{"token": "reject"}}
		}),
		"FEATURE_DISABLED": plain("provisionVirtualMachine", func(e *estate) object {
			fields := object{"virtualMachineId": newVM(e), "cloudAccountId": e.account}
			off := e.serve(app.Roles{Serve: true}, func(c *config.Config) { c.DeployVMEnabled = false })
			e.api = e.at(off)
			return fields
		}),
	}
	for code, c := range typedErrorCases(newVM) {
		cases[code] = c
	}
	return cases
}

func typedErrorCases(newVM func(*estate) string) map[string]userErrorCase {
	return map[string]userErrorCase{
		"STALE_VERSION": {"StaleVersionError", func(e *estate) object {
			r := e.refusedOnce("updateVirtualMachine", object{"virtualMachineId": newVM(e), "name": "b", "expectedVersion": 7})
			require.InDelta(e.t, 1, r["currentVersion"], 0)
			return r
		}},
		"OPERATION_IN_PROGRESS": {"OperationInProgressError", func(e *estate) object {
			provider, operation := e.queued(newVM(e))
			r := e.refusedOnce("restartVirtualMachine", object{"virtualMachineProviderId": provider})
			require.Equal(e.t, operation, text(e.t, r, "operation", "id"))
			return r
		}},
		"IN_USE": {"InUseError", func(e *estate) object {
			vm := newVM(e)
			provider := e.provider(vm, e.account, "STOPPED")
			r := e.refusedOnce("deleteVirtualMachine", object{"virtualMachineId": vm})
			require.Equal(e.t, provider, text(e.t, r, "usedBy", 0, "id"))
			require.Equal(e.t, "VirtualMachineProvider", text(e.t, r, "usedBy", 0, "__typename"))
			return r
		}},
		"ADD_ON_REQUIRES": {"MissingCapabilitiesError", func(e *estate) object {
			r := e.refusedOnce("createVirtualMachine", object{
				"projectId": e.project(e.owner, e.team), "name": "a", "templateId": e.templates["plain-debian"],
				"addOnIds": []any{e.addOns["managed-deploy"]},
			})
			require.Equal(e.t, "HOSTED_CONTAINER_RUNTIME", text(e.t, r, "capability"))
			require.Equal(e.t, "docker", text(e.t, r, "suppliers", 0, "slug"))
			return r
		}},
	}
}

// TestUserErrorCodes brings about every code that the schema has.
func TestUserErrorCodes(t *testing.T) {
	t.Parallel()
	e, cases := newEstate(t, app.Roles{Serve: true}), userErrorCases()
	values := loadDocuments(t).schema.Types["UserErrorCode"].EnumValues
	for _, v := range values {
		t.Run(v.Name, func(t *testing.T) {
			c, ok := cases[v.Name]
			require.True(t, ok, "no case brings %s about", v.Name)
			r := c.produce(e.in(t))
			require.Equal(t, v.Name, r["code"])
			require.Equal(t, c.typename, r["__typename"])
			require.NotEmpty(t, r["message"])
			require.Equal(t, "input", dig(r, "path", 0))
		})
	}
	for code := range cases {
		require.NotNil(t, values.ForName(code), "the schema has no %s any more", code)
	}
}

// lastTry makes the next failure of the operation its last one.
func (e *estate) lastTry(operation string) string {
	e.t.Helper()
	e.exec(`UPDATE operation SET tries = 1000 WHERE id = $1`, operation)
	return operation
}

// stopOf asks for a stop and answers the operation.
func (e *estate) stopOf(provider string) string {
	e.t.Helper()
	return text(e.t, e.must(e.owner.bearer, `mutation($p: ID!) { stopVirtualMachine(input: { virtualMachineProviderId: $p }) {
		operation { id } userErrors { code message } } }`, object{"p": provider}), "stopVirtualMachine", "operation", "id")
}

// machines has a worker make running machines, and stops it.
func (e *estate) machines(project string, names ...string) map[string]string {
	e.t.Helper()
	out, operations := map[string]string{}, []string{}
	for _, name := range names {
		provider, operation := e.queued(e.vmNamed(e.owner, project, name))
		out[name], operations = provider, append(operations, operation)
	}
	worker := e.serve(app.Roles{Work: true}, nil)
	e.awaitEnd(operations...)
	worker.stop()
	for name, provider := range out {
		require.Equal(e.t, "RUNNING", value[string](e.installation, `SELECT status FROM vm_provider WHERE id = $1`, provider), name)
	}
	return out
}

// operationErrors bring about an operation that is to fail with the code, while
// no worker runs.
func (e *estate) operationErrors(project string) map[string]string {
	e.t.Helper()
	there := e.machines(project, "a-locked", "gone")
	provision := func(name string) string {
		_, operation := e.queued(e.vmNamed(e.owner, project, name))
		return operation
	}
	out := map[string]string{
		"CAPACITY": provision("a-capacity"), "QUOTA": provision("a-quota"), "CREDENTIALS": provision("a-credentials"),
		"PROVIDER_ERROR": provision("a-boot-crash"), "TIMEOUT": provision("a-slow-boot"),
		"GUEST_UNREACHABLE": provision("b-slow-boot"), "CANCELED": provision("a"),
		"RATE_LIMITED":  e.lastTry(provision("a-rate-limited")),
		"PROVIDER_BUSY": e.lastTry(e.stopOf(there["a-locked"])),
	}
	e.must(e.owner.bearer, `mutation($o: ID!) { cancelOperation(input: { operationId: $o }) { userErrors { code message } } }`,
		object{"o": out["CANCELED"]})
	e.exec(`DELETE FROM simulator_machine WHERE id = (SELECT instance_id FROM vm_provider WHERE id = $1)`, there["gone"])
	out["INSTANCE_NOT_FOUND"] = e.stopOf(there["gone"])
	// A template that cannot be read any more.
	vm := e.vm(e.owner, project)
	broken := e.item(e.templates["plain-debian"], e.name("broken"), `{}`)
	e.exec(`UPDATE virtual_machine SET template_id = $2 WHERE id = $1`, vm, broken)
	_, operation := e.queued(vm)
	e.exec(`UPDATE catalog_item SET manifest = '[]' WHERE id = $1`, broken)
	out["INTERNAL"] = e.lastTry(operation)
	return out
}

// awaitStep waits until the operation is in the step.
func (e *estate) awaitStep(operation, step string) {
	e.t.Helper()
	awaitValue(e.installation, "RUNNING", `SELECT status FROM operation_step WHERE operation_id = $1 AND name = $2`, operation, step)
}

// age makes the operation's present step begin an hour ago.
func (e *estate) age(operation string) {
	e.t.Helper()
	e.exec(`UPDATE operation_step SET started_at = started_at - interval '1 hour' WHERE operation_id = $1 AND status = 'RUNNING'`, operation)
}

// TestOperationErrorCodes has an operation fail for every cause that the schema
// has, and reads it.
func TestOperationErrorCodes(t *testing.T) {
	t.Parallel()
	e := newEstate(t, app.Roles{Serve: true})
	operations := e.operationErrors(e.project(e.owner, e.team))
	e.serve(app.Roles{Work: true}, nil)
	timeout, unreachable := operations["TIMEOUT"], operations["GUEST_UNREACHABLE"]
	e.awaitStep(timeout, "wait_for_boot")
	e.age(timeout)
	e.awaitStep(unreachable, "wait_for_boot")
	// The cloud calls it running after 48 of the 60 seconds that it takes to boot.
	e.exec(`UPDATE simulator_machine SET doc = convert_to(jsonb_set(convert_from(doc, 'UTF8')::jsonb, '{history,0,at}',
			to_jsonb(to_char(clock_timestamp() - interval '49 seconds', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')))::text, 'UTF8')
		WHERE id = (SELECT p.instance_id FROM vm_provider p JOIN operation o ON o.target_id = p.id WHERE o.id = $1)`, unreachable)
	e.awaitStep(unreachable, "wait_for_guest")
	e.age(unreachable)
	values := loadDocuments(t).schema.Types["OperationErrorCode"].EnumValues
	for _, v := range values {
		operation, ok := operations[v.Name]
		require.True(t, ok, "nothing brings %s about", v.Name)
		e.awaitEnd(operation)
		got := e.must(e.viewer.bearer, `query($o: ID!) { operation(id: $o) { status error { code message retryable } } }`,
			object{"o": operation})
		require.Equal(t, v.Name, dig(got, "operation", "error", "code"), "%v", got)
		require.NotEmpty(t, dig(got, "operation", "error", "message"))
	}
	require.Len(t, operations, len(values), "the schema has one of the causes no more")
}
