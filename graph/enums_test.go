package graph_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/schema"
)

// Enums of the schema are strings in Go. Whatever Go has a constant for must be
// in the schema, or an answer would hold a value that clients do not know; and
// what the schema promises, Go must be able to say.
func TestEnumsEqualTheirConstants(t *testing.T) {
	s, err := schema.Load()
	require.NoError(t, err)
	for _, c := range []struct{ enum, folder, goType string }{
		{"UserErrorCode", "fault", "Code"},
		{"OperationErrorCode", "operation", "ErrorCode"},
		{"OperationKind", "operation", "Kind"},
		{"OperationStatus", "operation", "Status"},
		{"OperationStepStatus", "operation", "StepStatus"},
		{"ProjectEventKind", "operation", "EventKind"},
		{"VirtualMachineProviderStatus", "vm", "Status"},
		{"ProviderAction", "vm", "Action"},
		{"Role", "auth", "Role"},
		{"SimulatorFault", "team", "SimulatorFault"},
		{"SystemLogSource", "syslog", "Source"},
		{"Capability", "catalog/manifest", "Capability"},
		{"RuntimePathKind", "catalog/manifest", "RuntimePathKind"},
	} {
		t.Run(c.enum, func(t *testing.T) {
			var values []string
			for _, v := range s.Types[c.enum].EnumValues {
				values = append(values, v.Name)
			}
			constants := constantsOf(t, filepath.Join("..", "internal", c.folder), c.goType)
			require.NotEmpty(t, constants)
			require.ElementsMatch(t, values, constants)
		})
	}
}

// constantsOf reads the values of all string constants of a type in a folder.
func constantsOf(t *testing.T, folder, goType string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	require.NoError(t, err)
	var out []string
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			if named, ok := spec.Type.(*ast.Ident); !ok || named.Name != goType {
				return true
			}
			for _, v := range spec.Values {
				if text, ok := v.(*ast.BasicLit); ok && text.Kind == token.STRING {
					value, err := strconv.Unquote(text.Value)
					require.NoError(t, err)
					out = append(out, value)
				}
			}
			return true
		})
	}
	slices.Sort(out)
	return out
}
