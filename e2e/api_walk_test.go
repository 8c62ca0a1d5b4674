package e2e_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/app"
	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/transport/wsclient"
)

// levels is how deep the walk looks into what a field answers.
const levels = 2

func nextMonth() string { return time.Now().Add(30 * 24 * time.Hour).UTC().Format(time.RFC3339) }

// TestSchemaWalk calls every field of the three roots in every way in which it
// must not work, and then in the one in which it must.
func TestSchemaWalk(t *testing.T) {
	t.Parallel()
	docs, fixtures := loadDocuments(t), fixtures()
	e := newEstate(t, app.Roles{Serve: true})
	named := map[string]bool{}
	for _, r := range docs.roots() {
		named[r.String()] = true
		t.Run(r.String(), func(t *testing.T) {
			f, ok := fixtures[r.String()]
			require.True(t, ok, "the walk has no fixture for %s", r)
			w := &walk{estate: e.in(t), root: r, docs: docs, document: docs.operation(r, levels), fixture: f}
			w.variables = f.variables(w.estate)
			w.run()
		})
	}
	for name := range fixtures {
		require.True(t, named[name], "the schema has no %s any more", name)
	}
}

// walk is the calls of one root field.
type walk struct {
	*estate
	root      root
	docs      documents
	document  string
	fixture   fixture
	variables object
}

func (w *walk) run() {
	w.refusesNobody()
	for _, p := range w.docs.places(w.root, w.variables) {
		if p.typ.Name() == "ID" && p.typ.Elem == nil {
			w.hidesOthers(p)
			w.refusesMalformed(p)
		}
	}
	w.byRole(w.viewer.bearer, w.fixture.viewer)
	w.freshIfSpent()
	w.byRole(w.ceiling, w.fixture.ceiling)
	w.freshIfSpent()
	w.succeeds(w.owner.bearer)
}

// freshIfSpent makes what is needed anew where a call before has succeeded.
func (w *walk) freshIfSpent() {
	if w.root.operation == "mutation" {
		w.variables = w.fixture.variables(w.estate)
	}
}

// once calls the field and answers the body of the response, or the messages of
// the stream up to its end or its first value.
func (w *walk) once(bearer string, variables object) apiReply {
	if w.root.operation != "subscription" {
		return w.call(bearer, w.document, variables)
	}
	u := w.subscribe(w.dial(bearer), w.document, variables)
	raw, err := u.raw()
	var refused *wsclient.OperationError
	if errors.As(err, &refused) {
		raw = json.RawMessage(`{"errors":` + string(refused.Errors) + `}`)
	} else {
		require.NoError(w.t, err)
	}
	out := apiReply{status: http.StatusOK, body: string(raw)}
	require.NoError(w.t, json.Unmarshal(raw, &out))
	if out.Errors == nil && out.Data[w.root.Name] == nil {
		_, err := u.raw()
		require.ErrorIs(w.t, err, wsclient.ErrComplete, "null is the end of the stream")
	}
	require.NoError(w.t, u.stream.Stop())
	return out
}

func (w *walk) refusesNobody() {
	if w.root.operation == "subscription" {
		_, err := wsclient.Dial(w.ctx, w.url, "")
		var closed *wsclient.CloseError
		require.ErrorAs(w.t, err, &closed)
		require.Equal(w.t, 4403, closed.Code)
		return
	}
	for _, bearer := range []string{"", "bzt_nobody"} {
		a := w.call(bearer, w.document, w.variables)
		require.Equal(w.t, http.StatusUnauthorized, a.status, a.body)
		require.Equal(w.t, "UNAUTHENTICATED", a.Errors[0].Extensions.Code)
	}
}

// hidesOthers asks for what is somebody else's, for what does not exist and for
// what is something else: nobody can tell the three apart.
func (w *walk) hidesOthers(p place) {
	own := ident.ID(fmt.Sprint(at(w.variables, p.path)))
	ids := map[string]string{
		"somebody else's": w.foreign[own.Kind()],
		"random":          newID(own.Kind()),
		"of another kind": w.otherKind(own.Kind(), w.root.Name == "node" || w.root.Name == "nodes"),
	}
	require.NotEmpty(w.t, ids["somebody else's"], "the stranger has no %s", own.Kind())
	seen := map[string]string{}
	for what, id := range ids {
		a := w.once(w.owner.bearer, with(w.variables, p.path, id))
		require.Empty(w.t, a.Errors, a.body)
		seen[what] = strings.ReplaceAll(a.body, id, "(the id)")
		switch {
		case w.root.operation == "mutation":
			require.Equal(w.t, []string{"NOT_FOUND " + p.String()}, a.refused(w.t, w.root.Name), "%s, %s", what, a.body)
		case w.root.Name == "nodes":
			require.Nil(w.t, dig(a.Data, w.root.Name, p.path[len(p.path)-1]), what)
		default:
			require.Nil(w.t, a.Data[w.root.Name], what)
		}
	}
	require.Equal(w.t, seen["random"], seen["somebody else's"])
	require.Equal(w.t, seen["random"], seen["of another kind"])
}

// malformed are texts that are no ids.
func malformed(own string) []string {
	return []string{"", "x", own + "a", own[:len(own)-1], strings.ToUpper(own), own + "\x00", "' OR 1=1 --", "vm_" + strings.Repeat("z", 26)}
}

func (w *walk) refusesMalformed(p place) {
	for _, id := range malformed(fmt.Sprint(at(w.variables, p.path))) {
		w.trace.take()
		a := w.once(w.owner.bearer, with(w.variables, p.path, id))
		require.NotEmpty(w.t, a.Errors, "%q: %s", id, a.body)
		require.Equal(w.t, "BAD_REQUEST", a.Errors[0].Extensions.Code, "%q: %s", id, a.body)
		require.Empty(w.t, w.trace.take(), "%q was looked for", id)
	}
}

// byRole calls with the least role: reads succeed, mutations are refused.
func (w *walk) byRole(bearer string, want *string) {
	if w.root.operation != "mutation" || want != nil && *want == "" {
		w.succeeds(bearer)
		return
	}
	a := w.once(bearer, w.variables)
	require.Empty(w.t, a.Errors, a.body)
	got := a.refusals(w.t, w.root.Name)
	require.Len(w.t, got, 1, a.body)
	if want == nil {
		require.Equal(w.t, "FORBIDDEN", got[0].Code, a.body)
		return
	}
	require.Equal(w.t, *want, got[0].at())
}

func (w *walk) succeeds(bearer string) {
	a := w.once(bearer, w.variables)
	require.Empty(w.t, a.Errors, a.body)
	require.NotNil(w.t, a.Data[w.root.Name], a.body)
	require.Empty(w.t, a.refusals(w.t, w.root.Name), a.body)
}

// at is the value at a path.
func at(in object, path []any) any { return dig(in, path...) }
