package vm

import (
	"context"

	"biztraak.dev/vm/internal/guest"
	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/provider"
)

// JournalOf finds the guest whose journal is the log of a VM provider. ok is
// false while the provider has no machine.
func (s *Service) JournalOf(ctx context.Context, id ident.ID) (g guest.Guest, t guest.Target, ok bool, err error) {
	p, err := readProvider(s.db.Gorm(ctx), id)
	if err != nil {
		return nil, guest.Target{}, false, err
	}
	g = s.guests[provider.Kind(p.Kind)]
	if g == nil || p.instance() == "" {
		return nil, guest.Target{}, false, nil
	}
	return g, p.target(), true, nil
}
