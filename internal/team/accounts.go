package team

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"biztraak.dev/vm/internal/auth"
	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/page"
	"biztraak.dev/vm/internal/provider"
	"biztraak.dev/vm/internal/store"
)

// Account reads a cloud account; nil when it is absent or not visible to the
// actor.
func (s *Service) Account(ctx context.Context, id ident.ID) (*Account, error) {
	found, err := s.Accounts(ctx, []ident.ID{id})
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

// Accounts reads cloud accounts in the order asked, nil for each that is absent
// or not visible to the actor.
func (s *Service) Accounts(ctx context.Context, wanted []ident.ID) ([]*Account, error) {
	who, err := auth.From(ctx)
	if err != nil {
		return nil, err
	}
	var rows []accountRow
	err = visibleAccounts(s.db.Gorm(ctx), who).Where("a.id = ANY(?::text[])", ids(wanted)).Scan(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("read cloud accounts: %w", err)
	}
	found := make([]*Account, len(rows))
	for i := range rows {
		found[i] = rows[i].public()
	}
	return inOrder(wanted, found, func(a *Account) ident.ID { return a.ID }), nil
}

// AccountsOf reads one page of the cloud accounts of each team, oldest first, in
// one statement; empty for a team that the actor may not see.
func (s *Service) AccountsOf(ctx context.Context, teams []ident.ID, args page.Args) ([]page.Page[*Account], error) {
	who, err := auth.From(ctx)
	if err != nil {
		return nil, err
	}
	w, err := window(args)
	if err != nil {
		return nil, err
	}
	inner, err := store.Keyset(visibleAccounts(s.db.Gorm(ctx), who).Where("a.team_id = w.of_id"), w, "a.id")
	if err != nil {
		return nil, err
	}
	pages, err := store.PagesOf[accountRow](s.db.Gorm(ctx), teams, inner, store.IDOrder(w), w)
	if err != nil {
		return nil, fmt.Errorf("list cloud accounts: %w", err)
	}
	return publicPages(pages, (*accountRow).public), nil
}

// CountAccountsOf counts the cloud accounts of each team, in one statement.
func (s *Service) CountAccountsOf(ctx context.Context, teams []ident.ID) ([]int, error) {
	who, err := auth.From(ctx)
	if err != nil {
		return nil, err
	}
	counts, err := store.CountsOf(s.db.Gorm(ctx), teams, visibleAccounts(s.db.Gorm(ctx), who).Where("a.team_id = w.of_id"))
	if err != nil {
		return nil, fmt.Errorf("count cloud accounts: %w", err)
	}
	return counts, nil
}

// ErrNoAccount means that a cloud account is gone.
var ErrNoAccount = errors.New("there is no such cloud account")

// DriverAccount unseals an account as its driver takes it; ErrNoAccount when it
// is gone. It asks for no actor and checks no permission: it is only for code
// that acts for the platform, on behalf of work that was accepted before.
func (s *Service) DriverAccount(ctx context.Context, id ident.ID) (provider.Kind, provider.Account, error) {
	var row struct {
		Kind     provider.Kind
		Settings string
		Sealed   []byte
	}
	err := s.db.Gorm(ctx).Raw("SELECT kind, settings::text AS settings, sealed FROM cloud_account WHERE id = ?", id).Scan(&row).Error
	if err != nil {
		return "", provider.Account{}, fmt.Errorf("read cloud account: %w", err)
	}
	if row.Kind == "" {
		return "", provider.Account{}, fmt.Errorf("read cloud account %s: %w", id, ErrNoAccount)
	}
	account := provider.Account{ID: string(id)}
	if err := json.Unmarshal([]byte(row.Settings), &account.Settings); err != nil {
		return "", provider.Account{}, fmt.Errorf("read settings of cloud account %s: %w", id, err)
	}
	secret, err := s.sealer.Open(row.Sealed, id)
	if err != nil {
		return "", provider.Account{}, fmt.Errorf("unseal cloud account %s: %w", id, err)
	}
	account.Credentials = provider.NewSecret(secret)
	return row.Kind, account, nil
}

// isSimulated says whether machines of the kind are not real.
func isSimulated(kind string) bool { return provider.Kind(kind) == provider.KindSimulator }
