package vm

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"

	"biztraak.dev/vm/internal/auth"
	"biztraak.dev/vm/internal/fault"
	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/operation"
	"biztraak.dev/vm/internal/page"
	"biztraak.dev/vm/internal/store"
)

// vmRow is a VM as it is read: the component and what makes it a VM.
type vmRow struct {
	ID         ident.ID
	TeamID     ident.ID
	ProjectID  ident.ID
	Name       string
	Slug       string
	TemplateID ident.ID
	AddOnIDs   store.IDs `gorm:"column:add_on_ids;type:text[]"`
	Resources  Resources `gorm:"embedded"`
	Version    int
	CreatedAt  time.Time
	ScopeRole  auth.Role
}

const vmColumns = `c.id, c.team_id, c.project_id, c.name, c.slug, v.template_id, v.add_on_ids,
	v.cpu_milli, v.memory_bytes, v.disk_bytes, c.version, c.created_at`

func (r *vmRow) public(who auth.Actor) *VM {
	return &VM{
		ID: r.ID, TeamID: r.TeamID, ProjectID: r.ProjectID, Name: r.Name, Slug: r.Slug,
		TemplateID: r.TemplateID, AddOnIDs: r.AddOnIDs, Resources: r.Resources,
		Version: r.Version, CreatedAt: r.CreatedAt.UTC(), Role: auth.Lower(r.ScopeRole, who.Ceiling),
	}
}

// providerRow is a VM provider as it is stored.
type providerRow struct {
	ID                 ident.ID
	TeamID             ident.ID
	ProjectID          ident.ID
	VMID               ident.ID `gorm:"column:vm_id"`
	AccountID          ident.ID
	Kind               string
	Region             string
	Size               string
	Status             Status
	StatusSince        time.Time
	LastErrorCode      *operation.ErrorCode
	LastErrorMessage   *string
	LastErrorRetryable *bool
	InstanceID         *string
	Address            *string
	AppliedTemplateID  *ident.ID
	AppliedAddOnIDs    store.IDs `gorm:"column:applied_add_on_ids;type:text[]"`
	Simulated          bool
	Version            int
	CreatedAt          time.Time
	Drift              bool
	ScopeRole          auth.Role
}

// driftSQL compares what is applied with what the VM wants now; v is the VM.
const driftSQL = `(p.applied_template_id IS NOT NULL AND
	(p.applied_template_id <> v.template_id OR p.applied_add_on_ids <> v.add_on_ids)) AS drift`

const providerColumns = `p.id, p.team_id, p.project_id, p.vm_id, p.account_id, p.kind, p.region, p.size, p.status,
	p.status_since, p.last_error_code, p.last_error_message, p.last_error_retryable, p.instance_id, p.address,
	p.applied_template_id, p.applied_add_on_ids, p.simulated, p.version, p.created_at, ` + driftSQL

func (r *providerRow) public(who auth.Actor) *Provider {
	out := &Provider{
		ID: r.ID, TeamID: r.TeamID, ProjectID: r.ProjectID, VMID: r.VMID, AccountID: r.AccountID, Kind: r.Kind,
		Region: r.Region, Size: r.Size, Status: r.Status, StatusSince: r.StatusSince.UTC(), InstanceID: r.instance(),
		Address: r.Address, AppliedAddOnIDs: r.AppliedAddOnIDs, Drift: r.Drift, Simulated: r.Simulated,
		Version: r.Version, CreatedAt: r.CreatedAt.UTC(), Role: auth.Lower(r.ScopeRole, who.Ceiling),
	}
	if r.AppliedTemplateID != nil {
		out.AppliedTemplateID = *r.AppliedTemplateID
	}
	if r.LastErrorCode != nil {
		out.LastError = &operation.Error{Code: *r.LastErrorCode, Message: *r.LastErrorMessage, Retryable: *r.LastErrorRetryable}
	}
	return out
}

func (r *providerRow) instance() string {
	if r.InstanceID == nil {
		return ""
	}
	return *r.InstanceID
}

// VM reads a VM; nil when it is absent or not visible to the actor.
func (s *Service) VM(ctx context.Context, id ident.ID) (*VM, error) {
	found, err := s.VMs(ctx, []ident.ID{id})
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

// VMs reads VMs in the order asked, nil for each that is absent or not visible
// to the actor.
func (s *Service) VMs(ctx context.Context, wanted []ident.ID) ([]*VM, error) {
	who, err := auth.From(ctx)
	if err != nil {
		return nil, err
	}
	var rows []vmRow
	q := s.db.Gorm(ctx).Table("component c").Joins("JOIN virtual_machine v ON v.id = c.id").
		Select(vmColumns+", scope_member.role AS scope_role").Where("c.id IN ?", wanted)
	if err := auth.Visible(q, who, "c.team_id").Scan(&rows).Error; err != nil {
		return nil, fmt.Errorf("read virtual machines: %w", err)
	}
	byID := make(map[ident.ID]*VM, len(rows))
	for i := range rows {
		byID[rows[i].ID] = rows[i].public(who)
	}
	out := make([]*VM, len(wanted))
	for i, id := range wanted {
		out[i] = byID[id]
	}
	return out, nil
}

// PagesOf reads one page of VMs for each project, in one statement.
func (s *Service) PagesOf(ctx context.Context, projects []ident.ID, args page.Args) ([]page.Page[*VM], error) {
	who, err := auth.From(ctx)
	if err != nil {
		return nil, err
	}
	w, err := args.Window()
	if err != nil {
		return nil, fault.New(fault.BadRequest, "%s", err.Error())
	}
	inner := s.db.Gorm(ctx).Table("component c").Joins("JOIN virtual_machine v ON v.id = c.id").
		Select(vmColumns + ", scope_member.role AS scope_role").Where("c.project_id = w.of_id")
	inner, err = store.Keyset(auth.Visible(inner, who, "c.team_id"), w, "c.id")
	if err != nil {
		return nil, err
	}
	pages, err := store.PagesOf[vmRow](s.db.Gorm(ctx), projects, inner, store.IDOrder(w), w)
	if err != nil {
		return nil, fmt.Errorf("list virtual machines: %w", err)
	}
	out := make([]page.Page[*VM], len(pages))
	for i, p := range pages {
		out[i] = page.Page[*VM]{HasNext: p.HasNext, HasPrevious: p.HasPrevious}
		for k := range p.Items {
			out[i].Items = append(out[i].Items, p.Items[k].public(who))
		}
	}
	return out, nil
}

// CountOf counts the VMs of each project that the actor may see.
func (s *Service) CountOf(ctx context.Context, projects []ident.ID) ([]int, error) {
	who, err := auth.From(ctx)
	if err != nil {
		return nil, err
	}
	inner := s.db.Gorm(ctx).Table("component c").Joins("JOIN virtual_machine v ON v.id = c.id").
		Select("c.id").Where("c.project_id = w.of_id")
	out, err := store.CountsOf(s.db.Gorm(ctx), projects, auth.Visible(inner, who, "c.team_id"))
	if err != nil {
		return nil, fmt.Errorf("count virtual machines: %w", err)
	}
	return out, nil
}

// Provider reads a VM provider; nil when it is absent or not visible to the
// actor.
func (s *Service) Provider(ctx context.Context, id ident.ID) (*Provider, error) {
	found, err := s.Providers(ctx, []ident.ID{id})
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

// Providers reads VM providers in the order asked, nil for each that is absent
// or not visible to the actor.
func (s *Service) Providers(ctx context.Context, wanted []ident.ID) ([]*Provider, error) {
	found, err := s.providersWhere(ctx, "p.id IN ?", wanted)
	if err != nil {
		return nil, err
	}
	byID := make(map[ident.ID]*Provider, len(found))
	for _, p := range found {
		byID[p.ID] = p
	}
	out := make([]*Provider, len(wanted))
	for i, id := range wanted {
		out[i] = byID[id]
	}
	return out, nil
}

// ProvidersOf reads the VM providers of each VM that are not deleted, oldest
// first, in one statement.
func (s *Service) ProvidersOf(ctx context.Context, vms []ident.ID) ([][]*Provider, error) {
	found, err := s.providersWhere(ctx, "p.status <> 'DELETED' AND p.vm_id IN ?", vms)
	if err != nil {
		return nil, err
	}
	byVM := map[ident.ID][]*Provider{}
	for _, p := range found {
		byVM[p.VMID] = append(byVM[p.VMID], p)
	}
	out := make([][]*Provider, len(vms))
	for i, id := range vms {
		out[i] = byVM[id]
	}
	return out, nil
}

func (s *Service) providersWhere(ctx context.Context, cond string, args ...any) ([]*Provider, error) {
	who, err := auth.From(ctx)
	if err != nil {
		return nil, err
	}
	var rows []providerRow
	q := s.db.Gorm(ctx).Table("vm_provider p").Joins("JOIN virtual_machine v ON v.id = p.vm_id").
		Select(providerColumns+", scope_member.role AS scope_role").Where(cond, args...)
	if err := auth.Visible(q, who, "p.team_id").Order("p.id").Scan(&rows).Error; err != nil {
		return nil, fmt.Errorf("read vm providers: %w", err)
	}
	out := make([]*Provider, len(rows))
	for i := range rows {
		out[i] = rows[i].public(who)
	}
	return out, nil
}

// lockProvider takes the row lock that all work on the provider is decided
// under.
func lockProvider(tx *gorm.DB, id ident.ID) (*providerRow, error) {
	var p providerRow
	err := tx.Raw(`SELECT * FROM vm_provider WHERE id = ? FOR UPDATE`, id).Scan(&p).Error
	if err != nil {
		return nil, fmt.Errorf("lock vm provider: %w", err)
	}
	if p.ID == "" {
		return nil, fmt.Errorf("lock vm provider %s: it is gone", id)
	}
	return &p, nil
}

func readProvider(tx *gorm.DB, id ident.ID) (*providerRow, error) {
	var p providerRow
	err := tx.Raw(`SELECT * FROM vm_provider WHERE id = ?`, id).Scan(&p).Error
	if err != nil {
		return nil, fmt.Errorf("read vm provider: %w", err)
	}
	if p.ID == "" {
		return nil, fmt.Errorf("read vm provider %s: it is gone", id)
	}
	return &p, nil
}
