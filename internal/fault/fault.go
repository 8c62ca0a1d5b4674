// Package fault holds the two ways in which the product says no.
//
// A Refusal is a business answer: a rule was not met, and the caller can act on
// it. It reaches the client in the `userErrors` of a payload. A Fault is an
// error of the request or of the server and reaches the client in the top-level
// `errors`. Both have codes from closed sets; everything else that is returned
// as an error is masked as INTERNAL at the edge.
//
// The package is a leaf: it knows no domain and imports only ident and the
// standard library.
package fault

import (
	"errors"
	"fmt"
	"strings"
)

// Refusal is one rule that was not met.
type Refusal struct {
	// Code names the rule.
	Code Code
	// Path leads to the input field at fault, from the mutation's arguments:
	// "input", then the names and indices of fields.
	Path []string
	// Message explains the refusal and names the fix, in one or two sentences
	// fit to be shown to a person.
	Message string
	// Detail is what a screen needs beside the message; a value of one of the
	// detail types, or nil.
	Detail any
}

// Refusals are all the rules that one call did not meet. As an error it means:
// nothing was written.
type Refusals []Refusal

// Error joins the codes and messages.
func (r Refusals) Error() string {
	parts := make([]string, len(r))
	for i, x := range r {
		parts[i] = fmt.Sprintf("%s at %s: %s", x.Code, strings.Join(x.Path, "."), x.Message)
	}
	return "refused: " + strings.Join(parts, "; ")
}

// Add appends one refusal.
func (r *Refusals) Add(code Code, path []string, format string, args ...any) {
	*r = append(*r, Refusal{Code: code, Path: path, Message: fmt.Sprintf(format, args...)})
}

// Err is the refusals as an error: nil when there are none.
func (r Refusals) Err() error {
	if len(r) == 0 {
		return nil
	}
	return r
}

// Refuse makes a single refusal.
func Refuse(code Code, path []string, format string, args ...any) Refusals {
	var r Refusals
	r.Add(code, path, format, args...)
	return r
}

// Input makes the path of a field of the mutation's input.
func Input(fields ...string) []string { return append([]string{"input"}, fields...) }

// AsRefusals finds the refusals in err's chain.
func AsRefusals(err error) (Refusals, bool) {
	var r Refusals
	ok := errors.As(err, &r)
	return r, ok
}

// Top is a code of the top-level `errors` (`extensions.code`). The edge has a
// few more of its own for documents it could not run.
type Top string

// The codes of faults.
const (
	BadRequest      Top = "BAD_REQUEST"
	Unauthenticated Top = "UNAUTHENTICATED"
	TopForbidden    Top = "FORBIDDEN"
	RateLimited     Top = "RATE_LIMITED"
	Unavailable     Top = "UNAVAILABLE"
	Internal        Top = "INTERNAL"
)

// Fault is an error of the request or of the server.
type Fault struct {
	Code    Top
	Message string
	// Extra goes into `extensions` beside the code; nil for none.
	Extra map[string]any
}

// Error is the message with its code.
func (f *Fault) Error() string { return string(f.Code) + ": " + f.Message }

// New makes a fault.
func New(code Top, format string, args ...any) *Fault {
	return &Fault{Code: code, Message: fmt.Sprintf(format, args...)}
}
