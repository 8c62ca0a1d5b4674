package catalog

import (
	"encoding/json"
	"fmt"
	"time"

	"gorm.io/gorm"

	"biztraak.dev/vm/internal/auth"
	"biztraak.dev/vm/internal/catalog/composition"
	"biztraak.dev/vm/internal/catalog/manifest"
	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/store"
)

// The kinds as they are stored.
const (
	storedTemplate = "TEMPLATE"
	storedAddOn    = "ADD_ON"
)

func storedKind(k manifest.Kind) (string, ident.Kind) {
	if k == manifest.KindTemplate {
		return storedTemplate, ident.Template
	}
	return storedAddOn, ident.AddOn
}

// versionRow names one version of an item.
type versionRow struct {
	ID      ident.ID
	Kind    string
	TeamID  ident.ID
	Slug    string
	Version string
	Digest  string
}

const versionColumns = "c.id, c.kind, coalesce(c.team_id, '') AS team_id, c.slug, c.version, c.digest"

// usable lists the versions of a kind that the actor may use: everybody's, and
// those of the actor's teams.
func usable(g *gorm.DB, who auth.Actor, kind string) ([]versionRow, error) {
	var rows []versionRow
	err := g.Raw("SELECT "+versionColumns+` FROM catalog_item c
		LEFT JOIN team_member m ON m.team_id = c.team_id AND m.user_id = ?
		WHERE c.kind = ? AND (c.team_id IS NULL OR m.user_id IS NOT NULL)`, who.UserID, kind).Scan(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("list catalog: %w", err)
	}
	return rows, nil
}

// public lists everybody's versions; those of one kind, or of all for empty.
func public(g *gorm.DB, kind string) ([]versionRow, error) {
	var rows []versionRow
	err := g.Raw("SELECT "+versionColumns+` FROM catalog_item c
		WHERE c.team_id IS NULL AND (c.kind = ? OR ? = '')`, kind, kind).Scan(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("list catalog: %w", err)
	}
	return rows, nil
}

// teamsOf are the teams that the actor is in.
func teamsOf(g *gorm.DB, who auth.Actor) (map[ident.ID]bool, error) {
	var teams []ident.ID
	if err := g.Raw("SELECT team_id FROM team_member WHERE user_id = ?", who.UserID).Scan(&teams).Error; err != nil {
		return nil, fmt.Errorf("read teams: %w", err)
	}
	set := make(map[ident.ID]bool, len(teams))
	for _, t := range teams {
		set[t] = true
	}
	return set, nil
}

// itemRow is one version as it is stored.
type itemRow struct {
	ID       ident.ID
	TeamID   ident.ID
	Manifest string
}

// read reads versions, in no order; those that are absent are left out.
func read(g *gorm.DB, wanted []ident.ID) ([]Item, error) {
	var rows []itemRow
	err := g.Raw(`SELECT id, coalesce(team_id, '') AS team_id, manifest::text AS manifest
		FROM catalog_item WHERE id = ANY(?::text[])`, store.IDs(wanted)).Scan(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("read catalog: %w", err)
	}
	items := make([]Item, len(rows))
	for i, r := range rows {
		if items[i], err = r.item(); err != nil {
			return nil, err
		}
	}
	return items, nil
}

func (r itemRow) item() (Item, error) {
	var m manifest.Manifest
	if err := json.Unmarshal([]byte(r.Manifest), &m); err != nil {
		return nil, fmt.Errorf("read manifest of %s: %w", r.ID, err)
	}
	about := About{
		ID: r.ID, TeamID: r.TeamID, Slug: m.Metadata.Slug, Version: m.Metadata.Version, Name: m.Metadata.Name,
		Description: m.Metadata.Description, Icon: m.Metadata.Icon, Capabilities: m.Contribution().Capabilities, Manifest: m,
	}
	if m.Template == nil {
		a := &AddOn{About: about, FitsTemplates: m.AddOn.Fits}
		if x := m.AddOn.ExtraResources; x != nil {
			a.ExtraResources = amount(x.CPU, x.Memory, x.Disk)
		}
		return a, nil
	}
	t := &Template{About: about, LeastResources: amount(m.Template.Least.CPU, m.Template.Least.Memory, m.Template.Least.Disk)}
	if d := time.Duration(m.Template.DefaultShutdownTimer); d > 0 {
		t.DefaultShutdownTimer = &d
	}
	return t, nil
}

func amount(cpu manifest.MilliCPU, memory, disk manifest.ByteSize) composition.Resources {
	return composition.Resources{MilliCPU: int64(cpu), MemoryBytes: int64(memory), DiskBytes: int64(disk)}
}

// insert stores an item for everybody.
func insert(tx *gorm.DB, m manifest.Manifest, now time.Time) error {
	text, err := m.Canonical()
	if err != nil {
		return err
	}
	digest, err := m.Digest()
	if err != nil {
		return err
	}
	kind, prefix := storedKind(m.Kind)
	err = tx.Exec(`INSERT INTO catalog_item (id, kind, slug, version, digest, manifest, created_at)
		VALUES (?, ?, ?, ?, ?, ?::jsonb, ?)`,
		ident.New(prefix), kind, m.Metadata.Slug, m.Metadata.Version, digest, string(text), now).Error
	if err != nil {
		return fmt.Errorf("store %s: %w", m, err)
	}
	return nil
}
