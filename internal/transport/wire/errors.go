package wire

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/vektah/gqlparser/v2/gqlerror"

	"biztraak.dev/vm/internal/fault"
)

// Codes of `extensions.code` that only the edge produces: the document never
// reached a resolver.
const (
	// ParseFailed marks text that is not a GraphQL document, or has too many tokens.
	ParseFailed fault.Top = "GRAPHQL_PARSE_FAILED"
	// ValidationFailed marks a document or variables that do not fit the schema.
	ValidationFailed fault.Top = "GRAPHQL_VALIDATION_FAILED"
	// ComplexityLimitExceeded marks a document that is too deep, too wide or too costly.
	ComplexityLimitExceeded fault.Top = "COMPLEXITY_LIMIT_EXCEEDED"
)

// What a refusal may weigh. A request error is an answer to something that was
// not run, so nothing is lost by cutting it, and a client cannot use the server
// to amplify what it sends: some validation messages quote the document.
const (
	// MaxErrors is the most errors that one refusal lists.
	MaxErrors = 10
	// maxErrorsBytes is the most bytes that the encoded list takes; with the
	// envelope of any transport the body stays below 4 KB.
	maxErrorsBytes  = 3 << 10
	maxMessageBytes = 300
	maxPathBytes    = 200
	maxExtraBytes   = 600
	maxLocations    = 2
)

// NewError makes an error with a code from the closed set.
func NewError(code fault.Top, format string, args ...any) *gqlerror.Error {
	return &gqlerror.Error{
		Message:    fmt.Sprintf(format, args...),
		Extensions: map[string]any{"code": string(code)},
	}
}

// CodeOf is the code that err carries, or "" when it has none.
func CodeOf(err *gqlerror.Error) fault.Top {
	if err == nil {
		return ""
	}
	code, _ := err.Extensions["code"].(string)
	return fault.Top(code)
}

// Bound cuts a list of request errors down to what a refusal may weigh. At
// least one error is always left; the given errors are not changed.
func Bound(list gqlerror.List) gqlerror.List {
	var out gqlerror.List
	size := len("[]")
	for _, err := range list {
		if err == nil {
			continue
		}
		if len(out) == MaxErrors {
			break
		}
		small := shrink(err)
		encoded, failed := json.Marshal(small)
		if failed != nil {
			small = NewError(CodeOf(err), "%s", small.Message)
			encoded, _ = json.Marshal(small)
		}
		size += len(encoded) + len(",")
		if size > maxErrorsBytes && len(out) > 0 {
			break
		}
		out = append(out, small)
	}
	return out
}

// shrink copies err with every part of a bounded size.
func shrink(err *gqlerror.Error) *gqlerror.Error {
	small := &gqlerror.Error{
		Message:    clip(err.Message, maxMessageBytes),
		Path:       err.Path,
		Locations:  err.Locations,
		Extensions: err.Extensions,
	}
	if len(small.Locations) > maxLocations {
		small.Locations = small.Locations[:maxLocations]
	}
	if encoded, failed := json.Marshal(small.Path); failed != nil || len(encoded) > maxPathBytes {
		small.Path = nil
	}
	if encoded, failed := json.Marshal(small.Extensions); failed != nil || len(encoded) > maxExtraBytes {
		small.Extensions = map[string]any{"code": clip(string(CodeOf(err)), maxMessageBytes)}
	}
	return small
}

// clip cuts s to at most n bytes of printable UTF-8. Control characters become
// spaces: in JSON each would take six bytes.
func clip(s string, n int) string {
	cut := len(s) > n
	if cut {
		for n > 0 && !utf8.RuneStart(s[n]) {
			n--
		}
		s = s[:n]
	}
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == utf8.RuneError {
			return ' '
		}
		return r
	}, s)
	if cut {
		s += "…"
	}
	return s
}
