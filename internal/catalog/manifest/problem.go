package manifest

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Code tells problems of a manifest apart.
type Code string

// What [Parse] can find.
const (
	// CodeTooLarge: the document is larger than [MaxSize] or holds more values
	// than any sensible manifest.
	CodeTooLarge Code = "TOO_LARGE"
	// CodeSyntax: the text is not one YAML document.
	CodeSyntax Code = "SYNTAX"
	// CodeNesting: the document is nested deeper than the format ever is.
	CodeNesting Code = "NESTING"
	// CodeNotPlainData: an anchor, alias, merge key or tag; a manifest holds
	// plain data only.
	CodeNotPlainData Code = "NOT_PLAIN_DATA"
	// CodeDuplicateKey: a key stands twice in one mapping.
	CodeDuplicateKey Code = "DUPLICATE_KEY"
	// CodeAmbiguous: an unquoted value that YAML readers understand
	// differently.
	CodeAmbiguous Code = "AMBIGUOUS"
	// CodeUnknownField: the format has no such field.
	CodeUnknownField Code = "UNKNOWN_FIELD"
	// CodeMissingField: a required field is absent.
	CodeMissingField Code = "MISSING_FIELD"
	// CodeInvalidValue: a value is not of the form that the schema asks for.
	CodeInvalidValue Code = "INVALID_VALUE"
)

// What [Check] can find.
const (
	// CodeRuntimeRequired: managed deploy without a container runtime.
	CodeRuntimeRequired Code = "RUNTIME_REQUIRED"
	// CodeRouteInvalid: a reserved route out of form.
	CodeRouteInvalid Code = "ROUTE_INVALID"
	// CodeDuplicate: something that must be unique in an item stands twice.
	CodeDuplicate Code = "DUPLICATE"
	// CodeContradiction: the item contradicts itself.
	CodeContradiction Code = "CONTRADICTION"
	// CodeForbiddenPath: a file that would take the platform's way in, or
	// that is not a place for a file.
	CodeForbiddenPath Code = "FORBIDDEN_PATH"
	// CodeTimerTooLong: a default shutdown timer of more than 30 days.
	CodeTimerTooLong Code = "TIMER_TOO_LONG"
)

// Problem is one thing that is wrong with a manifest.
type Problem struct {
	Code Code
	// Path leads to the value: field names, and indexes from 0 as digits.
	// Empty is the whole document.
	Path []string
	// Line is where the value stands in the text, from 1; 0 where there is no
	// text.
	Line int
	// Message says what is wrong and what would be right.
	Message string
}

// String is "line 3: spec.applySteps[0].name: message", without what is
// unknown.
func (p Problem) String() string {
	var text strings.Builder
	if p.Line > 0 {
		fmt.Fprintf(&text, "line %d: ", p.Line)
	}
	for i, part := range p.Path {
		switch _, err := strconv.Atoi(part); {
		case err == nil:
			text.WriteString("[" + part + "]")
		case i > 0:
			text.WriteString("." + part)
		default:
			text.WriteString(part)
		}
	}
	if len(p.Path) > 0 {
		text.WriteString(": ")
	}
	text.WriteString(p.Message)
	return text.String()
}

// Error is a refused manifest with everything that is wrong with it, in the
// order of the text.
type Error struct {
	Problems []Problem
}

// Error lists all problems, one a line.
func (e *Error) Error() string {
	lines := make([]string, 0, len(e.Problems)+1)
	lines = append(lines, "manifest has "+strconv.Itoa(len(e.Problems))+" problem(s)")
	for _, problem := range e.Problems {
		lines = append(lines, problem.String())
	}
	return strings.Join(lines, "\n")
}

// maxProblems bounds the answer to a document that is wrong in each of its
// thousands of values.
const maxProblems = 100

func refuse(problems ...Problem) error {
	slices.SortFunc(problems, func(a, b Problem) int {
		return cmp.Or(
			cmp.Compare(a.Line, b.Line),
			slices.Compare(a.Path, b.Path),
			cmp.Compare(a.Code, b.Code),
			cmp.Compare(a.Message, b.Message),
		)
	})
	if more := len(problems) - maxProblems; more > 0 {
		problems = append(problems[:maxProblems:maxProblems], Problem{
			Code:    problems[maxProblems].Code,
			Line:    problems[maxProblems].Line,
			Message: fmt.Sprintf("%d more problems from here on", more),
		})
	}
	return &Error{Problems: problems}
}
