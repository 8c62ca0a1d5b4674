package manifest

import (
	"bytes"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

//go:embed manifest.schema.json
var schemaText []byte

// Schema returns the published JSON Schema (draft 2020-12) of the format. The
// bytes are the caller's own.
func Schema() []byte {
	return slices.Clone(schemaText)
}

// compiledSchema compiles the embedded schema once. It reads nothing but the
// embedded bytes, so every caller gets the same answer.
var compiledSchema = sync.OnceValues(func() (*jsonschema.Schema, error) {
	const address = "manifest.schema.json"
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(schemaText))
	if err != nil {
		return nil, fmt.Errorf("read manifest schema: %w", err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource(address, document); err != nil {
		return nil, fmt.Errorf("add manifest schema: %w", err)
	}
	schema, err := compiler.Compile(address)
	if err != nil {
		return nil, fmt.Errorf("compile manifest schema: %w", err)
	}
	return schema, nil
})

// schemaProblems flattens the validator's tree of causes into problems at the
// values themselves.
func schemaProblems(failure *jsonschema.ValidationError) []Problem {
	return appendCauses(nil, failure, message.NewPrinter(language.English))
}

func appendCauses(problems []Problem, failure *jsonschema.ValidationError, printer *message.Printer) []Problem {
	// The causes of a failed oneOf are its branches, each of which is only
	// one of several ways to be right.
	_, choice := failure.ErrorKind.(*kind.OneOf)
	if len(failure.Causes) > 0 && !choice {
		for _, cause := range failure.Causes {
			problems = appendCauses(problems, cause, printer)
		}
		return problems
	}
	at := failure.InstanceLocation
	switch found := failure.ErrorKind.(type) {
	case *kind.OneOf:
		return append(problems, Problem{
			Code: CodeInvalidValue, Path: at,
			Message: "a step has exactly one of packages, files, units and run",
		})
	case *kind.Required:
		for _, name := range found.Missing {
			problems = append(problems, Problem{Code: CodeMissingField, Path: child(at, name), Message: "is required"})
		}
		return problems
	case *kind.AdditionalProperties:
		for _, name := range found.Properties {
			problems = append(problems, Problem{Code: CodeUnknownField, Path: child(at, name), Message: "the format has no such field here"})
		}
		return problems
	case *kind.Type:
		return append(problems, Problem{Code: CodeInvalidValue, Path: at, Message: typeMessage(found)})
	case *kind.Pattern:
		return append(problems, Problem{
			Code: CodeInvalidValue, Path: at,
			Message: fmt.Sprintf("%.80q does not have the form %s", found.Got, found.Want),
		})
	default:
		return append(problems, Problem{Code: CodeInvalidValue, Path: at, Message: failure.ErrorKind.LocalizedString(printer)})
	}
}

func typeMessage(found *kind.Type) string {
	want := strings.Join(found.Want, " or ")
	text := fmt.Sprintf("is of type %s, not %s", found.Got, want)
	if slices.Contains(found.Want, "string") && slices.Contains([]string{"number", "integer", "boolean"}, found.Got) {
		text += "; put it in quotes if it is text"
	}
	return text
}
