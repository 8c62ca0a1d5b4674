package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

const (
	eventsDocument = `subscription($project: ID!) { projectEvents(projectId: $project) { endCursor events {
		seq kind subject { __typename id }
		... on ProviderStatusEvent { providerStatus: status }
		... on OperationEvent { operationStatus: status step operation { kind } } } } }`
	logsDocument = `subscription($provider: ID!) { systemLogs(providerId: $provider, tail: 1000) {
		endCursor lagged lines { seq source unit plainMessage } } }`
	provisionDocument = `mutation($vm: ID!, $account: ID!) { provision: provisionVirtualMachine(input: {
		virtualMachineId: $vm, cloudAccountId: $account }) {
		virtualMachineProvider { id } operation { id } userErrors { code message path } } }`
	stopDocument = `mutation($provider: ID!) { stop: stopVirtualMachine(input: { virtualMachineProviderId: $provider }) {
		operation { id } userErrors { code message path } } }`
	viewerDocument  = `{ viewer { teams { id cloudAccounts(first: 1) { nodes { id name } } } } vmTemplates { id slug } }`
	connectDocument = `mutation($team: ID!, $name: String!) { connect: connectCloudAccount(input: { teamId: $team, name: $name,
		simulator: { token: "demo" } }) { cloudAccount { id } userErrors { code message path } } }`
	projectDocument = `mutation($team: ID!, $name: String!) { create: createProject(input: { teamId: $team, name: $name }) {
		project { id } userErrors { code message path } } }`
	vmDocument = `mutation($project: ID!, $template: ID!) { create: createVirtualMachine(input: { projectId: $project,
		name: "demo", templateId: $template }) { virtualMachine { id composition { capabilities { capability } } }
		userErrors { code message path } } }`
)

// prepare makes the project and the VM, and answers the account to use.
func (d *demo) prepare(ctx context.Context, account string) (string, error) {
	var v struct {
		Viewer struct {
			Teams []struct {
				ID            string
				CloudAccounts struct{ Nodes []struct{ ID string } }
			}
		}
		VMTemplates []struct{ ID, Slug string } `json:"vmTemplates"`
	}
	if err := d.api.call(ctx, viewerDocument, nil, &v); err != nil {
		return "", err
	}
	if len(v.Viewer.Teams) == 0 || len(v.VMTemplates) == 0 {
		return "", errors.New("the token's user has no team, or there are no templates")
	}
	team, name := v.Viewer.Teams[0], "Demo "+time.Now().UTC().Format("2006-01-02 15:04:05.000")
	if account == "" && len(team.CloudAccounts.Nodes) > 0 {
		account = team.CloudAccounts.Nodes[0].ID
	}
	if account == "" {
		var c struct {
			Connect struct {
				CloudAccount struct{ ID string }
				UserErrors   userErrors
			}
		}
		err := d.api.call(ctx, connectDocument, map[string]any{"team": team.ID, "name": name}, &c)
		if err := errors.Join(err, c.Connect.UserErrors.err()); err != nil {
			return "", err
		}
		account = c.Connect.CloudAccount.ID
	}
	var p struct {
		Create struct {
			Project    struct{ ID string }
			UserErrors userErrors
		}
	}
	err := d.api.call(ctx, projectDocument, map[string]any{"team": team.ID, "name": name}, &p)
	if err := errors.Join(err, p.Create.UserErrors.err()); err != nil {
		return "", err
	}
	d.project = p.Create.Project.ID
	d.say("created project %q", name)
	return account, d.createVM(ctx, v.VMTemplates[0].ID, v.VMTemplates[0].Slug)
}

func (d *demo) createVM(ctx context.Context, template, slug string) error {
	var m struct {
		Create struct {
			VirtualMachine struct {
				ID          string
				Composition struct{ Capabilities []struct{ Capability string } }
			}
			UserErrors userErrors
		}
	}
	err := d.api.call(ctx, vmDocument, map[string]any{"project": d.project, "template": template}, &m)
	if err := errors.Join(err, m.Create.UserErrors.err()); err != nil {
		return err
	}
	d.vm = m.Create.VirtualMachine.ID
	d.say("created a VM of the template %s", slug)
	return nil
}

// status is a status of the provider that the feed told, or how the feed ended.
type status struct {
	name string
	err  error
}

// follow prints the project's events as they stream, and passes on the statuses
// of the VM provider.
func (d *demo) follow(ctx context.Context) (<-chan status, error) {
	stream, err := d.conn.Subscribe(eventsDocument, map[string]any{"project": d.project})
	if err != nil {
		return nil, err
	}
	// The feed starts at the present, and says by a first batch that it has: without
	// waiting for that, the first events of the work that follows could be missed.
	if _, err := stream.Next(ctx); err != nil {
		return nil, fmt.Errorf("event feed: %w", err)
	}
	const room = 64
	out := make(chan status, room)
	go func() {
		defer close(out)
		for {
			raw, err := stream.Next(ctx)
			if err != nil {
				out <- status{err: fmt.Errorf("event feed: %w", err)}
				return
			}
			for _, s := range d.printEvents(raw) {
				out <- s
			}
		}
	}()
	return out, nil
}

func (d *demo) printEvents(raw json.RawMessage) []status {
	var r struct {
		Data struct {
			ProjectEvents struct {
				Events []struct {
					Seq             int64
					Kind            string
					ProviderStatus  string
					OperationStatus string
					Step            string
					Operation       *struct{ Kind string }
				}
			}
		}
		Errors json.RawMessage
	}
	if err := json.Unmarshal(raw, &r); err != nil || len(r.Errors) > 0 {
		return []status{{err: fmt.Errorf("event feed: %s", raw)}}
	}
	var out []status
	for _, e := range r.Data.ProjectEvents.Events {
		switch {
		case e.Kind == "PROVIDER_UPDATED":
			d.say("event %3d  machine has changed", e.Seq)
		case e.ProviderStatus != "":
			d.say("event %3d  machine is %s", e.Seq, e.ProviderStatus)
			out = append(out, status{name: e.ProviderStatus})
		case e.Operation != nil && e.Step != "":
			d.say("event %3d  %s: %s %s", e.Seq, e.Operation.Kind, e.Step, e.OperationStatus)
		case e.Operation != nil:
			d.say("event %3d  %s %s", e.Seq, e.Operation.Kind, e.OperationStatus)
		default:
			d.say("event %3d  %s", e.Seq, e.Kind)
		}
	}
	return out
}

// followLogs prints the machine's log as it streams, and says once that a line
// of the guest's own journal has come, or how the feed ended before one did.
func (d *demo) followLogs(ctx context.Context) (<-chan error, error) {
	stream, err := d.conn.Subscribe(logsDocument, map[string]any{"provider": d.provider})
	if err != nil {
		return nil, err
	}
	out := make(chan error, 1)
	go func() {
		told := false
		for {
			raw, err := stream.Next(ctx)
			if err != nil {
				if !told {
					out <- fmt.Errorf("log feed: %w", err)
				}
				return
			}
			if d.printLines(raw) && !told {
				told = true
				out <- nil
			}
		}
	}()
	return out, nil
}

// printLines says whether a line of the journal was among them.
func (d *demo) printLines(raw json.RawMessage) bool {
	var r struct {
		Data struct {
			SystemLogs struct {
				Lines []struct {
					Seq                        int64
					Source, Unit, PlainMessage string
				}
			}
		}
	}
	if json.Unmarshal(raw, &r) != nil {
		return false
	}
	journal := false
	for _, l := range r.Data.SystemLogs.Lines {
		d.say("log  %4d  %-8s %s: %s", l.Seq, l.Source, l.Unit, l.PlainMessage)
		journal = journal || l.Source == "JOURNAL"
	}
	return journal
}
