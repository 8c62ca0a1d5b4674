package team

import (
	"context"
	"fmt"

	"biztraak.dev/vm/internal/auth"
	"biztraak.dev/vm/internal/fault"
	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/names"
	"biztraak.dev/vm/internal/operation"
)

// Create makes a team with the actor as its first owner.
func (s *Service) Create(ctx context.Context, in CreateInput) (*Created, error) {
	who, err := auth.From(ctx)
	if err != nil {
		return nil, err
	}
	refused := append(names.Title(in.Name, fault.Input("name")), operation.CheckKey(in.IdempotencyKey)...)
	if err := append(refused, fullCeiling(who)...).Err(); err != nil {
		return nil, err
	}
	// No team is concerned yet, so the key is the user's.
	req := operation.Request{
		Scope: who.UserID, ActorID: who.UserID, Mutation: "createTeam", Key: in.IdempotencyKey, Input: in,
	}
	var id ident.ID
	replay, err := s.once(ctx, req, func(tx *operation.Tx) (ident.ID, error) {
		id = ident.New(ident.Team)
		return id, makeTeam(tx, id, in.Name, who.UserID)
	})
	if err != nil {
		return nil, fmt.Errorf("create team: %w", err)
	}
	if replay != nil {
		id = replay.ObjectIDs[0]
	}
	team, err := s.Get(ctx, id)
	return &Created{Team: team, Replayed: replay != nil}, err
}

// makeTeam stores a team and its first owner.
func makeTeam(tx *operation.Tx, id ident.ID, name string, owner ident.ID) error {
	if err := insertTeam(tx.DB, id, name, tx.Now); err != nil {
		return err
	}
	if err := insertMember(tx.DB, id, owner, auth.Owner, tx.Now); err != nil {
		return err
	}
	if err := tx.AccessChanged(id, owner); err != nil {
		return err
	}
	return Audit(tx, AuditEvent{
		TeamID: id, ActorID: owner, Action: "TEAM_CREATED", ObjectID: id, Detail: map[string]any{"name": name},
	})
}

// once runs do, which answers the id of what it has made, in one transaction. When
// an earlier call with the same key has done the same, its outcome is answered
// instead; nil when do ran.
func (s *Service) once(
	ctx context.Context, req operation.Request, do func(tx *operation.Tx) (ident.ID, error),
) (*operation.Replay, error) {
	var replay *operation.Replay
	err := s.writer.Write(ctx, func(tx *operation.Tx) error {
		var err error
		if replay, err = tx.Once(req); err != nil || replay != nil {
			return err
		}
		id, err := do(tx)
		if err != nil {
			return err
		}
		return tx.Remember(req, "", id)
	})
	return replay, err
}
