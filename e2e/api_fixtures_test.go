package e2e_test

import "biztraak.dev/vm/internal/ident"

// fixture is a call of one root field that succeeds for the owner.
type fixture struct {
	// variables makes what the call needs, and answers its arguments.
	variables func(e *estate) object
	// viewer and ceiling are what a mutation answers to a member with the role
	// VIEWER and to the owner with a token of that ceiling: a code at a path, or
	// nothing for a success. FORBIDDEN, at any path, unless said otherwise.
	viewer, ceiling *string
}

func ptr[T any](v T) *T { return &v }

func input(fields object) object { return object{"input": fields} }

// fixtures has one for each field of the three roots: a field without one fails
// the walk.
func fixtures() map[string]fixture {
	all := map[string]fixture{}
	for _, part := range []map[string]fixture{readFixtures(), teamFixtures(), vmFixtures(), operationFixtures()} {
		for name, f := range part {
			all[name] = f
		}
	}
	return all
}

func readFixtures() map[string]fixture {
	project := func(e *estate) string { return e.project(e.owner, e.team) }
	vm := func(e *estate) string { return e.vm(e.owner, project(e)) }
	provider := func(e *estate) string { return e.provider(vm(e), e.account, "RUNNING") }
	operation := func(e *estate) string { return e.failed(provider(e)) }
	one := func(name string, make func(e *estate) string) fixture {
		return fixture{variables: func(e *estate) object { return object{name: make(e)} }}
	}
	none := fixture{variables: func(*estate) object { return object{} }}
	return map[string]fixture{
		"Query.viewer": none, "Query.platform": none, "Query.vmTemplates": none, "Query.addOnPacks": none,
		"Query.node":                          one("id", project),
		"Query.nodes":                         {variables: func(e *estate) object { return object{"ids": []any{project(e), vm(e)}} }},
		"Query.team":                          one("id", func(e *estate) string { return e.team }),
		"Query.project":                       one("id", project),
		"Query.virtualMachine":                one("id", vm),
		"Query.virtualMachineProvider":        one("id", provider),
		"Query.operation":                     one("id", operation),
		"Subscription.virtualMachine":         one("id", vm),
		"Subscription.virtualMachineProvider": one("id", provider),
		"Subscription.operation":              one("id", operation),
		"Subscription.projectEvents":          one("projectId", project),
		"Subscription.systemLogs": {variables: func(e *estate) object {
			return object{"providerId": provider(e), "tail": 5, "filter": object{"minPriority": 7}}
		}},
	}
}

func teamFixtures() map[string]fixture {
	return map[string]fixture{
		"Mutation.createTeam": {
			variables: func(e *estate) object { return input(object{"name": e.name("team"), "idempotencyKey": e.name("key")}) },
			viewer:    ptr(""), // anybody may make a team of their own
		},
		"Mutation.updateTeamMember": {variables: func(e *estate) object {
			p := e.api.person(e.name("guest"))
			e.join(e.team, p, "MEMBER")
			return input(object{"teamId": e.team, "userId": p.user, "role": "ADMIN"})
		}},
		"Mutation.removeTeamMember": {variables: func(e *estate) object {
			p := e.api.person(e.name("guest"))
			e.join(e.team, p, "MEMBER")
			return input(object{"teamId": e.team, "userId": p.user})
		}},
		"Mutation.createAccessToken": {
			variables: func(e *estate) object {
				return input(object{"name": e.name("token"), "ceiling": "MEMBER", "expiresAt": nextMonth(), "idempotencyKey": e.name("key")})
			},
			viewer: ptr(""), // tokens are one's own, whatever one's role
		},
		"Mutation.revokeAccessToken": {
			variables: func(e *estate) object {
				id, _ := e.token(e.owner.user, "OWNER", nil)
				return input(object{"tokenId": id})
			},
			viewer: ptr("NOT_FOUND input.tokenId"), ceiling: ptr(""),
		},
		"Mutation.connectCloudAccount": {variables: func(e *estate) object {
			return input(object{
				"teamId": e.team, "name": e.name("account"), "idempotencyKey": e.name("key"),
				"simulator": object{"token": "secret", "fault": "LOCKED"},
			})
		}},
		"Mutation.createProject": {variables: func(e *estate) object {
			return input(object{"teamId": e.team, "name": e.name("project"), "idempotencyKey": e.name("key")})
		}},
		"Mutation.updateProject": {variables: func(e *estate) object {
			return input(object{"projectId": e.project(e.owner, e.team), "name": e.name("project"), "expectedVersion": 1})
		}},
		"Mutation.deleteProject": {variables: func(e *estate) object {
			return input(object{"projectId": e.project(e.owner, e.team), "expectedVersion": 1})
		}},
	}
}

func vmFixtures() map[string]fixture {
	newVM := func(e *estate) string { return e.vm(e.owner, e.project(e.owner, e.team)) }
	act := func(status string) fixture {
		return fixture{variables: func(e *estate) object {
			id := e.provider(newVM(e), e.account, status)
			return input(object{
				"virtualMachineProviderId": id, "idempotencyKey": e.name("key"),
				"expectedVersion": value[int](e.installation, `SELECT version FROM vm_provider WHERE id = $1`, id),
			})
		}}
	}
	stop, destroy := act("RUNNING"), act("RUNNING")
	return map[string]fixture{
		"Mutation.createVirtualMachine": {variables: func(e *estate) object {
			return input(object{
				"projectId": e.project(e.owner, e.team), "name": e.name("vm"), "templateId": e.templates["plain-debian"],
				"addOnIds": []any{e.addOns["docker"], e.addOns["terminal"]}, "idempotencyKey": e.name("key"),
				"resources": object{"cpu": "2", "memory": "4Gi", "disk": "40Gi"},
			})
		}},
		"Mutation.updateVirtualMachine": {variables: func(e *estate) object {
			return input(object{"virtualMachineId": newVM(e), "name": e.name("vm"), "expectedVersion": 1})
		}},
		"Mutation.deleteVirtualMachine": {variables: func(e *estate) object {
			return input(object{"virtualMachineId": newVM(e), "expectedVersion": 1})
		}},
		"Mutation.provisionVirtualMachine": {variables: func(e *estate) object {
			return input(object{"virtualMachineId": newVM(e), "cloudAccountId": e.account, "idempotencyKey": e.name("key")})
		}},
		"Mutation.startVirtualMachine":           act("STOPPED"),
		"Mutation.stopVirtualMachine":            stop,
		"Mutation.restartVirtualMachine":         act("RUNNING"),
		"Mutation.destroyVirtualMachineProvider": destroy,
	}
}

func operationFixtures() map[string]fixture {
	return map[string]fixture{
		"Mutation.cancelOperation": {variables: func(e *estate) object {
			_, operation := e.queued(e.vm(e.owner, e.project(e.owner, e.team)))
			return input(object{"operationId": operation})
		}},
		"Mutation.retryOperation": {variables: func(e *estate) object {
			provider := e.provider(e.vm(e.owner, e.project(e.owner, e.team)), e.account, "FAILED")
			return input(object{"operationId": e.failed(provider), "idempotencyKey": e.name("key")})
		}},
	}
}

// otherKind is an id of ours of another kind than the one that a field wants.
func (e *estate) otherKind(wanted ident.Kind, anyNode bool) string {
	switch {
	case anyNode:
		return newID(ident.Workload) // nothing has such an id yet
	case wanted == ident.Team:
		return e.account
	default:
		return e.team
	}
}
