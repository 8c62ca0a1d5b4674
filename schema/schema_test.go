package schema_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2/ast"

	"biztraak.dev/vm/schema"
)

func TestEverythingIsDescribed(t *testing.T) {
	s, err := schema.Load()
	require.NoError(t, err)
	var missing []string
	note := func(description string, path ...string) {
		if strings.TrimSpace(description) == "" {
			missing = append(missing, strings.Join(path, "."))
		}
	}
	for name, d := range s.Types {
		if d.BuiltIn {
			continue
		}
		note(d.Description, name)
		for _, f := range d.Fields {
			if strings.HasPrefix(f.Name, "__") {
				continue
			}
			note(f.Description, name, f.Name)
			for _, a := range f.Arguments {
				note(a.Description, name, f.Name, a.Name)
			}
		}
		for _, v := range d.EnumValues {
			note(v.Description, name, v.Name)
		}
	}
	require.Empty(t, missing)
}

func TestGenerationDirectiveIsNotTold(t *testing.T) {
	s, err := schema.Load()
	require.NoError(t, err)
	require.NotContains(t, s.Directives, "goField")
	for name, d := range s.Types {
		for _, f := range d.Fields {
			require.Nil(t, f.Directives.ForName("goField"), "%s.%s", name, f.Name)
		}
	}
	require.NotNil(t, s.Types["DateTime"].Directives.ForName("specifiedBy"), "other directives stay")
}

// A mutation takes one input of its own name and answers a nullable payload of
// its own name with userErrors, so that one that fails does not take the others
// of the request with it.
func TestMutationsHaveOneForm(t *testing.T) {
	s, err := schema.Load()
	require.NoError(t, err)
	for _, f := range s.Mutation.Fields {
		if strings.HasPrefix(f.Name, "__") {
			continue
		}
		name := strings.ToUpper(f.Name[:1]) + f.Name[1:]
		require.Len(t, f.Arguments, 1, f.Name)
		require.Equal(t, name+"Input!", f.Arguments.ForName("input").Type.String())
		require.Equal(t, name+"Payload", f.Type.String())
		payload := s.Types[f.Type.Name()]
		require.Equal(t, "[UserError!]!", payload.Fields.ForName("userErrors").Type.String(), f.Name)
		takesKey := s.Types[name+"Input"].Fields.ForName("idempotencyKey") != nil
		require.Equal(t, takesKey, payload.Fields.ForName("replayed") != nil, f.Name)
	}
}

func TestRootFieldsAreNullable(t *testing.T) {
	s, err := schema.Load()
	require.NoError(t, err)
	for _, root := range []*ast.Definition{s.Query, s.Mutation, s.Subscription} {
		for _, f := range root.Fields {
			if !strings.HasPrefix(f.Name, "__") {
				require.False(t, f.Type.NonNull, "%s.%s", root.Name, f.Name)
			}
		}
	}
}
