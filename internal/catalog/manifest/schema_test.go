package manifest_test

import (
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/catalog/manifest"
)

// node is the part of a JSON Schema that the format uses.
type node struct {
	Ref         string          `json:"$ref"`
	Type        string          `json:"type"`
	Enum        []string        `json:"enum"`
	Required    []string        `json:"required"`
	Properties  map[string]node `json:"properties"`
	Items       *node           `json:"items"`
	Defs        map[string]node `json:"$defs"`
	Closed      *bool           `json:"additionalProperties"`
	Description string          `json:"description"`
}

func readSchema(t *testing.T) node {
	t.Helper()
	var root node
	require.NoError(t, json.Unmarshal(manifest.Schema(), &root))
	return root
}

func TestSchemaAndTypesAgree(t *testing.T) {
	root := readSchema(t)
	seen := map[string]bool{}
	a := agreement{t: t, defs: root.Defs, seen: seen}
	for name, goType := range map[string]reflect.Type{
		"metadata":     reflect.TypeFor[manifest.Metadata](),
		"templateSpec": reflect.TypeFor[manifest.TemplateSpec](),
		"addOnSpec":    reflect.TypeFor[manifest.AddOnSpec](),
	} {
		a.compare(node{Ref: "#/$defs/" + name}, goType, name)
	}
	for name := range root.Defs {
		require.True(t, seen[name], "$defs/%s describes nothing in Go", name)
	}
}

func TestSchemaEnumsAreTheGoConstants(t *testing.T) {
	root := readSchema(t)
	require.Equal(t, []string{manifest.APIVersion}, root.Properties["apiVersion"].Enum)
	require.Equal(t, []string{string(manifest.KindTemplate), string(manifest.KindAddOn)}, root.Properties["kind"].Enum)
	var capabilities []string
	for _, c := range manifest.Capabilities() {
		capabilities = append(capabilities, string(c))
	}
	require.Equal(t, capabilities, root.Defs["capability"].Enum)
	var kinds []string
	for _, k := range manifest.ProviderKinds() {
		kinds = append(kinds, string(k))
	}
	require.ElementsMatch(t, kinds, names(root.Defs["baseImages"].Properties))
	path := root.Defs["runtimePath"].Properties
	require.Equal(t, []string{string(manifest.RuntimeTerminal), string(manifest.RuntimeIDE), string(manifest.RuntimeApp)}, path["kind"].Enum)
	require.Equal(t, []string{string(manifest.ProtocolHTTP), string(manifest.ProtocolWS)}, path["protocol"].Enum)
	require.Equal(t, []string{string(manifest.UnitRunning), string(manifest.UnitStopped)}, root.Defs["unit"].Properties["state"].Enum)
}

func TestSchemaIsTheCallersOwn(t *testing.T) {
	manifest.Schema()[0] = 'x'
	require.True(t, json.Valid(manifest.Schema()))
}

// agreement walks a schema and a Go type side by side.
type agreement struct {
	t    *testing.T
	defs map[string]node
	seen map[string]bool
}

func (a agreement) compare(schema node, goType reflect.Type, where string) {
	for schema.Ref != "" {
		name := strings.TrimPrefix(schema.Ref, "#/$defs/")
		a.seen[name] = true
		resolved, found := a.defs[name]
		require.True(a.t, found, "%s: %s", where, schema.Ref)
		schema = resolved
	}
	if goType.Kind() == reflect.Pointer {
		goType = goType.Elem()
	}
	switch schema.Type {
	case "object":
		require.NotNil(a.t, schema.Closed, "%s must say additionalProperties", where)
		require.False(a.t, *schema.Closed, "%s must refuse unknown fields", where)
		a.object(schema, goType, where)
	case "array":
		require.Equal(a.t, reflect.Slice, goType.Kind(), where)
		a.compare(*schema.Items, goType.Elem(), where+"[]")
	case "string":
		text := reflect.PointerTo(goType).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
		require.True(a.t, text || goType.Kind() == reflect.String, "%s is text but %s", where, goType)
	case "integer":
		require.Equal(a.t, reflect.Int, goType.Kind(), where)
	case "boolean":
		require.Equal(a.t, reflect.Bool, goType.Kind(), where)
	default:
		require.Fail(a.t, "unexpected type", "%s: %q", where, schema.Type)
	}
}

func (a agreement) object(schema node, goType reflect.Type, where string) {
	if goType.Kind() == reflect.Map {
		for name, property := range schema.Properties {
			a.compare(property, goType.Elem(), where+"."+name)
		}
		return
	}
	require.Equal(a.t, reflect.Struct, goType.Kind(), where)
	var fields, required []string
	for _, field := range reflect.VisibleFields(goType) {
		if field.Anonymous {
			continue
		}
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		fields = append(fields, name)
		if options != "omitempty" {
			required = append(required, name)
		}
		if property, found := schema.Properties[name]; found {
			a.compare(property, field.Type, where+"."+name)
		}
	}
	require.ElementsMatch(a.t, names(schema.Properties), fields, where)
	require.ElementsMatch(a.t, schema.Required, required, "%s: required is what Go always writes", where)
}

func names(properties map[string]node) []string {
	found := make([]string, 0, len(properties))
	for name := range properties {
		found = append(found, name)
	}
	slices.Sort(found)
	return found
}
