package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

const (
	// maxDepth is twice what the format ever needs.
	maxDepth = 16
	// maxValues is what a document may hold in fields and list items, some
	// times more than the largest sensible manifest: a document of the allowed
	// size can be a hundred thousand mistakes, each with a price.
	maxValues = 20_000
	// maxKey bounds a field name in bytes, so that no message repeats a
	// document's worth of text.
	maxKey = 100
)

// tree is a document as plain JSON values, with the line of each of them.
type tree struct {
	root     any
	lines    map[string]int
	problems []Problem
}

// size counts the fields and list items below a node, at most limit of them.
// Aliases count as one, as they are not followed.
func size(node *yaml.Node, limit int) int {
	count := len(node.Content)
	for _, child := range node.Content {
		if count >= limit {
			return limit
		}
		count += size(child, limit-count)
	}
	return count
}

// readTree turns the text into plain data. It looks at YAML nodes and never
// expands an alias, so a small document cannot become a large one.
func readTree(text []byte) *tree {
	t := &tree{lines: map[string]int{}}
	var document yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	if err := decoder.Decode(&document); err != nil {
		t.syntax(err)
		return t
	}
	var second yaml.Node
	if err := decoder.Decode(&second); err == nil {
		t.report(Problem{Code: CodeSyntax, Line: second.Line, Message: "there is a second document; a manifest is one document"})
	} else if !errors.Is(err, io.EOF) {
		t.syntax(err)
	}
	if size(&document, maxValues) >= maxValues {
		t.report(Problem{Code: CodeTooLarge, Message: fmt.Sprintf("the document holds %d values or more", maxValues)})
		return t
	}
	t.root = t.value(document.Content[0], nil)
	return t
}

var syntaxLine = regexp.MustCompile(`^line (\d+): `)

func (t *tree) syntax(err error) {
	if errors.Is(err, io.EOF) {
		t.report(Problem{Code: CodeSyntax, Message: "there is no document"})
		return
	}
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	line := 0
	if found := syntaxLine.FindStringSubmatch(message); found != nil {
		line, _ = strconv.Atoi(found[1]) // digits of a small text
		message = strings.TrimPrefix(message, found[0])
	}
	t.report(Problem{Code: CodeSyntax, Line: line, Message: "not YAML: " + message})
}

func (t *tree) report(problem Problem) {
	t.problems = append(t.problems, problem)
}

// line finds where the value at path stands, or else what holds it.
func (t *tree) line(path []string) int {
	for length := len(path); length >= 0; length-- {
		if line, found := t.lines[pathKey(path[:length])]; found {
			return line
		}
	}
	return 0
}

func pathKey(path []string) string {
	return strings.Join(path, "\x00")
}

func (t *tree) value(node *yaml.Node, path []string) any {
	if key := pathKey(path); t.lines[key] == 0 {
		t.lines[key] = node.Line
	}
	if len(path) > maxDepth {
		t.report(Problem{Code: CodeNesting, Path: path, Line: node.Line, Message: "nested deeper than the format ever is"})
		return nil
	}
	if !t.plain(node, path) {
		return nil
	}
	switch node.Kind {
	case yaml.MappingNode:
		return t.mapping(node, path)
	case yaml.SequenceNode:
		list := make([]any, 0, len(node.Content))
		for i, item := range node.Content {
			list = append(list, t.value(item, child(path, strconv.Itoa(i))))
		}
		return list
	default:
		value, reason := scalarValue(node)
		if reason != "" {
			t.report(Problem{Code: CodeAmbiguous, Path: path, Line: node.Line, Message: fmt.Sprintf("%.40q %s", node.Value, reason)})
		}
		// The database's JSON cannot hold it, and no file or script needs it.
		if strings.ContainsRune(node.Value, 0) {
			t.report(Problem{Code: CodeInvalidValue, Path: path, Line: node.Line, Message: "has a NUL character"})
		}
		return value
	}
}

// plain reports what is more than data: names for nodes and tags.
func (t *tree) plain(node *yaml.Node, path []string) bool {
	message := ""
	switch {
	case node.Kind == yaml.AliasNode || node.Anchor != "":
		message = "anchors and aliases are not read: write the value out"
	case node.Style&yaml.TaggedStyle != 0:
		message = fmt.Sprintf("the tag %.40q is not read: write plain data", node.Tag)
	default:
		return true
	}
	t.report(Problem{Code: CodeNotPlainData, Path: path, Line: node.Line, Message: message})
	return false
}

func (t *tree) mapping(node *yaml.Node, path []string) map[string]any {
	fields := make(map[string]any, len(node.Content)/2)
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		if !t.plain(key, path) {
			continue
		}
		if message := keyFault(key); message != "" {
			t.report(Problem{Code: CodeInvalidValue, Path: path, Line: key.Line, Message: message})
			continue
		}
		below := child(path, key.Value)
		if _, twice := fields[key.Value]; twice {
			t.report(Problem{
				Code: CodeDuplicateKey, Path: below, Line: key.Line,
				Message: fmt.Sprintf("stands a second time; the first is in line %d", t.line(below)),
			})
			continue
		}
		t.lines[pathKey(below)] = key.Line
		fields[key.Value] = t.value(value, below)
	}
	return fields
}

func keyFault(key *yaml.Node) string {
	switch {
	case key.Kind != yaml.ScalarNode:
		return "a field name must be text"
	case len(key.Value) > maxKey:
		return fmt.Sprintf("a field name of %d bytes; the format has none over %d", len(key.Value), maxKey)
	case strings.ContainsRune(key.Value, 0):
		return "a field name with a NUL character"
	case key.Value == "<<":
		return "merge keys are not read: write the fields out"
	default:
		return ""
	}
}

// child extends path without sharing its memory: problems keep their paths.
func child(path []string, name string) []string {
	return append(path[:len(path):len(path)], name)
}
