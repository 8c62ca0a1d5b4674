package scalar

import (
	"io"
	"strconv"

	"github.com/99designs/gqlgen/graphql"

	"biztraak.dev/vm/internal/fault"
)

// refuse is the answer to a value that is out of form.
func refuse(format string, args ...any) error {
	return fault.New(fault.BadRequest, format, args...)
}

// text takes a value that has to be a string.
func text(what string, v any) (string, error) {
	s, ok := v.(string)
	if !ok {
		return "", refuse("%s is a string, not %s", what, kindOf(v))
	}
	return s, nil
}

// kindOf names the JSON kind of a value, for messages: the value itself may be
// long, or secret.
func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case string:
		return "a string"
	case bool:
		return "a boolean"
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	default:
		return "a number"
	}
}

// shown quotes what was sent, cut to a length that fits into a message.
func shown(s string) string {
	const longest = 40
	if runes := []rune(s); len(runes) > longest {
		s = string(runes[:longest]) + "…"
	}
	return strconv.Quote(s)
}

// quoted writes a string that needs no escapes beyond those of JSON's ASCII.
func quoted(s string) graphql.Marshaler {
	return graphql.WriterFunc(func(w io.Writer) {
		_, _ = io.WriteString(w, strconv.Quote(s)) // the response is a buffer, which takes everything
	})
}

// number writes an integer.
func number(n int64) graphql.Marshaler {
	return graphql.WriterFunc(func(w io.Writer) {
		_, _ = io.WriteString(w, strconv.FormatInt(n, 10)) // the response is a buffer, which takes everything
	})
}
