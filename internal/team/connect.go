package team

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"biztraak.dev/vm/internal/auth"
	"biztraak.dev/vm/internal/fault"
	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/names"
	"biztraak.dev/vm/internal/operation"
	"biztraak.dev/vm/internal/provider"
	"biztraak.dev/vm/internal/store"
)

// verifyTimeout is how long a cloud may take to say whether credentials are good.
const verifyTimeout = 20 * time.Second

// newAccount is an account that is to be stored.
type newAccount struct {
	name  string
	kind  provider.Kind
	owner ident.ID // the team
	// driver is the account as the driver takes it.
	driver provider.Account
	// at is the input field that holds the credentials.
	at []string
}

// ConnectAccount checks the credentials with the cloud and stores them sealed.
func (s *Service) ConnectAccount(ctx context.Context, in ConnectAccountInput) (*ConnectedAccount, error) {
	who, err := auth.From(ctx)
	if err != nil {
		return nil, err
	}
	refused := append(names.Title(in.Name, fault.Input("name")), operation.CheckKey(in.IdempotencyKey)...)
	refused = append(refused, in.form()...)
	more, err := s.mayConnect(ctx, who, in.TeamID)
	if err != nil {
		return nil, err
	}
	if err := append(refused, more...).Err(); err != nil {
		return nil, err
	}
	a := in.account()
	req := operation.Request{
		Scope: in.TeamID, ActorID: who.UserID, Mutation: "connectCloudAccount", Key: in.IdempotencyKey, Input: in,
	}
	// A repeat is answered before the cloud is asked: it would be asked for
	// nothing, and what it says by now does not matter.
	replay, err := s.earlier(ctx, req)
	if err != nil {
		return nil, fmt.Errorf("connect cloud account: %w", err)
	}
	if replay == nil {
		if replay, err = s.verifyAndStore(ctx, who, a, req); err != nil {
			return nil, fmt.Errorf("connect cloud account: %w", err)
		}
	}
	id := ident.ID(a.driver.ID)
	if replay != nil {
		id = replay.ObjectIDs[0]
		if err := s.sameSecret(ctx, id, a); err != nil {
			return nil, err
		}
	}
	account, err := s.Account(ctx, id)
	return &ConnectedAccount{CloudAccount: account, Replayed: replay != nil}, err
}

// account turns an input of good form into the account that it describes.
func (in *ConnectAccountInput) account() newAccount {
	a := newAccount{
		name: in.Name, kind: provider.KindSimulator, owner: in.TeamID, at: fault.Input("simulator"),
		driver: provider.Account{
			ID: string(ident.New(ident.Account)), Settings: map[string]string{},
			Credentials: provider.NewSecret([]byte(in.Simulator.Token)),
		},
	}
	if f := in.Simulator.Fault; f != nil {
		a.driver.Settings["fault"] = strings.ReplaceAll(strings.ToLower(string(*f)), "_", "-")
	}
	return a
}

func (s *Service) mayConnect(ctx context.Context, who auth.Actor, team ident.ID) (fault.Refusals, error) {
	path := fault.Input("teamId")
	role, err := roleIn(s.db.Gorm(ctx), team, who.UserID)
	switch {
	case err != nil:
		return nil, err
	case role == "":
		return notFound(path, "team"), nil
	}
	return auth.Require(auth.Lower(role, who.Ceiling), auth.ConnectAccount, path), nil
}

// errNotYet rolls a look at an idempotency key back.
var errNotYet = errors.New("no earlier call")

// earlier finds the outcome of an earlier call with the same key, without
// claiming the key; nil for none.
func (s *Service) earlier(ctx context.Context, req operation.Request) (*operation.Replay, error) {
	if req.Key == nil {
		return nil, nil //nolint:nilnil // no key, no replay, no error
	}
	var replay *operation.Replay
	err := s.writer.Write(ctx, func(tx *operation.Tx) error {
		var err error
		if replay, err = tx.Once(req); err != nil {
			return err
		}
		return errNotYet
	})
	if errors.Is(err, errNotYet) {
		return replay, nil
	}
	return nil, err
}

// verifyAndStore checks all rules and stores the account. It answers the outcome
// of a twin that was faster.
func (s *Service) verifyAndStore(
	ctx context.Context, who auth.Actor, a newAccount, req operation.Request,
) (*operation.Replay, error) {
	refused, err := s.verify(ctx, a)
	if err != nil {
		return nil, err
	}
	taken, err := accountNamed(s.db.Gorm(ctx), a.owner, a.name)
	if err != nil {
		return nil, err
	}
	if taken {
		refused = append(refused, accountNameTaken(a.name)...)
	}
	if len(refused) > 0 {
		return nil, refused
	}
	replay, err := s.once(ctx, req, func(tx *operation.Tx) (ident.ID, error) {
		return ident.ID(a.driver.ID), s.insertAccount(tx, who, a)
	})
	if store.IsViolation(err, "cloud_account_name") {
		return nil, accountNameTaken(a.name)
	}
	return replay, err
}

// verify asks the cloud, outside any transaction, whether the credentials are
// good.
func (s *Service) verify(ctx context.Context, a newAccount) (fault.Refusals, error) {
	driver, err := s.drivers.Driver(a.kind)
	if err != nil {
		return fault.Refuse(fault.InputInvalid, a.at, "this installation cannot use accounts of the kind %s; it can use %v",
			a.kind, s.drivers.Kinds()), nil
	}
	ctx, cancel := context.WithTimeout(ctx, verifyTimeout)
	defer cancel()
	err = driver.Verify(ctx, a.driver)
	switch provider.ClassOf(err) {
	case "":
		return nil, nil
	case provider.ClassCredentials:
		return credentialsRejected(a.at, provider.Classify(err).Message), nil
	default:
		return nil, cloudUnavailable(provider.Classify(err).Message)
	}
}

func (s *Service) insertAccount(tx *operation.Tx, who auth.Actor, a newAccount) error {
	// The cloud took its time: what was allowed before need not be any more.
	role, err := roleIn(tx.DB, a.owner, who.UserID)
	if err != nil {
		return err
	}
	if role == "" {
		return notFound(fault.Input("teamId"), "team")
	}
	if r := auth.Require(auth.Lower(role, who.Ceiling), auth.ConnectAccount, fault.Input("teamId")); r != nil {
		return r
	}
	id := ident.ID(a.driver.ID)
	sealed, err := s.sealer.Seal(a.driver.Credentials.Reveal(), id)
	if err != nil {
		return err
	}
	settings, err := json.Marshal(a.driver.Settings)
	if err != nil {
		return fmt.Errorf("store settings: %w", err)
	}
	err = tx.Exec(`INSERT INTO cloud_account (id, team_id, name, kind, settings, sealed, created_at)
		VALUES (?, ?, ?, ?, ?::jsonb, ?, ?)`, id, a.owner, a.name, a.kind, string(settings), sealed, tx.Now).Error
	if err != nil {
		return err
	}
	return Audit(tx, AuditEvent{
		TeamID: a.owner, ActorID: who.UserID, Action: "ACCOUNT_CONNECTED", ObjectID: id,
		Detail: map[string]any{"name": a.name, "kind": a.kind},
	})
}

// sameSecret refuses a repeat with other credentials. They are no part of what
// the key was stored with, so they are compared with the account itself.
func (s *Service) sameSecret(ctx context.Context, id ident.ID, a newAccount) error {
	_, stored, err := s.DriverAccount(ctx, id)
	if errors.Is(err, ErrNoAccount) {
		return nil
	}
	if err != nil {
		return err
	}
	if subtle.ConstantTimeCompare(stored.Credentials.Reveal(), a.driver.Credentials.Reveal()) == 1 {
		return nil
	}
	return fault.Refuse(fault.IdempotencyReused, fault.Input("idempotencyKey"),
		"this key was used for connectCloudAccount with other credentials within the last 24 hours; use a new key for new work")
}
