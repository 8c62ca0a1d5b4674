// Package schema holds the contract of the API, in *.graphqls files by noun, and
// reads them as one schema.
//
// It must know nothing but the text: what fields mean to the product is said in
// their descriptions and done by package graph.
package schema

import (
	"embed"
	"fmt"
	"io/fs"
	"slices"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
)

//go:embed *.graphqls
var files embed.FS

// generationDirective steers the code generator. Clients never see it.
const generationDirective = "goField"

// Load reads the whole schema as clients see it: merged, and without what only
// the code generator needs. Each call makes a schema of its own.
func Load() (*ast.Schema, error) {
	names, err := fs.Glob(files, "*.graphqls")
	if err != nil {
		return nil, fmt.Errorf("list schema files: %w", err)
	}
	sources := make([]*ast.Source, len(names))
	for i, name := range names {
		text, err := files.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read schema: %w", err)
		}
		sources[i] = &ast.Source{Name: name, Input: string(text)}
	}
	merged, err := gqlparser.LoadSchema(sources...)
	if err != nil {
		return nil, fmt.Errorf("read schema: %w", err)
	}
	strip(merged)
	return merged, nil
}

// strip takes the generator's directive out, with all its uses.
func strip(s *ast.Schema) {
	delete(s.Directives, generationDirective)
	for _, definition := range s.Types {
		for _, field := range definition.Fields {
			field.Directives = slices.DeleteFunc(field.Directives, func(d *ast.Directive) bool {
				return d.Name == generationDirective
			})
		}
	}
}
