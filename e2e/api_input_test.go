package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/app"
)

// badInput is a value that a field must refuse.
type badInput struct {
	name  string
	value any
	// code is what it is refused with; a top-level BAD_REQUEST or a validation
	// error when it is no value of the field's type at all.
	code string
	// under is added to the path, for an element of a list.
	under string
}

const notOfItsType = ""

// badTexts hold what no name and no key may.
func badTexts(code string, longest int) []badInput {
	return []badInput{
		{name: "NUL", value: "a\x00b", code: code}, {name: "bell", value: "a\ab", code: code},
		{name: "newline", value: "a\nb", code: code}, {name: "delete", value: "a\x7fb", code: code},
		{name: "zero-width space", value: "a\u200bb", code: code}, {name: "byte order mark", value: "\ufeffa", code: code},
		{name: "right-to-left override", value: "a\u202eb", code: code}, {name: "isolate", value: "a\u2066b", code: code},
		{name: "line separator", value: "a\u2028b", code: code},
		{name: "too long", value: strings.Repeat("x", longest+1), code: code},
		{name: "huge", value: strings.Repeat("x", 100_000), code: code},
		{name: "empty", value: "", code: code},
		{name: "a number", value: 7, code: notOfItsType}, {name: "an object", value: object{}, code: notOfItsType},
	}
}

// badNames are badTexts and what only names may not be.
func badNames(longest int) []badInput {
	return append(badTexts("NAME_INVALID", longest),
		badInput{name: "blank", value: "   ", code: "NAME_INVALID"},
		badInput{name: "no-break space", value: "\u00a0", code: "NAME_INVALID"},
		badInput{name: "space in front", value: " a", code: "NAME_INVALID"},
		badInput{name: "space behind", value: "a ", code: "NAME_INVALID"},
		badInput{name: "tab", value: "a\tb", code: "NAME_INVALID"},
		badInput{name: "null", value: nil, code: notOfItsType})
}

// badAmounts are no amounts that a machine can have.
func badAmounts() []badInput {
	out := []badInput{{name: "zero", value: 0, code: "INPUT_INVALID"}}
	for _, text := range []string{"", " ", "-1", "1e999", "NaN", "Infinity", "0x10", "999999999999999999999Ti", "1.2.3", "1\x00", "many"} {
		out = append(out, badInput{name: fmt.Sprintf("%q", text), value: text, code: notOfItsType})
	}
	return append(out,
		badInput{name: "negative", value: -1, code: notOfItsType},
		badInput{name: "absurd", value: int64(1) << 52, code: notOfItsType},
		badInput{name: "above all numbers", value: 1e30, code: notOfItsType},
		badInput{name: "a fraction", value: 1.5, code: notOfItsType},
		badInput{name: "true", value: true, code: notOfItsType})
}

// badVersions are no versions that anything can have.
func badVersions() []badInput {
	return []badInput{
		{name: "another", value: 99, code: "STALE_VERSION"}, {name: "zero", value: 0, code: "STALE_VERSION"},
		{name: "negative", value: -1, code: "STALE_VERSION"}, {name: "largest", value: 1<<31 - 1, code: "STALE_VERSION"},
		{name: "too large", value: int64(1) << 31, code: notOfItsType}, {name: "text", value: "1", code: notOfItsType},
		{name: "a fraction", value: 1.5, code: notOfItsType},
	}
}

func badMoments() []badInput {
	return []badInput{
		{name: "past", value: "2001-01-01T00:00:00Z", code: "INPUT_INVALID"},
		{name: "far away", value: "9999-12-31T23:59:59Z", code: "INPUT_INVALID"},
		{name: "without offset", value: "2030-01-01T00:00:00", code: notOfItsType},
		{name: "no such day", value: "2030-02-30T00:00:00Z", code: notOfItsType},
		{name: "year 0", value: "0000-01-01T00:00:00Z", code: notOfItsType},
		{name: "empty", value: "", code: notOfItsType}, {name: "a number", value: 7, code: notOfItsType},
	}
}

func badAddOns(e *estate) []badInput {
	docker := e.addOns["docker"]
	many := make([]any, 101)
	for i := range many {
		many[i] = docker
	}
	return []badInput{
		{name: "twice", value: []any{docker, docker}, code: "INPUT_INVALID", under: ".1"},
		{name: "101", value: many, code: "INPUT_INVALID"},
		{name: "null inside", value: []any{nil}, code: notOfItsType},
	}
}

// badChoices are no values of an enum.
func badChoices(known string) []badInput {
	return []badInput{
		{name: "unknown", value: "KING", code: notOfItsType}, {name: "small letters", value: strings.ToLower(known), code: notOfItsType},
		{name: "empty", value: "", code: notOfItsType}, {name: "a number", value: 1, code: notOfItsType},
	}
}

// badValues are what the field at the place must refuse; nil for an id, which
// the walk sees to, and for what takes anything of its type.
func badValues(e *estate, r root, p place) []badInput {
	const longestTitle, longestComponent, longestKey, longestSecret = 80, 63, 100, 4096
	name, _ := p.path[len(p.path)-1].(string)
	switch {
	case name == "name" && strings.HasSuffix(r.Name, "VirtualMachine"):
		return append(badNames(longestComponent), badInput{name: "not ASCII", value: "naïve", code: "NAME_INVALID"},
			badInput{name: "dash in front", value: "-a", code: "NAME_INVALID"},
			badInput{name: "slash", value: "a/b", code: "NAME_INVALID"})
	case name == "name":
		return badNames(longestTitle)
	case name == "idempotencyKey":
		return badTexts("INPUT_INVALID", longestKey)
	case name == "expectedVersion":
		return badVersions()
	case p.typ.Name() == "MilliCpu", p.typ.Name() == "ByteSize":
		return badAmounts()
	case p.typ.Name() == "DateTime":
		return badMoments()
	case name == "addOnIds":
		return badAddOns(e)
	case name == "token":
		return []badInput{
			{name: "too long", value: strings.Repeat("x", longestSecret+1), code: "INPUT_INVALID"},
			{name: "rejected", value: "reject", code: "CREDENTIALS_REJECTED", under: "-"},
			{name: "null", value: nil, code: notOfItsType},
		}
	case name == "simulator":
		return []badInput{{name: "null", value: nil, code: "INPUT_INVALID", under: "-"}}
	case name == "region", name == "size":
		return badTexts("INPUT_INVALID", 0)
	}
	if def := e.enum(p); def != "" {
		return badChoices(def)
	}
	return nil
}

// enum is a value of the enum at the place; empty when it is no enum.
func (e *estate) enum(p place) string {
	def := loadDocuments(e.t).schema.Types[p.typ.Name()]
	if p.typ.Elem != nil || len(def.EnumValues) == 0 {
		return ""
	}
	return def.EnumValues[0].Name
}

// path is where the refusal of a value is to point: the field, an element of it,
// or with "-" what holds it.
func (b badInput) path(p place) string {
	if b.under == "-" {
		return place{path: p.path[:len(p.path)-1]}.String()
	}
	return p.String() + b.under
}

// TestBadInput gives every field of every mutation what it must not take, one
// field at a time: each is refused with a code, at the field, and nothing is
// written. What takes no such value is in the table of exceptions.
func TestBadInput(t *testing.T) {
	t.Parallel()
	docs, fixtures := loadDocuments(t), fixtures()
	fixtures["Mutation.provisionVirtualMachine"] = fixture{variables: func(e *estate) object {
		return input(object{
			"virtualMachineId": e.vm(e.owner, e.project(e.owner, e.team)), "cloudAccountId": e.account,
			"idempotencyKey": e.name("key"), "region": "x", "size": "x",
		})
	}}
	e := newEstate(t, app.Roles{Serve: true})
	for _, r := range docs.roots() {
		if r.operation != "mutation" {
			continue
		}
		t.Run(r.Name, func(t *testing.T) {
			e := e.in(t)
			variables := fixtures[r.String()].variables(e)
			if r.Name == "provisionVirtualMachine" {
				variables = provisionable(e, variables)
			}
			document := docs.operation(r, levels)
			for _, p := range docs.places(r, variables) {
				for _, bad := range badValues(e, r, p) {
					t.Run(p.String()+" "+bad.name, func(t *testing.T) {
						e.in(t).refusesValue(r, document, with(variables, p.path, bad.value), bad, p)
					})
				}
			}
			e.refusesAllAtOnce(r, document, docs, variables)
		})
	}
}

// provisionable gives a provision a region and a size that there are.
func provisionable(e *estate, variables object) object {
	e.t.Helper()
	plan := dig(e.must(e.owner.bearer, `mutation($v: ID!, $a: ID!) { provisionVirtualMachine(input: {
		virtualMachineId: $v, cloudAccountId: $a, dryRun: true }) { plan { region size } userErrors { code message } } }`,
		object{"v": dig(variables, "input", "virtualMachineId"), "a": e.account}), "provisionVirtualMachine", "plan")
	for _, name := range []string{"region", "size"} {
		variables = with(variables, []any{"input", name}, text(e.t, plan, name))
	}
	return variables
}

func (e *estate) refusesValue(r root, document string, variables object, bad badInput, p place) {
	e.t.Helper()
	before := e.rows()
	a := e.call(e.owner.bearer, document, variables)
	if bad.code == notOfItsType {
		require.NotEmpty(e.t, a.Errors, a.body)
		require.Contains(e.t, []string{"BAD_REQUEST", "GRAPHQL_VALIDATION_FAILED"}, a.Errors[0].Extensions.Code, a.body)
	} else {
		require.Empty(e.t, a.Errors, a.body)
		require.Contains(e.t, a.refused(e.t, r.Name), bad.code+" "+bad.path(p), a.body)
		require.Len(e.t, a.refusals(e.t, r.Name), 1, "one cause is told once: %s", a.body)
	}
	require.NotContains(e.t, a.body, "INTERNAL")
	require.Equal(e.t, before, e.rows(), "something was written")
}

// refusesAllAtOnce makes every field that has a form wrong in one call, and
// finds all of them in the answer.
func (e *estate) refusesAllAtOnce(r root, document string, docs documents, variables object) {
	e.t.Helper()
	var want []string
	for _, p := range docs.places(r, variables) {
		for _, bad := range badValues(e, r, p) {
			if bad.code == "NAME_INVALID" || bad.code == "INPUT_INVALID" && isForm(p) {
				variables = with(variables, p.path, bad.value)
				want = append(want, bad.code+" "+bad.path(p))
				break
			}
		}
	}
	if len(want) < 2 {
		return // nothing to be told together
	}
	before := e.rows()
	a := e.call(e.owner.bearer, document, variables)
	require.Empty(e.t, a.Errors, a.body)
	require.ElementsMatch(e.t, want, a.refused(e.t, r.Name), a.body)
	require.Equal(e.t, before, e.rows(), "something was written")
}

// isForm says whether the field is judged by itself, in the first stage.
func isForm(p place) bool {
	name, _ := p.path[len(p.path)-1].(string)
	return name == "idempotencyKey" || name == "cpu" || name == "memory" || name == "disk" || name == "expiresAt"
}
