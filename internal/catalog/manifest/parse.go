package manifest

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// MaxSize is the size in bytes of the largest document that [Parse] reads.
const MaxSize = 256 << 10

// Parse reads one manifest and checks its form against the schema. Everything
// that is wrong is in one [*Error], with the line of each problem; any other
// error is a fault of this program. The rules for publishing are [Check].
//
// YAML is read as plain data by the rules that it shares with JSON: anchors,
// aliases, merge keys and tags are refused, and so are duplicate keys and
// unquoted values that readers of YAML understand differently.
func Parse(text []byte) (Manifest, error) {
	if len(text) > MaxSize {
		return Manifest{}, refuse(Problem{
			Code:    CodeTooLarge,
			Message: fmt.Sprintf("the document has %d bytes, more than %d", len(text), MaxSize),
		})
	}
	t := readTree(text)
	if len(t.problems) == 0 || t.root != nil {
		found, err := t.againstSchema()
		if err != nil {
			return Manifest{}, err
		}
		t.problems = append(t.problems, found...)
	}
	if len(t.problems) > 0 {
		return Manifest{}, refuse(t.problems...)
	}
	data, err := json.Marshal(t.root)
	if err != nil {
		return Manifest{}, fmt.Errorf("encode manifest: %w", err)
	}
	var parsed Manifest
	if err := json.Unmarshal(data, &parsed); err != nil {
		return Manifest{}, fmt.Errorf("decode manifest: %w", err)
	}
	return parsed, nil
}

// againstSchema returns what the schema finds, except at values that could not
// be read in the first place: no cause is told twice.
func (t *tree) againstSchema() ([]Problem, error) {
	schema, err := compiledSchema()
	if err != nil {
		return nil, err
	}
	err = schema.Validate(t.root)
	if err == nil {
		return nil, nil
	}
	var failure *jsonschema.ValidationError
	if !errors.As(err, &failure) {
		return nil, fmt.Errorf("validate manifest: %w", err)
	}
	unreadable := make(map[string]bool, len(t.problems))
	for _, problem := range t.problems {
		unreadable[pathKey(problem.Path)] = true
	}
	var fresh []Problem
	for _, problem := range schemaProblems(failure) {
		if !unreadable[pathKey(problem.Path)] {
			problem.Line = t.line(problem.Path)
			fresh = append(fresh, problem)
		}
	}
	return fresh, nil
}
