package vm

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/operation"
	"biztraak.dev/vm/internal/provider"
)

// sweepTimeout bounds one look at one account.
const sweepTimeout = time.Minute

// reconcileLock is the class of the advisory locks by which one process at a
// time looks at an account.
const reconcileLock = 0x766d7263

// AccountsInUse lists the cloud accounts that have, or may have, machines.
func (s *Service) AccountsInUse(ctx context.Context) ([]ident.ID, error) {
	var out []ident.ID
	// An account whose providers are all deleted is looked at for another day: a
	// create whose answer came very late shows up there.
	err := s.db.Gorm(ctx).Raw(`SELECT account_id FROM vm_provider
			WHERE status <> 'DELETED' OR status_since > app_now() - interval '1 day'
		UNION SELECT account_id FROM retired_provider WHERE retired_at > app_now() - interval '1 day'
		ORDER BY account_id`).Scan(&out).Error
	if err != nil {
		return nil, fmt.Errorf("list accounts in use: %w", err)
	}
	return out, nil
}

// Reconcile compares what is recorded of an account's machines with what its
// cloud shows: it stores what has changed outside, and destroys instances that
// carry our tag but that no provider keeps. It does nothing when another process
// is at it.
func (s *Service) Reconcile(ctx context.Context, accountID ident.ID) error {
	ctx, cancel := context.WithTimeout(ctx, sweepTimeout)
	defer cancel()
	return s.alone(ctx, accountID, func() error {
		kind, account, err := s.accounts.DriverAccount(ctx, accountID)
		if err != nil {
			return err
		}
		driver, err := s.drivers.Driver(kind)
		if err != nil {
			return err
		}
		// What is recorded is read before the cloud is asked for comparing states
		// (a row that changes in between is left for the next look), and after it for
		// telling orphans (what is recorded by then is not one).
		before, err := s.recorded(ctx, accountID)
		if err != nil {
			return err
		}
		shown, err := driver.List(ctx, account)
		if err != nil {
			return fmt.Errorf("list instances of %s: %w", accountID, err)
		}
		after, err := s.recorded(ctx, accountID)
		if err != nil {
			return err
		}
		look := sweep{Service: s, driver: driver, account: account, shown: map[string]provider.Observation{}}
		for _, o := range shown {
			look.shown[o.InstanceID] = o
		}
		return errors.Join(look.compare(ctx, before), look.removeOrphans(ctx, after))
	})
}

// alone runs fn while holding the account's advisory lock.
func (s *Service) alone(ctx context.Context, accountID ident.ID, fn func() error) error {
	conn, err := s.db.Pool().Acquire(ctx)
	if err != nil {
		return fmt.Errorf("reconcile %s: %w", accountID, err)
	}
	defer conn.Release()
	var got bool
	err = conn.QueryRow(ctx, `SELECT pg_try_advisory_lock($1, hashtext($2))`, reconcileLock, string(accountID)).Scan(&got)
	if err != nil {
		return fmt.Errorf("reconcile %s: %w", accountID, err)
	}
	if !got {
		return nil
	}
	defer unlock(ctx, conn.Conn(), accountID)
	return fn()
}

// unlock gives the lock back, or the connection up: a lock must not stay on a
// connection that goes back to the pool.
func unlock(ctx context.Context, conn *pgx.Conn, accountID ident.ID) {
	const patience = 5 * time.Second
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_unlock($1, hashtext($2))`, reconcileLock, string(accountID)); err != nil {
		_ = conn.Close(ctx) // what matters is that it is closed
	}
}

// recordedProvider is a provider row with whether work is under way on it.
type recordedProvider struct {
	providerRow
	Busy bool
}

func (s *Service) recorded(ctx context.Context, accountID ident.ID) ([]recordedProvider, error) {
	// The row is a named field: gorm leaves out what is embedded by a name that is
	// not exported.
	var rows []struct {
		Row  providerRow `gorm:"embedded"`
		Busy bool
	}
	err := s.db.Gorm(ctx).Raw(`SELECT p.*, EXISTS (SELECT 1 FROM operation_lock l WHERE l.resource = p.id) AS busy
		FROM vm_provider p WHERE p.account_id = ?`, accountID).Scan(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("read vm providers: %w", err)
	}
	out := make([]recordedProvider, len(rows))
	for i, r := range rows {
		out[i] = recordedProvider{providerRow: r.Row, Busy: r.Busy}
	}
	return out, nil
}

// sweep is one look at one account.
type sweep struct {
	*Service
	driver  provider.Driver
	account provider.Account
	shown   map[string]provider.Observation
}

// compare stores what has changed outside of providers that nothing works on.
func (l sweep) compare(ctx context.Context, rows []recordedProvider) error {
	var failed []error
	for i := range rows {
		p := &rows[i]
		if p.Busy || p.instance() == "" || (p.Status != Running && p.Status != Stopped && p.Status != Lost) {
			continue
		}
		to, o, err := l.see(ctx, p)
		if err == nil && (to != p.Status || o != nil && addressChanged(p, *o)) {
			err = l.store(ctx, p, to, o)
		}
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

func addressChanged(p *recordedProvider, o provider.Observation) bool {
	a := addressOf(o)
	return (a == nil) != (p.Address == nil) || a != nil && *a != *p.Address
}

// see answers the status that the cloud's view comes to. A machine that the
// list lacks is asked for by its id: lists can be late.
func (l sweep) see(ctx context.Context, p *recordedProvider) (Status, *provider.Observation, error) {
	o, listed := l.shown[p.instance()]
	if !listed {
		var err error
		o, err = l.driver.Observe(ctx, l.account, provider.Ref{InstanceID: p.instance(), Region: p.Region})
		gone, err := unlessGone(err)
		if err != nil || gone {
			return Lost, nil, err
		}
	}
	switch o.State {
	case provider.StateRunning:
		return Running, &o, nil
	case provider.StateStopped:
		return Stopped, &o, nil
	case provider.StateCreating, provider.StateStopping, provider.StateStarting, provider.StateRestarting,
		provider.StateDeleting, provider.StateError:
	}
	return p.Status, nil, nil
}

// store writes what was seen, unless the provider has changed since it was read
// or work on it has begun.
func (l sweep) store(ctx context.Context, seen *recordedProvider, to Status, o *provider.Observation) error {
	return l.writer.Write(ctx, func(tx *operation.Tx) error {
		p, err := lockProvider(tx.DB, seen.ID)
		if err != nil {
			return err
		}
		holders, err := tx.Holders(p.ID)
		if err != nil || len(holders) > 0 || p.Version != seen.Version {
			return err
		}
		if p.Status != to {
			tx.Log(p.ID, "the cloud shows the machine as %s, which was not our doing", to)
			if err := p.setStatus(tx, to, cause{}); err != nil {
				return err
			}
		}
		if o == nil {
			return nil
		}
		return p.setAddress(tx, addressOf(*o), cause{})
	})
}

// removeOrphans destroys the instances with our tag that no provider keeps: what
// a lost answer, a late twin or a crash has left. Instances of providers that
// are being worked on are left to that work.
func (l sweep) removeOrphans(ctx context.Context, rows []recordedProvider) error {
	byID := make(map[string]*recordedProvider, len(rows))
	for i := range rows {
		byID[string(rows[i].ID)] = &rows[i]
	}
	retired, err := l.retired(ctx)
	if err != nil {
		return err
	}
	var failed []error
	for _, o := range l.shown {
		p := byID[o.Owner]
		switch {
		case o.State == provider.StateDeleting:
		case p == nil && retired[o.Owner] != nil:
			failed = append(failed, l.removeOrphan(ctx, retired[o.Owner], o))
		case p == nil:
			// Not a provider of ours: another installation can share the account.
		case p.Busy || p.instance() == o.InstanceID:
		default:
			failed = append(failed, l.removeOrphan(ctx, &p.providerRow, o))
		}
	}
	return errors.Join(failed...)
}

// retired are the providers of the account whose rows are gone.
func (l sweep) retired(ctx context.Context) (map[string]*providerRow, error) {
	var rows []providerRow
	err := l.db.Gorm(ctx).Raw(`SELECT id, team_id, account_id FROM retired_provider WHERE account_id = ?`,
		l.account.ID).Scan(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("read retired providers: %w", err)
	}
	out := make(map[string]*providerRow, len(rows))
	for i := range rows {
		out[string(rows[i].ID)] = &rows[i]
	}
	return out, nil
}

func (l sweep) removeOrphan(ctx context.Context, p *providerRow, o provider.Observation) error {
	if err := l.driver.Destroy(ctx, l.account, o.Ref()); err != nil {
		return fmt.Errorf("destroy orphan %s of %s: %w", o.InstanceID, p.ID, err)
	}
	l.log.WarnContext(ctx, "destroyed an orphan", "provider", p.ID, "instance", o.InstanceID)
	return l.writer.Write(ctx, func(tx *operation.Tx) error {
		return l.auditDestroyed(tx, p.TeamID, p.ID, []string{o.InstanceID}, "the cloud showed it, but it is not the recorded instance")
	})
}
