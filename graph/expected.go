package graph

import (
	"slices"

	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/operation"
	"biztraak.dev/vm/internal/project"
	"biztraak.dev/vm/internal/team"
	"biztraak.dev/vm/internal/vm"
)

// expectedUsers are the actors of events and operations.
func (l *loads) expectedUsers() []ident.ID {
	return slices.Concat(
		keysOf(&l.seenEvents, func(e operation.Event) (ident.ID, bool) { return e.ActorID, e.ActorID != "" })(),
		keysOf(&l.seenOperations, func(o *operation.Operation) (ident.ID, bool) { return o.ActorID, o.ActorID != "" })(),
	)
}

// expectedVMs are the VMs above providers and those that events are about.
func (l *loads) expectedVMs() []ident.ID {
	return slices.Concat(
		keysOf(&l.seenProviders, func(p *vm.Provider) (ident.ID, bool) { return p.VMID, true })(),
		keysOf(&l.seenEvents, func(e operation.Event) (ident.ID, bool) { return e.SubjectID, e.SubjectID.Kind() == ident.VM })(),
	)
}

// expectedProviders are the providers that operations and events are about.
func (l *loads) expectedProviders() []ident.ID {
	return slices.Concat(
		keysOf(&l.seenOperations, func(o *operation.Operation) (ident.ID, bool) {
			return o.TargetID, o.TargetID.Kind() == ident.Provider
		})(),
		keysOf(&l.seenEvents, func(e operation.Event) (ident.ID, bool) {
			return e.SubjectID, e.SubjectID.Kind() == ident.Provider
		})(),
	)
}

// expectedTemplates are those of VMs and of what was applied to providers.
func (l *loads) expectedTemplates() []ident.ID {
	return slices.Concat(
		keysOf(&l.seenVMs, func(v *vm.VM) (ident.ID, bool) { return v.TemplateID, true })(),
		keysOf(&l.seenProviders, func(p *vm.Provider) (ident.ID, bool) {
			return p.AppliedTemplateID, p.AppliedTemplateID != ""
		})(),
	)
}

// expectedAddOns are those of VMs and of what was applied to providers.
func (l *loads) expectedAddOns() []ident.ID {
	var ids []ident.ID
	for _, v := range l.seenVMs.all() {
		ids = append(ids, v.AddOnIDs...)
	}
	for _, p := range l.seenProviders.all() {
		ids = append(ids, p.AppliedAddOnIDs...)
	}
	return ids
}

func projectID(p *project.Project) (ident.ID, bool) { return p.ID, true }

func teamID(t *team.Team) (ident.ID, bool) { return t.ID, true }
