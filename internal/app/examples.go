package app

import "biztraak.dev/vm/internal/transport/playground"

// examples walk through the product in the playground. On a development server
// the ids of the demo team and its account are filled in.
func examples(dev *Dev) []playground.Example {
	team, account := "team_…", "acc_…"
	if dev != nil {
		team, account = string(dev.TeamID), string(dev.CloudAccountID)
	}
	return []playground.Example{
		{
			Name: "Look around", Description: "Who you are, your teams with their accounts, and what there is to build from.",
			Query: `query LookAround {
  viewer {
    user { name email }
    teams {
      id
      name
      viewerRole
      cloudAccounts { nodes { id name kind simulated } }
      projects { nodes { id name } }
    }
  }
  platform { version features { deployVmEnabled } }
  vmTemplates { id slug name capabilities }
  addOnPacks { id slug name capabilities }
}`,
		},
		{
			Name: "1 Create a project", Description: "A project holds components. Put in the id of your team.",
			Query: `mutation CreateProject($team: ID!) {
  createProject(input: { teamId: $team, name: "Playground" }) {
    project { id name }
    userErrors { code message path }
  }
}`,
			Variables: map[string]any{"team": team},
		},
		{
			Name: "2 Create a VM", Description: "A template and add-ons come to a composition, which tells what the VM can host.",
			Query: `mutation CreateVM($project: ID!, $template: ID!) {
  createVirtualMachine(input: { projectId: $project, name: "web", templateId: $template }) {
    virtualMachine {
      id
      resources { cpu memory disk }
      composition {
        capabilities { capability providedBy { name } }
        missing { capability suppliers { slug } }
      }
    }
    userErrors { code message path }
  }
}`,
			Variables: map[string]any{"project": "prj_…", "template": "tpl_…"},
		},
		{
			Name: "3 Provision it", Description: "Starts the work; watch it with the two subscriptions that follow.",
			Query: `mutation Provision($vm: ID!, $account: ID!) {
  provisionVirtualMachine(input: { virtualMachineId: $vm, cloudAccountId: $account }) {
    virtualMachineProvider { id status }
    operation { id steps { name status } }
    userErrors { code message path }
  }
}`,
			Variables: map[string]any{"vm": "vm_…", "account": account},
		},
		{
			Name: "4 Watch the project", Description: "Each event once and in order; pass the last endCursor as after to go on where you were.",
			Query: `subscription Watch($project: ID!) {
  projectEvents(projectId: $project) {
    endCursor
    events {
      seq
      kind
      ... on ProviderStatusEvent { machine: status }
      ... on OperationEvent { work: status step operation { kind progress } }
    }
  }
}`,
			Variables: map[string]any{"project": "prj_…"},
		},
		{
			Name: "5 Read the log", Description: "The machine's log as it is written.",
			Query: `subscription Log($provider: ID!) {
  systemLogs(providerId: $provider, tail: 50) {
    endCursor
    lagged
    lines { seq time source unit plainMessage }
  }
}`,
			Variables: map[string]any{"provider": "vmp_…"},
		},
		{
			Name: "6 Be refused", Description: "Every refusal says which rule, why, and what would fix it; all at once.",
			Query: `mutation BeRefused($project: ID!, $template: ID!) {
  createVirtualMachine(input: {
    projectId: $project
    name: " not a name\u0007"
    templateId: $template
    resources: { cpu: 1, memory: 1, disk: 1 }
  }) {
    virtualMachine { id }
    userErrors { code message path }
  }
}`,
			Variables: map[string]any{"project": "prj_…", "template": "tpl_…"},
		},
	}
}
