package model

import (
	"biztraak.dev/vm/internal/operation"
	"biztraak.dev/vm/internal/page"
	"biztraak.dev/vm/internal/vm"
)

// ProjectEvent is something that happened in a project.
type ProjectEvent interface {
	// Recorded is the event as it is stored.
	Recorded() operation.Event
	// Cursor is the place right after the event.
	Cursor() page.Cursor
}

// recorded is what all kinds of events have in common.
type recorded struct{ operation.Event }

// Recorded is the event as it is stored.
func (r recorded) Recorded() operation.Event { return r.Event }

// Cursor is the place right after the event.
func (r recorded) Cursor() page.Cursor { return operation.EventCursor(r.Seq) }

// ComponentEvent says that a project or a component was made, changed or deleted.
type ComponentEvent struct{ recorded }

// ProviderStatusEvent says that a VM provider has changed.
type ProviderStatusEvent struct{ recorded }

// Status is the status that the provider then had.
func (e *ProviderStatusEvent) Status() vm.Status { return vm.Status(e.Event.Status) }

// OperationEvent says that an operation has moved.
type OperationEvent struct{ recorded }

// Status is the status that the operation then had.
func (e *OperationEvent) Status() operation.Status { return operation.Status(e.Event.Status) }

// Step is the step that began or ended; nil for the operation as a whole.
func (e *OperationEvent) Step() *string {
	if e.Event.Step == "" {
		return nil
	}
	return &e.Event.Step
}

// NewProjectEvent gives a stored event the type that its kind has in the schema.
func NewProjectEvent(e operation.Event) ProjectEvent {
	e.OccurredAt = e.OccurredAt.UTC()
	switch e.Kind {
	case operation.ProviderStatus, operation.ProviderUpdated:
		return &ProviderStatusEvent{recorded{e}}
	case operation.OperationQueued, operation.OperationStarted, operation.OperationStepMoved,
		operation.CancelRequested, operation.OperationFinished:
		return &OperationEvent{recorded{e}}
	case operation.ProjectCreated, operation.ProjectUpdated,
		operation.ComponentCreated, operation.ComponentUpdated, operation.ComponentDeleted:
	}
	return &ComponentEvent{recorded{e}}
}

// NewProjectEvents is NewProjectEvent for many.
func NewProjectEvents(events []operation.Event) []ProjectEvent {
	out := make([]ProjectEvent, len(events))
	for i, e := range events {
		out[i] = NewProjectEvent(e)
	}
	return out
}
