package model

import (
	"context"

	"biztraak.dev/vm/internal/operation"
	"biztraak.dev/vm/internal/page"
	"biztraak.dev/vm/internal/project"
	"biztraak.dev/vm/internal/syslog"
	"biztraak.dev/vm/internal/team"
	"biztraak.dev/vm/internal/vm"
)

// The connections and edges of the schema.
type (
	CloudAccountConnection     = Connection[*team.Account]
	CloudAccountEdge           = Edge[*team.Account]
	OperationConnection        = Connection[*operation.Operation]
	OperationEdge              = Edge[*operation.Operation]
	ProjectConnection          = Connection[*project.Project]
	ProjectEdge                = Edge[*project.Project]
	ProjectComponentConnection = Connection[ProjectComponent]
	ProjectComponentEdge       = Edge[ProjectComponent]
	ProjectEventConnection     = Connection[ProjectEvent]
	ProjectEventEdge           = Edge[ProjectEvent]
	SystemLogConnection        = Connection[syslog.Line]
	SystemLogEdge              = Edge[syslog.Line]
	TeamMemberConnection       = Connection[*team.Member]
	TeamMemberEdge             = Edge[*team.Member]
	VirtualMachineConnection   = Connection[*vm.VM]
	VirtualMachineEdge         = Edge[*vm.VM]
)

// Connection is a page of a list, as Relay has it.
type Connection[T any] struct {
	// Nodes and Edges hold the same items, in the order of the list.
	Nodes    []T
	Edges    []Edge[T]
	PageInfo PageInfo
	count    Count
}

// Edge is an item and its place in the list.
type Edge[T any] struct {
	Cursor page.Cursor
	Node   T
}

// PageInfo says where a page stands in its list. The cursors are nil on an empty
// page.
type PageInfo struct {
	HasNextPage, HasPreviousPage bool
	StartCursor, EndCursor       *page.Cursor
}

// Count counts a whole list. It is asked only when a client asks for it.
type Count func(ctx context.Context) (int, error)

// NewConnection makes a connection of a page. count is nil for a list that the
// schema gives no total.
func NewConnection[T any](p page.Page[T], cursor func(T) page.Cursor, count Count) *Connection[T] {
	c := &Connection[T]{
		Nodes: p.Items, Edges: make([]Edge[T], len(p.Items)), count: count,
		PageInfo: PageInfo{HasNextPage: p.HasNext, HasPreviousPage: p.HasPrevious},
	}
	if c.Nodes == nil {
		c.Nodes = []T{} // an empty list, not null
	}
	for i, item := range p.Items {
		c.Edges[i] = Edge[T]{Cursor: cursor(item), Node: item}
	}
	if n := len(c.Edges); n > 0 {
		c.PageInfo.StartCursor, c.PageInfo.EndCursor = &c.Edges[0].Cursor, &c.Edges[n-1].Cursor
	}
	return c
}

// TotalCount counts the whole list.
func (c *Connection[T]) TotalCount(ctx context.Context) (int, error) { return c.count(ctx) }
