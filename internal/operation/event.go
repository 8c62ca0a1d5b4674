package operation

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"biztraak.dev/vm/internal/ident"
)

// EventKind says what happened in a project.
type EventKind string

// The kinds of events.
const (
	ProjectCreated     EventKind = "PROJECT_CREATED"
	ProjectUpdated     EventKind = "PROJECT_UPDATED"
	ComponentCreated   EventKind = "COMPONENT_CREATED"
	ComponentUpdated   EventKind = "COMPONENT_UPDATED"
	ComponentDeleted   EventKind = "COMPONENT_DELETED"
	ProviderStatus     EventKind = "PROVIDER_STATUS_CHANGED"
	ProviderUpdated    EventKind = "PROVIDER_UPDATED"
	OperationQueued    EventKind = "OPERATION_QUEUED"
	OperationStarted   EventKind = "OPERATION_STARTED"
	OperationStepMoved EventKind = "OPERATION_STEP"
	CancelRequested    EventKind = "OPERATION_CANCEL_REQUESTED"
	OperationFinished  EventKind = "OPERATION_FINISHED"
)

// Event is something that happened in a project.
type Event struct {
	ProjectID ident.ID
	// Seq is from 1, without gaps in a project; set when it is written.
	Seq        int64
	Kind       EventKind
	OccurredAt time.Time
	SubjectID  ident.ID
	// Above are the objects above the subject: whoever follows one is woken.
	Above []ident.ID `gorm:"-"`
	// OperationID and ActorID are empty for none.
	OperationID ident.ID
	ActorID     ident.ID
	// Status is the status that the subject then had; empty for none.
	Status string
	// Step is the step of an operation that moved; empty for none.
	Step string
}

// Emit adds an event to the transaction. It is the only way to write one.
func (tx *Tx) Emit(e Event) { tx.events = append(tx.events, e) }

// flushEvents numbers and writes the events of each project in one statement,
// which takes the lock on the project's counter and is the last one.
func (tx *Tx) flushEvents() error {
	byProject := map[ident.ID][]Event{}
	for _, e := range tx.events {
		byProject[e.ProjectID] = append(byProject[e.ProjectID], e)
	}
	for _, id := range sortedKeys(byProject) {
		seq, err := tx.writeEvents(id, byProject[id])
		if err != nil {
			return fmt.Errorf("write events: %w", err)
		}
		tx.said = append(tx.said, Announcement{
			Stream: ProjectStream(id), From: seq - int64(len(byProject[id])) + 1, Seq: seq, Topics: topicsOf(byProject[id]),
		})
	}
	return nil
}

// writeEventsSQL takes parallel arrays. A text array of arrays cannot be
// unnested by one level, so topics travel joined by commas.
const writeEventsSQL = `
WITH counter AS (
	UPDATE project SET event_seq = event_seq + cardinality(?::text[]) WHERE id = ? RETURNING id, event_seq
), written AS (
	INSERT INTO event (project_id, seq, kind, occurred_at, subject_id, operation_id, actor_id, status, step, topics)
	SELECT c.id, c.event_seq - cardinality(?::text[]) + e.n, e.kind, ?, e.subject,
		nullif(e.operation, ''), nullif(e.actor, ''), nullif(e.status, ''), nullif(e.step, ''),
		string_to_array(e.topics, ',')
	FROM counter c, unnest(?::text[], ?::text[], ?::text[], ?::text[], ?::text[], ?::text[], ?::text[])
		WITH ORDINALITY AS e(kind, subject, operation, actor, status, step, topics, n)
)
SELECT event_seq FROM counter`

func (tx *Tx) writeEvents(project ident.ID, events []Event) (int64, error) {
	n := len(events)
	cols := make([]textArray, 7)
	for i := range cols {
		cols[i] = make(textArray, n)
	}
	for i, e := range events {
		for c, v := range []string{string(e.Kind), string(e.SubjectID), string(e.OperationID), string(e.ActorID),
			e.Status, e.Step, strings.Join(topicsOf(events[i:i+1]), ",")} {
			cols[c][i] = v
		}
	}
	var seq *int64
	err := tx.Raw(writeEventsSQL, cols[0], project, cols[0], tx.Now,
		cols[0], cols[1], cols[2], cols[3], cols[4], cols[5], cols[6]).Scan(&seq).Error
	if err != nil {
		return 0, err
	}
	if seq == nil {
		return 0, fmt.Errorf("project %s is gone", project)
	}
	return *seq, nil
}

// topicsOf are the ids whose followers the events concern, each once.
func topicsOf(events []Event) []string {
	set := map[string]bool{}
	for _, e := range events {
		set[string(e.SubjectID)] = true
		for _, id := range e.Above {
			set[string(id)] = true
		}
		if e.OperationID != "" {
			set[string(e.OperationID)] = true
		}
	}
	delete(set, "")
	return slices.Sorted(maps.Keys(set))
}

func sortedKeys[V any](m map[ident.ID]V) []ident.ID { return slices.Sorted(maps.Keys(m)) }
