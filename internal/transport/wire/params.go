package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"biztraak.dev/vm/internal/fault"
)

// DecodeParams reads the JSON of one GraphQL request: an object with `query`
// and, when there are any, `operationName`, `variables` and `extensions`
// (GraphQL over HTTP, "Request Parameters"; the `subscribe` payload of
// graphql-transport-ws has the same shape). Unknown keys are ignored and the
// last of two equal keys wins, as in any JSON parser. Numbers in variables stay
// json.Number, so that 64-bit integers survive.
//
// The error is a BAD_REQUEST that never quotes the input.
func DecodeParams(raw []byte) (*graphql.RawParams, *gqlerror.Error) {
	raw = bytes.TrimLeft(raw, " \t\r\n")
	switch {
	case len(raw) == 0:
		return nil, badRequest("the request is empty; send a JSON object with \"query\"")
	case raw[0] == '[':
		return nil, badRequest("batches are not supported; send one operation in each request")
	case raw[0] != '{':
		return nil, badRequest("the request must be a JSON object with \"query\"")
	case !utf8.Valid(raw):
		return nil, badRequest("the request is not valid UTF-8")
	}
	var params graphql.RawParams
	if err := decodeOne(raw, &params); err != nil {
		return nil, explain(err)
	}
	if strings.TrimSpace(params.Query) == "" {
		return nil, badRequest("\"query\" is required and must hold a GraphQL document")
	}
	return &params, nil
}

// DecodeObject reads one JSON object, such as the `variables` parameter of a
// URL; empty text and null are no object at all. name is used in the error, a
// BAD_REQUEST.
func DecodeObject(name, text string) (map[string]any, *gqlerror.Error) {
	if text == "" {
		return nil, nil
	}
	var object map[string]any
	if err := decodeOne([]byte(text), &object); err != nil {
		return nil, badRequest("%q must be a JSON object", name)
	}
	return object, nil
}

var errTrailing = errors.New("more than one JSON value")

func decodeOne(raw []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(into); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errTrailing
	}
	return nil
}

// explain names the parameter of a wrong type; everything else is one message,
// since the decoder's own text quotes what was sent.
func explain(err error) *gqlerror.Error {
	var wrongType *json.UnmarshalTypeError
	if errors.As(err, &wrongType) {
		switch wrongType.Field {
		case "query", "operationName":
			return badRequest("%q must be a string", wrongType.Field)
		case "variables", "extensions":
			return badRequest("%q must be an object", wrongType.Field)
		}
	}
	if errors.Is(err, errTrailing) {
		return badRequest("there is something after the JSON object of the request")
	}
	return badRequest("the request is not valid JSON")
}

func badRequest(format string, args ...any) *gqlerror.Error {
	return NewError(fault.BadRequest, format, args...)
}
