package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// world is a project with an account in a simulated cloud, and what a person
// does in it over the API.
type world struct {
	*client
	t        testing.TB
	sql      *installation
	account  string
	project  string
	template string
}

// work is what mutations answer that start work.
type work struct {
	Provider  string
	Operation string
	Replayed  bool
}

const (
	connectAccount = `mutation($team: ID!) { out: connectCloudAccount(input: { teamId: $team, name: "Simulated",
		simulator: { token: "any" } }) { cloudAccount { id } userErrors { code message } } }`
	createProject = `mutation($team: ID!) { out: createProject(input: { teamId: $team, name: "Shop" }) {
		project { id } userErrors { code message } } }`
	createVM = `mutation($project: ID!, $name: String!, $template: ID!) { out: createVirtualMachine(input: {
		projectId: $project, name: $name, templateId: $template }) { virtualMachine { id } userErrors { code message } } }`
	renameVM = `mutation($vm: ID!, $name: String!) { out: updateVirtualMachine(input: {
		virtualMachineId: $vm, name: $name }) { virtualMachine { id } userErrors { code message } } }`
	provisionVM = `mutation($vm: ID!, $account: ID!, $key: String) { out: provisionVirtualMachine(input: {
		virtualMachineId: $vm, cloudAccountId: $account, idempotencyKey: $key }) {
		virtualMachineProvider { id } operation { id } replayed userErrors { code message } } }`
	// actOnProvider is completed with the name of a mutation.
	actOnProvider = `mutation($provider: ID!) { out: %s(input: { virtualMachineProviderId: $provider }) {
		virtualMachineProvider { id } operation { id } replayed userErrors { code message } } }`
	cancelOperation = `mutation($operation: ID!) { out: cancelOperation(input: { operationId: $operation }) {
		operation { id } userErrors { code message } } }`
)

// payload has the fields of all these mutations.
type payload struct {
	CloudAccount, Project, VirtualMachine, VirtualMachineProvider, Operation struct{ ID string }
	Replayed                                                                 bool
	UserErrors                                                               []struct{ Code, Message string }
}

// newWorld connects an account and makes a project.
func newWorld(c *client, i *installation) *world {
	c.t.Helper()
	w := &world{client: c, t: c.t, sql: i}
	w.account = w.mutate(connectAccount, map[string]any{"team": i.teamID}).CloudAccount.ID
	w.project = w.mutate(createProject, map[string]any{"team": i.teamID}).Project.ID
	var got struct{ VMTemplates []struct{ ID, Slug string } }
	c.call(`{ vmTemplates { id slug } }`, nil, &got)
	for _, template := range got.VMTemplates {
		if template.Slug == "plain-debian" {
			w.template = template.ID
		}
	}
	require.NotEmpty(c.t, w.template)
	return w
}

// through is the same world seen through another process.
func (w *world) through(c *client) *world {
	other := *w
	other.client = c
	return &other
}

// send runs a mutation; a refusal is an error.
func (w *world) send(ctx context.Context, document string, variables map[string]any) (payload, error) {
	var got struct{ Out *payload }
	if err := w.try(ctx, document, variables, &got); err != nil {
		return payload{}, err
	}
	if got.Out == nil {
		return payload{}, errors.New("the payload is null")
	}
	if len(got.Out.UserErrors) > 0 {
		return *got.Out, fmt.Errorf("refused: %+v", got.Out.UserErrors)
	}
	return *got.Out, nil
}

func (w *world) mutate(document string, variables map[string]any) payload {
	w.t.Helper()
	p, err := w.send(w.t.Context(), document, variables)
	require.NoError(w.t, err)
	return p
}

func workOf(p payload) work {
	return work{Provider: p.VirtualMachineProvider.ID, Operation: p.Operation.ID, Replayed: p.Replayed}
}

// vm makes a VM.
func (w *world) vm(name string) string {
	w.t.Helper()
	return w.mutate(createVM, map[string]any{"project": w.project, "name": name, "template": w.template}).VirtualMachine.ID
}

// provision asks for a machine of the VM.
func (w *world) provision(vm string) work {
	w.t.Helper()
	return workOf(w.mutate(provisionVM, map[string]any{"vm": vm, "account": w.account}))
}

// act asks for something to be done with a machine, by the mutation's name.
func (w *world) act(mutation, provider string) work {
	w.t.Helper()
	return workOf(w.mutate(fmt.Sprintf(actOnProvider, mutation), map[string]any{"provider": provider}))
}

func (w *world) start(provider string) work {
	w.t.Helper()
	return w.act("startVirtualMachine", provider)
}
func (w *world) stop(provider string) work {
	w.t.Helper()
	return w.act("stopVirtualMachine", provider)
}
func (w *world) restart(provider string) work {
	w.t.Helper()
	return w.act("restartVirtualMachine", provider)
}
func (w *world) destroy(provider string) work {
	w.t.Helper()
	return w.act("destroyVirtualMachineProvider", provider)
}

func (w *world) cancel(operation string) {
	w.t.Helper()
	w.mutate(cancelOperation, map[string]any{"operation": operation})
}

// running makes n running machines of one VM.
func (w *world) running(vm string, n int) []string {
	w.t.Helper()
	providers, operations := make([]string, n), make([]string, n)
	for i := range n {
		made := w.provision(vm)
		providers[i], operations[i] = made.Provider, made.Operation
	}
	w.sql.awaitEnd(operations...)
	for _, p := range providers {
		require.Equal(w.t, "RUNNING", w.status(p))
	}
	return providers
}

// status is the status of a machine, deleted ones too.
func (w *world) status(provider string) string {
	w.t.Helper()
	return value[string](w.sql, `SELECT status FROM vm_provider WHERE id = $1`, provider)
}
