package catalog

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"biztraak.dev/vm/internal/auth"
	"biztraak.dev/vm/internal/catalog/manifest"
	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/store"
)

const (
	// mostItems and mostCompositions bound what is kept in the process; a few
	// kilobytes each.
	mostItems        = 2000
	mostCompositions = 1000
)

// Deps are what the room needs of others.
type Deps struct {
	DB *store.DB
	// Now is the clock by which kept lists grow old; time.Now when nil.
	Now func() time.Time
}

// Service reads the catalog and resolves compositions. It is safe for concurrent
// use, and what it answers is shared: read only.
type Service struct {
	db    *store.DB
	now   func() time.Time
	items *memo[ident.ID, Item]
	mu    sync.Mutex // guards offered
	// offered are everybody's add-ons, which change when something is published.
	offered *offers
}

// NewService makes a Service.
func NewService(d Deps) *Service {
	if d.Now == nil {
		d.Now = time.Now
	}
	return &Service{db: d.DB, now: d.Now, items: newMemo[ident.ID, Item](mostItems)}
}

// ErrNoItem means that there is no store item with the id.
var ErrNoItem = errors.New("there is no such store item")

// Templates reads the newest version of each template that the actor may use, by
// slug.
func (s *Service) Templates(ctx context.Context) ([]*Template, error) {
	return list[*Template](ctx, s, storedTemplate)
}

// AddOns reads the newest version of each add-on pack that the actor may use, by
// slug.
func (s *Service) AddOns(ctx context.Context) ([]*AddOn, error) {
	return list[*AddOn](ctx, s, storedAddOn)
}

// Template reads one version of a template; nil when it is absent or the actor
// may not use it.
func (s *Service) Template(ctx context.Context, id ident.ID) (*Template, error) {
	return one[*Template](ctx, s, id)
}

// AddOn reads one version of an add-on pack; nil when it is absent or the actor
// may not use it.
func (s *Service) AddOn(ctx context.Context, id ident.ID) (*AddOn, error) {
	return one[*AddOn](ctx, s, id)
}

// Item reads one version of whatever kind; nil when it is absent or the actor may
// not use it.
func (s *Service) Item(ctx context.Context, id ident.ID) (Item, error) {
	return one[Item](ctx, s, id)
}

// TemplatesByID reads versions of templates in the order asked, nil for each that
// is absent or that the actor may not use.
func (s *Service) TemplatesByID(ctx context.Context, wanted []ident.ID) ([]*Template, error) {
	return byID[*Template](ctx, s, wanted)
}

// AddOnsByID reads versions of add-on packs in the order asked, nil for each that
// is absent or that the actor may not use.
func (s *Service) AddOnsByID(ctx context.Context, wanted []ident.ID) ([]*AddOn, error) {
	return byID[*AddOn](ctx, s, wanted)
}

// BaseImage is the image to boot for a template in the words of a kind of cloud;
// empty when the template has none for it, ErrNoItem when there is no such
// template. It checks no permission: the template is one that a VM is pinned to.
func (s *Service) BaseImage(ctx context.Context, template ident.ID, kind manifest.ProviderKind) (string, error) {
	items, err := s.stored(ctx, []ident.ID{template})
	if err != nil {
		return "", err
	}
	t, ok := items[0].(*Template)
	if !ok {
		return "", fmt.Errorf("base image of template %s: %w", template, ErrNoItem)
	}
	return t.Manifest.Template.BaseImages[kind], nil
}

// list reads the newest versions of a kind.
func list[T Item](ctx context.Context, s *Service, kind string) ([]T, error) {
	who, err := auth.From(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := usable(s.db.Gorm(ctx), who, kind)
	if err != nil {
		return nil, err
	}
	items, err := s.stored(ctx, newest(rows))
	if err != nil {
		return nil, err
	}
	out := make([]T, 0, len(items))
	for _, item := range items {
		if x, ok := item.(T); ok {
			out = append(out, x)
		}
	}
	return out, nil
}

func one[T Item](ctx context.Context, s *Service, id ident.ID) (T, error) {
	var none T
	found, err := byID[T](ctx, s, []ident.ID{id})
	if err != nil {
		return none, err
	}
	return found[0], nil
}

// byID reads versions of one kind that the actor may use. Everybody's items that
// are kept in the process cost no statement.
func byID[T Item](ctx context.Context, s *Service, wanted []ident.ID) ([]T, error) {
	who, err := auth.From(ctx)
	if err != nil {
		return nil, err
	}
	items, err := s.stored(ctx, wanted)
	if err != nil {
		return nil, err
	}
	var mine map[ident.ID]bool
	out := make([]T, len(wanted))
	for i, item := range items {
		x, ok := item.(T)
		if !ok {
			continue
		}
		if team := item.about().TeamID; team != "" {
			if mine == nil {
				if mine, err = teamsOf(s.db.Gorm(ctx), who); err != nil {
					return nil, err
				}
			}
			if !mine[team] {
				continue
			}
		}
		out[i] = x
	}
	return out, nil
}

// stored reads versions in the order asked, nil for each that is absent, whoever
// may use them. Those that are not kept yet cost one statement.
func (s *Service) stored(ctx context.Context, wanted []ident.ID) ([]Item, error) {
	out := make([]Item, len(wanted))
	var missing []ident.ID
	for i, id := range wanted {
		var ok bool
		if out[i], ok = s.items.get(id); !ok {
			missing = append(missing, id)
		}
	}
	if len(missing) == 0 {
		return out, nil
	}
	items, err := read(s.db.Gorm(ctx), missing)
	if err != nil {
		return nil, err
	}
	found := make(map[ident.ID]Item, len(items))
	for _, item := range items {
		found[item.about().ID] = item
		s.items.put(item.about().ID, item)
	}
	for i, id := range wanted {
		if out[i] == nil {
			out[i] = found[id]
		}
	}
	return out, nil
}
