package project

import (
	"context"
	"fmt"

	"biztraak.dev/vm/internal/auth"
	"biztraak.dev/vm/internal/fault"
	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/names"
	"biztraak.dev/vm/internal/operation"
	"biztraak.dev/vm/internal/store"
	"biztraak.dev/vm/internal/team"
)

// nameIndex is the unique index of names in a team.
const nameIndex = "project_name"

// Create makes a project.
func (s *Service) Create(ctx context.Context, in CreateInput) (*Created, error) {
	who, err := auth.From(ctx)
	if err != nil {
		return nil, err
	}
	form := append(names.Title(in.Name, fault.Input("name")), operation.CheckKey(in.IdempotencyKey)...)
	req := operation.Request{
		Scope: in.TeamID, ActorID: who.UserID, Mutation: "createProject", Key: in.IdempotencyKey, Input: in,
	}
	var id ident.ID
	out := &Created{}
	err = s.writer.Write(ctx, func(tx *operation.Tx) error {
		id, out.Replayed = ident.New(ident.Project), false
		if err := s.mayCreate(tx, who, in.TeamID, form); err != nil {
			return err
		}
		replay, err := tx.Once(req)
		if err != nil {
			return err
		}
		if replay != nil {
			id, out.Replayed = replay.ObjectIDs[0], true
			return nil
		}
		err = tx.Exec("INSERT INTO project (id, team_id, name, slug, created_at) VALUES (?, ?, ?, ?, ?)",
			id, in.TeamID, in.Name, names.Slug(in.Name), tx.Now).Error
		if err != nil {
			return err
		}
		tx.Emit(operation.Event{ProjectID: id, Kind: operation.ProjectCreated, SubjectID: id, ActorID: who.UserID})
		return tx.Remember(req, "", id)
	})
	if store.IsViolation(err, nameIndex) {
		return nil, nameTaken(in.Name)
	}
	if err != nil {
		return nil, fmt.Errorf("create project: %w", err)
	}
	out.Project, err = s.Get(ctx, id)
	return out, err
}

// mayCreate answers the refusals of the form together with those of the team.
func (s *Service) mayCreate(tx *operation.Tx, who auth.Actor, teamID ident.ID, form fault.Refusals) error {
	path := fault.Input("teamId")
	role, err := auth.RoleOf(tx.DB, who, teamID)
	if err != nil {
		return fmt.Errorf("read role: %w", err)
	}
	if role == "" {
		return append(form, notFound(path, "team")...)
	}
	return append(form, auth.Require(role, auth.EditProject, path)...).Err()
}

// Update renames a project. Its present name is no change.
func (s *Service) Update(ctx context.Context, in UpdateInput) (*Project, error) {
	form := names.Title(in.Name, fault.Input("name"))
	err := s.change(ctx, in.ProjectID, form, auth.EditProject, func(tx *operation.Tx, who auth.Actor, p *Project) error {
		taken, err := nameUsed(tx.DB, p, in.Name)
		if err != nil {
			return err
		}
		refused := checkVersion(p.Version, in.ExpectedVersion)
		if taken {
			refused = append(refused, nameTaken(in.Name)...)
		}
		if err := refused.Err(); err != nil || in.Name == p.Name {
			return err
		}
		err = store.One(tx.Exec("UPDATE project SET name = ?, slug = ?, version = version + 1 WHERE id = ?",
			in.Name, names.Slug(in.Name), p.ID))
		if err != nil {
			return err
		}
		tx.Emit(operation.Event{ProjectID: p.ID, Kind: operation.ProjectUpdated, SubjectID: p.ID, ActorID: who.UserID})
		return nil
	})
	if store.IsViolation(err, nameIndex) {
		return nil, nameTaken(in.Name)
	}
	if err != nil {
		return nil, fmt.Errorf("update project: %w", err)
	}
	return s.Get(ctx, in.ProjectID)
}

// Delete deletes a project without components, with its history, and answers its
// id.
func (s *Service) Delete(ctx context.Context, in DeleteInput) (ident.ID, error) {
	err := s.change(ctx, in.ProjectID, nil, auth.DeleteProject, func(tx *operation.Tx, who auth.Actor, p *Project) error {
		components, err := componentIDs(tx.DB, p.ID)
		if err != nil {
			return err
		}
		refused := append(checkVersion(p.Version, in.ExpectedVersion), checkEmpty(components)...)
		if err := refused.Err(); err != nil {
			return err
		}
		if err := remove(tx.DB, p.ID); err != nil {
			return err
		}
		// The history goes with the project, so this is all that is left of it.
		return team.Audit(tx, team.AuditEvent{
			TeamID: p.TeamID, ActorID: who.UserID, Action: "PROJECT_DELETED", ObjectID: p.ID,
			Detail: map[string]any{"name": p.Name},
		})
	})
	if err != nil {
		return "", fmt.Errorf("delete project: %w", err)
	}
	return in.ProjectID, nil
}

// change runs fn in a transaction that holds the project's row lock. The refusals
// of the form are answered together with the project being absent or out of
// reach.
func (s *Service) change(
	ctx context.Context, id ident.ID, form fault.Refusals, verb auth.Verb,
	fn func(tx *operation.Tx, who auth.Actor, p *Project) error,
) error {
	who, err := auth.From(ctx)
	if err != nil {
		return err
	}
	path := fault.Input("projectId")
	return s.writer.Write(ctx, func(tx *operation.Tx) error {
		p, err := locked(tx.DB, who, id)
		if err != nil {
			return err
		}
		if p == nil {
			return append(form, notFound(path, "project")...)
		}
		if err := append(form, auth.Require(p.Role, verb, path)...).Err(); err != nil {
			return err
		}
		return fn(tx, who, p)
	})
}
