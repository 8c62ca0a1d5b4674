package operation_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/operation"
)

// claim queues an operation for the locks.
func (w *world) claim(locks ...operation.Lock) ident.ID {
	w.t.Helper()
	return w.enqueue("LOCK", func(n *operation.New) { n.Locks = locks })
}

func (w *world) release(id ident.ID) {
	w.t.Helper()
	require.NoError(w.t, w.writer.Write(w.t.Context(), func(tx *operation.Tx) error { return tx.Release(id) }))
}

// holders lists who is at a resource, "+" for those who hold it.
func (w *world) holders(resource ident.ID) []string {
	w.t.Helper()
	var out []string
	require.NoError(w.t, w.writer.Write(w.t.Context(), func(tx *operation.Tx) error {
		found, err := tx.Holders(resource)
		for _, h := range found {
			out = append(out, mark(h.OperationID, h.Granted))
		}
		return err
	}))
	return out
}

func mark(id ident.ID, granted bool) string {
	if granted {
		return "+" + string(id)
	}
	return string(id)
}

func TestLocksQueue(t *testing.T) {
	const x, s = operation.Exclusive, operation.Shared
	for _, c := range []struct {
		name  string
		modes []operation.Mode
		// held are those that hold the resource: at first, and after each holder
		// has let go in turn.
		held [][]int
	}{
		{"exclusive one by one", []operation.Mode{x, x, x}, [][]int{{0}, {1}, {2}}},
		{"shared together", []operation.Mode{s, s, s}, [][]int{{0, 1, 2}, {1, 2}, {2}}},
		{"shared wait for exclusive, then go together", []operation.Mode{x, s, s}, [][]int{{0}, {1, 2}, {2}}},
		{"exclusive waits for all shared", []operation.Mode{s, s, x}, [][]int{{0, 1}, {1}, {2}}},
		{"shared does not overtake a waiting exclusive", []operation.Mode{s, x, s}, [][]int{{0}, {1}, {2}}},
		{"grants stop at an exclusive", []operation.Mode{x, s, x, s}, [][]int{{0}, {1}, {2}, {3}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			var ids []ident.ID
			for _, m := range c.modes {
				ids = append(ids, w.claim(operation.Lock{Resource: w.target, Mode: m}))
			}
			for gone, held := range c.held {
				var want []string
				for _, i := range held {
					want = append(want, mark(ids[i], true))
				}
				for i := gone; i < len(ids); i++ {
					if !slices.Contains(held, i) {
						want = append(want, mark(ids[i], false))
					}
				}
				require.Equal(t, want, w.holders(w.target), "after %d have let go", gone)
				w.release(ids[gone])
			}
			require.Empty(t, w.holders(w.target))
		})
	}
}

func TestAClaimWithoutQueueIsRefused(t *testing.T) {
	w := newWorld(t)
	w.enqueue("LOCK")
	err := w.writer.Write(t.Context(), func(tx *operation.Tx) error {
		_, err := tx.Enqueue(operation.New{
			Kind: "LOCK", TeamID: w.team, ProjectID: w.project, TargetID: w.target, ActorID: w.who.UserID,
			Locks: []operation.Lock{{Resource: w.target, Mode: operation.Shared}},
		})
		return err
	})
	require.ErrorContains(t, err, "held by")
	require.Equal(t, 1, query[int](w, "SELECT count(*) FROM operation"), "the refused one has left nothing")
}

// place is one claim in the model of a resource's queue.
type place struct {
	op      ident.ID
	mode    operation.Mode
	granted bool
}

// queueModel is what locks are meant to be: one queue a resource, whose head is
// as long as its claims go together.
type queueModel map[ident.ID][]place

func (m queueModel) regrant(r ident.ID) {
	for i := range m[r] {
		p := &m[r][i]
		for _, before := range m[r][:i] {
			if !before.granted || before.mode == operation.Exclusive || p.mode == operation.Exclusive {
				return
			}
		}
		p.granted = true
	}
}

func TestLocksFollowTheModel(t *testing.T) {
	w := newWorld(t)
	run := 0
	rapid.Check(t, func(r *rapid.T) {
		run++
		model := queueModel{}
		var resources []ident.ID
		for i := range 3 {
			resources = append(resources, ident.ID(fmt.Sprintf("res_%d_%d", run, i)))
		}
		var live []ident.ID
		for range rapid.IntRange(1, 12).Draw(r, "actions") {
			if len(live) > 0 && rapid.Bool().Draw(r, "release") {
				at := rapid.IntRange(0, len(live)-1).Draw(r, "which")
				id := live[at]
				live = slices.Delete(live, at, at+1)
				w.release(id)
				for _, res := range resources {
					model[res] = slices.DeleteFunc(model[res], func(p place) bool { return p.op == id })
					model.regrant(res)
				}
			} else {
				var locks []operation.Lock
				for _, res := range resources {
					if mode := rapid.SampledFrom([]operation.Mode{"", operation.Shared, operation.Exclusive}).Draw(r, "mode"); mode != "" {
						locks = append(locks, operation.Lock{Resource: res, Mode: mode})
					}
				}
				id := w.claim(locks...)
				live = append(live, id)
				for _, l := range locks {
					model[l.Resource] = append(model[l.Resource], place{op: id, mode: l.Mode})
					model.regrant(l.Resource)
				}
			}
			for _, res := range resources {
				var want []string
				for _, p := range model[res] {
					want = append(want, mark(p.op, p.granted))
				}
				require.Equal(r, want, w.holders(res))
			}
		}
	})
}
