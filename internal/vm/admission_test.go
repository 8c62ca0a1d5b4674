package vm

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/operation"
)

var allStatuses = []Status{Pending, Provisioning, Running, Stopping, Stopped, Starting, Failed, Lost, Deleting, Deleted}

var allKinds = []operation.Kind{operation.Provision, operation.Start, operation.Stop, operation.Restart, operation.Destroy}

// TestAdmitBesideAHolder is the matrix kind × kind: what becomes of a wish while
// the holder runs, and while it is on its way out. The status does not matter.
func TestAdmitBesideAHolder(t *testing.T) {
	const p, a, o, r, d = operation.Provision, operation.Start, operation.Stop, operation.Restart, operation.Destroy
	for _, c := range []struct {
		wish, holder    operation.Kind
		force           bool
		plain, canceled verdict
	}{
		{p, p, false, busy, busy},
		{p, a, false, busy, busy},
		{p, o, false, busy, busy},
		{p, r, false, busy, busy},
		{p, d, false, busy, busy},

		{a, p, false, busy, busy},
		{a, a, false, answerOperation, busy},
		{a, o, false, busy, busy},
		{a, r, false, answerOperation, busy},
		{a, d, false, busy, busy},

		{o, p, false, busy, busy},
		{o, a, false, busy, busy},
		{o, o, false, answerOperation, busy},
		{o, r, false, busy, busy},
		{o, d, false, busy, busy},

		{o, p, true, busy, busy},
		{o, a, true, acceptAfterCancel, busy},
		{o, o, true, answerOperation, busy},
		{o, r, true, acceptAfterCancel, busy},
		{o, d, true, busy, busy},

		{r, p, false, busy, busy},
		{r, a, false, busy, busy},
		{r, o, false, busy, busy},
		{r, r, false, busy, busy},
		{r, d, false, busy, busy},

		{d, p, false, acceptAfterCancel, acceptAfterCancel},
		{d, a, false, acceptAfterCancel, acceptAfterCancel},
		{d, o, false, acceptAfterCancel, acceptAfterCancel},
		{d, r, false, acceptAfterCancel, acceptAfterCancel},
		{d, d, false, answerOperation, acceptAfterCancel},
	} {
		name := fmt.Sprintf("%s beside %s", c.wish, c.holder)
		if c.force {
			name = "forced " + name
		}
		t.Run(name, func(t *testing.T) {
			h := operation.Holder{OperationID: "op_h", Kind: c.holder, Mode: operation.Exclusive, Granted: true}
			leaving := h
			leaving.CancelRequested = true
			for _, s := range allStatuses {
				require.Equal(t, decision{c.plain, "op_h", c.holder}, admit(c.wish, s, []operation.Holder{h}, c.force), "%s", s)
				require.Equal(t, decision{c.canceled, "op_h", c.holder}, admit(c.wish, s, []operation.Holder{leaving}, c.force), "%s, on its way out", s)
			}
		})
	}
}

// TestAdmitIdle is the matrix kind × status when nothing holds the provider.
func TestAdmitIdle(t *testing.T) {
	rest := func(except map[Status]verdict, others verdict) map[Status]verdict {
		out := map[Status]verdict{}
		for _, s := range allStatuses {
			out[s] = others
		}
		for s, v := range except {
			out[s] = v
		}
		return out
	}
	for _, c := range []struct {
		kind operation.Kind
		want map[Status]verdict
	}{
		{operation.Provision, rest(map[Status]verdict{Failed: accept}, wrongStatus)},
		{operation.Start, rest(map[Status]verdict{Stopped: accept, Running: answerObject}, wrongStatus)},
		{operation.Stop, rest(map[Status]verdict{Running: accept, Stopped: answerObject}, wrongStatus)},
		{operation.Restart, rest(map[Status]verdict{Running: accept}, wrongStatus)},
		{operation.Destroy, rest(map[Status]verdict{Deleted: answerObject}, accept)},
	} {
		for _, s := range allStatuses {
			for _, force := range []bool{false, true} {
				require.Equal(t, decision{verdict: c.want[s]}, admit(c.kind, s, nil, force), "%s while %s", c.kind, s)
			}
		}
	}
}

func TestAdmitLooksAtTheNewestClaim(t *testing.T) {
	leaving := operation.Holder{OperationID: "op_1", Kind: operation.Start, Granted: true, CancelRequested: true}
	waiting := operation.Holder{OperationID: "op_2", Kind: operation.Stop}
	require.Equal(t, decision{answerOperation, "op_2", operation.Stop},
		admit(operation.Stop, Starting, []operation.Holder{leaving, waiting}, true), "two forced stops are one")
	require.Equal(t, acceptAfterCancel, admit(operation.Destroy, Starting, []operation.Holder{leaving, waiting}, false).verdict)
}

// Whatever is wished in whatever order: work begins at once only where nothing
// is, never twice, and a destroy is the last in every queue.
func TestAdmitNeverLetsTwoIn(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		var queue []operation.Holder
		for n := range rapid.IntRange(1, 40).Draw(r, "wishes") {
			if len(queue) > 0 && rapid.IntRange(0, 3).Draw(r, "end") == 0 {
				queue = queue[1:] // the holder ends, and the next is granted
				if len(queue) > 0 {
					queue[0].Granted = true
				}
				continue
			}
			kind := rapid.SampledFrom(allKinds).Draw(r, "kind")
			status := rapid.SampledFrom(allStatuses).Draw(r, "status")
			d := admit(kind, status, queue, rapid.Bool().Draw(r, "force"))
			switch d.verdict {
			case accept:
				require.Empty(r, queue, "accepted beside another")
			case acceptAfterCancel:
				require.NotEmpty(r, queue)
				require.Contains(r, []operation.Kind{operation.Destroy, operation.Stop}, kind)
				for i := range queue {
					queue[i].CancelRequested = queue[i].Kind != operation.Destroy
				}
			case answerOperation:
				require.True(r, slices.ContainsFunc(queue, func(h operation.Holder) bool { return h.OperationID == d.holder }))
				continue
			case answerObject, busy, wrongStatus:
				require.False(r, kind == operation.Destroy && d.verdict != answerObject, "a destroy was refused")
				continue
			}
			queue = append(queue, operation.Holder{
				OperationID: ident.ID(fmt.Sprintf("op_%d", n)), Kind: kind, Mode: operation.Exclusive, Granted: len(queue) == 0,
			})
			for i, h := range queue[:len(queue)-1] {
				require.NotEqual(r, operation.Destroy, h.Kind, "number %d of %d waits behind a destroy", len(queue), i)
			}
			require.LessOrEqual(r, len(queue), 3)
		}
	})
}

// Each verdict that refuses says why and what to do; the others say nothing.
func TestRefusalsOfVerdicts(t *testing.T) {
	for v, refusing := range map[verdict]bool{
		accept: false, answerObject: false, answerOperation: false, acceptAfterCancel: false, busy: true, wrongStatus: true,
	} {
		for _, k := range allKinds {
			for _, s := range allStatuses {
				got := decision{verdict: v, holder: "op_1", kind: operation.Start}.refusal(k, s, nil)
				require.Equal(t, refusing, len(got) == 1, "%v %s %s", v, k, s)
				if refusing {
					require.Regexp(t, `^.{20,}\.$`, got[0].Message)
				}
			}
		}
	}
}
