package vm

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"

	"biztraak.dev/vm/internal/auth"
	"biztraak.dev/vm/internal/fault"
	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/store"
)

var errNoRows = sql.ErrNoRows

const (
	mostAddOns = 50
	// The bounds of what a machine can be asked to be; above them it is a typing
	// mistake.
	mostCPUMilli    = 1024 * 1000
	mostMemoryBytes = 64 << 40
	mostDiskBytes   = 1 << 50
)

// createReferences finds what the input names, and answers the team of the
// project with the refusals of all that is not there.
func (s *Service) createReferences(ctx context.Context, who auth.Actor, in CreateInput) (ident.ID, fault.Refusals, error) {
	var refused fault.Refusals
	var project struct {
		TeamID ident.ID
		Role   auth.Role
	}
	q := s.db.Gorm(ctx).Table("project").Select("project.team_id, scope_member.role").Where("project.id = ?", in.ProjectID)
	if err := auth.Visible(q, who, "project.team_id").Scan(&project).Error; err != nil {
		return "", nil, fmt.Errorf("read project: %w", err)
	}
	if project.TeamID == "" {
		refused = append(refused, notFound(fault.Input("projectId"), "project")...)
	} else {
		refused = append(refused, auth.Require(auth.Lower(project.Role, who.Ceiling), auth.EditVM, fault.Input("projectId"))...)
	}
	template, err := s.catalog.Template(ctx, in.TemplateID)
	if err != nil {
		return "", nil, err
	}
	if template == nil {
		refused = append(refused, notFound(fault.Input("templateId"), "VM template")...)
	}
	addOns, err := s.addOnReferences(ctx, in.AddOnIDs)
	return project.TeamID, append(refused, addOns...), err
}

func (s *Service) addOnReferences(ctx context.Context, wanted []ident.ID) (fault.Refusals, error) {
	if len(wanted) > mostAddOns {
		return fault.Refuse(fault.InputInvalid, fault.Input("addOnIds"), "at most %d add-ons are possible, not %d",
			mostAddOns, len(wanted)), nil
	}
	found, err := s.catalog.AddOnsByID(ctx, wanted)
	if err != nil {
		return nil, err
	}
	var refused fault.Refusals
	for i, id := range wanted {
		path := fault.Input("addOnIds", strconv.Itoa(i))
		switch {
		case slices.Index(wanted, id) < i:
			refused.Add(fault.InputInvalid, path, "this add-on is named twice: name it once")
		case found[i] == nil:
			refused = append(refused, notFound(path, "add-on pack")...)
		}
	}
	return refused, nil
}

// compose resolves what the VM would be made of: the least it needs, and what
// does not go together.
func (s *Service) compose(ctx context.Context, in CreateInput) (Resources, fault.Refusals, error) {
	c, problems, err := s.catalog.Compose(ctx, in.TemplateID, in.AddOnIDs)
	if err != nil {
		return Resources{}, nil, err
	}
	var refused fault.Refusals
	for _, p := range problems {
		path := fault.Input("templateId")
		if i := slices.Index(in.AddOnIDs, p.ItemID); i >= 0 {
			path = fault.Input("addOnIds", strconv.Itoa(i))
		}
		refused = append(refused, fault.Refusal{Code: fault.Code(p.Code), Path: path, Message: p.Message, Detail: p.Detail()})
	}
	least := Resources{CPUMilli: c.Least.MilliCPU, MemoryBytes: c.Least.MemoryBytes, DiskBytes: c.Least.DiskBytes}
	return least, refused, nil
}

// form refuses amounts that no machine has.
func (r *ResourcesInput) form() fault.Refusals {
	if r == nil {
		return nil
	}
	var refused fault.Refusals
	for _, f := range []struct {
		name  string
		value *int64
		most  int64
	}{{"cpu", r.CPU, mostCPUMilli}, {"memory", r.Memory, mostMemoryBytes}, {"disk", r.Disk, mostDiskBytes}} {
		if f.value != nil && (*f.value <= 0 || *f.value > f.most) {
			refused.Add(fault.InputInvalid, fault.Input("resources", f.name), "%d is no amount that a machine can have: 1 to %d",
				*f.value, f.most)
		}
	}
	return refused
}

// over fills in the least for what is left out.
func (r *ResourcesInput) over(least Resources) Resources {
	out := least
	if r == nil {
		return out
	}
	for _, f := range []struct{ from, to *int64 }{{r.CPU, &out.CPUMilli}, {r.Memory, &out.MemoryBytes}, {r.Disk, &out.DiskBytes}} {
		if f.from != nil {
			*f.to = *f.from
		}
	}
	return out
}

// below refuses resources that are less than the least.
func (r Resources) below(least Resources) fault.Refusals {
	var refused fault.Refusals
	for _, f := range []struct {
		name        string
		have, least int64
	}{{"cpu", r.CPUMilli, least.CPUMilli}, {"memory", r.MemoryBytes, least.MemoryBytes}, {"disk", r.DiskBytes, least.DiskBytes}} {
		if f.have < f.least {
			refused.Add(fault.ResourcesTooSmall, fault.Input("resources", f.name),
				"the template and the add-ons need at least %d, not %d: raise it, or leave it out to get the least", f.least, f.have)
		}
	}
	return refused
}

// sorted puts the add-ons into one order, so that the same set is always stored
// the same.
func sorted(in []ident.ID) store.IDs {
	out := store.IDs(slices.Clone(in))
	slices.Sort(out)
	return out
}

func nameTaken(name string) fault.Refusals {
	return fault.Refuse(fault.NameTaken, fault.Input("name"),
		"something in this project is called %q already, regardless of case; choose another name", name)
}

func inUse(by []ident.ID) fault.Refusals {
	return fault.Refusals{{
		Code: fault.InUse, Path: fault.Input("virtualMachineId"), Detail: fault.UsedBy{IDs: by},
		Message: fmt.Sprintf("the VM still has %d machine(s). Destroy them first with destroyVirtualMachineProvider, and wait until they are DELETED.", len(by)),
	}}
}
