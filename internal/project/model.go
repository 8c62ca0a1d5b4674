package project

import (
	"time"

	"biztraak.dev/vm/internal/auth"
	"biztraak.dev/vm/internal/ident"
)

// Project is a namespace of components.
type Project struct {
	ID     ident.ID
	TeamID ident.ID
	// Name is unique in the team, regardless of case.
	Name string
	Slug string
	// Version grows with each change of the project's own fields.
	Version   int
	CreatedAt time.Time
	// Role is what the actor may do with it, after the ceiling of their token.
	Role auth.Role
}

// Component is a part of a project, whatever its kind.
type Component struct {
	ID        ident.ID
	ProjectID ident.ID
	// Kind is a ProjectComponentKind of the schema, such as VIRTUAL_MACHINE.
	Kind string
	// Name is unique in the project, regardless of case.
	Name string
	Slug string
}

// CreateInput is what createProject takes.
type CreateInput struct {
	TeamID         ident.ID
	Name           string
	IdempotencyKey *string `json:"-"`
}

// Created is what createProject answers.
type Created struct {
	Project  *Project
	Replayed bool
}

// UpdateInput is what updateProject takes.
type UpdateInput struct {
	ProjectID       ident.ID
	Name            string
	ExpectedVersion *int
}

// DeleteInput is what deleteProject takes.
type DeleteInput struct {
	ProjectID       ident.ID
	ExpectedVersion *int
}
