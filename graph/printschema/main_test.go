package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
)

func printed(t *testing.T) string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, run(&out))
	return out.String()
}

func TestPrintedSchemaIsFresh(t *testing.T) {
	committed, err := os.ReadFile("../../schema.graphql")
	require.NoError(t, err)
	require.Equal(t, printed(t), string(committed), "run make schema")
}

func TestPrintedSchemaIsTheSameEachTime(t *testing.T) {
	require.Equal(t, printed(t), printed(t))
}

func TestPrintedSchemaIsASchema(t *testing.T) {
	text := printed(t)
	again, err := gqlparser.LoadSchema(&ast.Source{Name: "printed", Input: text})
	require.NoError(t, err)
	require.NotNil(t, again.Query.Fields.ForName("node"))
	require.NotContains(t, text, "goField")
	require.False(t, strings.HasPrefix(text, "\n"))
	require.Contains(t, text, "}\n\n\"\"\"\n")
}
