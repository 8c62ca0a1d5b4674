// Command printschema prints the schema as clients see it: one file, in a fixed
// order, without what only the code generator needs. `make schema` writes it to
// schema.graphql.
package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/vektah/gqlparser/v2/formatter"

	"biztraak.dev/vm/schema"
)

func main() {
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "print schema:", err)
		os.Exit(1)
	}
}

func run(w io.Writer) error {
	merged, err := schema.Load()
	if err != nil {
		return err
	}
	var text strings.Builder
	formatter.NewFormatter(&text, formatter.WithIndent("  ")).FormatSchema(merged)
	_, err = io.WriteString(w, apart(text.String()))
	return err
}

// apart puts an empty line before each definition but the first. Definitions
// begin with a description that is not indented.
func apart(text string) string {
	const quotes = "\"\"\"\n"
	var out strings.Builder
	inside := false
	for line := range strings.Lines(text) {
		if line == quotes {
			if inside = !inside; inside && out.Len() > 0 {
				out.WriteString("\n")
			}
		}
		out.WriteString(line)
	}
	return out.String()
}
