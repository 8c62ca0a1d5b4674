package catalog

import (
	"time"

	"biztraak.dev/vm/internal/catalog/composition"
	"biztraak.dev/vm/internal/catalog/manifest"
	"biztraak.dev/vm/internal/fault"
	"biztraak.dev/vm/internal/ident"
)

// Item is one published version of a store item: a *Template or an *AddOn.
type Item interface {
	// Ref names the version without its id.
	Ref() composition.Ref
	about() *About
}

// About is what all store items have.
type About struct {
	// ID names one version.
	ID ident.ID
	// TeamID is the team that the item belongs to; empty for everybody's.
	TeamID      ident.ID
	Slug        string
	Version     string
	Name        string
	Description string
	Icon        string
	// Capabilities are what the item gives.
	Capabilities []manifest.Capability
	// Manifest is the whole of it.
	Manifest manifest.Manifest
}

// Ref names the version without its id.
func (a *About) Ref() composition.Ref {
	return composition.Ref{Kind: a.Manifest.Kind, Slug: a.Slug, Version: a.Version}
}

func (a *About) about() *About { return a }

// Template is one version of a VM template. Manifest.Template is set.
type Template struct {
	About
	// LeastResources is the least that a VM of it needs, without add-ons.
	LeastResources composition.Resources
	// DefaultShutdownTimer is how long a VM of it runs before it is stopped, unless
	// told otherwise; nil for without end.
	DefaultShutdownTimer *time.Duration
}

// AddOn is one version of an add-on pack. Manifest.AddOn is set.
type AddOn struct {
	About
	// ExtraResources is what it needs beyond the template's.
	ExtraResources composition.Resources
	// FitsTemplates are the slugs of the templates it fits; empty for all.
	FitsTemplates []string
}

var (
	_ Item = (*Template)(nil)
	_ Item = (*AddOn)(nil)
)

// Selection is what a machine is to be made of, by the ids of versions.
type Selection struct {
	TemplateID ident.ID
	// AddOnIDs may stand in any order.
	AddOnIDs []ident.ID
}

// Composed is what a selection comes to. It is shared: read only.
type Composed struct {
	composition.Composition
	// Problems are why the selection does not go together; none for one that does.
	Problems []Problem
	items    map[composition.Ref]Item
}

// Item is the item that the composition names by the reference; nil for a
// reference that is not in it.
func (c *Composed) Item(ref composition.Ref) Item { return c.items[ref] }

// idsOf are the ids of what is named by the references, in their order.
func (c *Composed) idsOf(refs []composition.Ref) []ident.ID {
	ids := make([]ident.ID, 0, len(refs))
	for _, ref := range refs {
		if item := c.items[ref]; item != nil {
			ids = append(ids, item.about().ID)
		}
	}
	return ids
}

// Problem is one reason why a selection does not go together.
type Problem struct {
	composition.Problem
	// ItemID is the item at fault; empty where it is the resources.
	ItemID ident.ID
	// SupplierIDs are the add-ons that give what is required.
	SupplierIDs []ident.ID
}

// Detail is what a refusal for the problem has beside its message; nil for none.
func (p Problem) Detail() any {
	if p.Code != composition.CodeAddOnRequires {
		return nil
	}
	return fault.SuppliedBy{Capability: string(p.Capability), AddOnIDs: p.SupplierIDs}
}
