package catalog

import (
	"context"
	"fmt"

	"gorm.io/gorm"

	"biztraak.dev/vm/internal/catalog/composition"
	"biztraak.dev/vm/internal/catalog/manifest"
	"biztraak.dev/vm/internal/store"
)

// loadLock is the key of the advisory lock under which items are loaded: several
// processes start at once. Any number does that no other lock of this product has.
const loadLock = 0x6269_7a63_6174

// Load stores items for everybody. An item that is stored already is left as it
// is; one that is stored under the same version with another content is an error
// that names it, and then nothing is stored: a published version never changes.
func (s *Service) Load(ctx context.Context, items []manifest.Manifest) error {
	err := s.db.Tx(ctx, func(tx *gorm.DB) error {
		if err := tx.Exec("SELECT pg_advisory_xact_lock(?)", int64(loadLock)).Error; err != nil {
			return err
		}
		now, err := store.Now(tx)
		if err != nil {
			return err
		}
		digests, err := publicDigests(tx)
		if err != nil {
			return err
		}
		for _, item := range items {
			isNew, err := digests.add(item)
			if err != nil {
				return err
			}
			if !isNew {
				continue
			}
			if err := insert(tx, item, now); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("load catalog: %w", err)
	}
	s.forgetOffers()
	return nil
}

// published are the digests of what is published for everybody.
type published map[composition.Ref]string

func publicDigests(tx *gorm.DB) (published, error) {
	rows, err := public(tx, "")
	if err != nil {
		return nil, err
	}
	out := published{}
	for _, r := range rows {
		kind := manifest.KindAddOn
		if r.Kind == storedTemplate {
			kind = manifest.KindTemplate
		}
		out[composition.Ref{Kind: kind, Slug: r.Slug, Version: r.Version}] = r.Digest
	}
	return out, nil
}

// add says whether the item is new, and refuses a published version that has
// changed.
func (p published) add(item manifest.Manifest) (bool, error) {
	digest, err := item.Digest()
	if err != nil {
		return false, err
	}
	ref := composition.Ref{Kind: item.Kind, Slug: item.Metadata.Slug, Version: item.Metadata.Version}
	old, known := p[ref]
	switch {
	case !known:
		p[ref] = digest
		return true, nil
	case old != digest:
		return false, fmt.Errorf("%s %q: version %s is published with another content (%s, not %s): "+
			"a published version never changes, so give what was changed a new version", ref.Kind, ref.Slug, ref.Version, old, digest)
	}
	return false, nil
}
