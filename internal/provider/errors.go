package provider

import (
	"context"
	"errors"
	"time"
)

// Class sorts the errors of all clouds by what the caller has to do.
type Class string

// The classes of errors.
const (
	// ClassRetryAfter: the same call will do later, not before Error.RetryAfter.
	ClassRetryAfter Class = "RETRY_AFTER"
	// ClassCapacity: the cloud has no room for this size in this region.
	ClassCapacity Class = "CAPACITY"
	// ClassQuota: a limit of the account is reached; only its owner can lift it.
	ClassQuota Class = "QUOTA"
	// ClassCredentials: the credentials are rejected; stop using the account.
	ClassCredentials Class = "CREDENTIALS"
	// ClassGone: the instance does not exist (any more).
	ClassGone Class = "GONE"
	// ClassConflict: the instance is busy or in a state that forbids the call;
	// try again later.
	ClassConflict Class = "CONFLICT"
	// ClassUnclear: an answer was lost, the call may have worked; look before
	// repeating it.
	ClassUnclear Class = "UNCLEAR"
	// ClassBug: the cloud cannot understand us, or we cannot understand it;
	// repeating does not help.
	ClassBug Class = "BUG"
)

// Error is an error of a cloud, sorted.
type Error struct {
	Class Class
	// Code is the cloud's own code, or the driver's: short, stable, upper case.
	Code string
	// Message is safe to show to the user: no credentials, addresses of our own
	// services or raw answers.
	Message string
	// RetryAfter is the shortest sensible wait before the next try; zero when the
	// cloud did not tell.
	RetryAfter time.Duration
	// Err is the cause, for logs only.
	Err error
}

// Error implements error.
func (e *Error) Error() string {
	text := string(e.Class)
	if e.Code != "" {
		text += " (" + e.Code + ")"
	}
	if e.Message != "" {
		text += ": " + e.Message
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Classify returns the *Error that err is or wraps. An ended context is
// ClassUnclear, since the call may have reached the cloud; anything else that a
// driver let through unsorted is ClassBug. Nil for nil.
func Classify(err error) *Error {
	if err == nil {
		return nil
	}
	if sorted := new(Error); errors.As(err, &sorted) {
		return sorted
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return &Error{Class: ClassUnclear, Code: "INTERRUPTED", Message: "the call to the cloud was interrupted", Err: err}
	}
	return &Error{Class: ClassBug, Code: "UNSORTED", Message: "the cloud answered in an unexpected way", Err: err}
}

// ClassOf is the class of Classify(err); empty for nil.
func ClassOf(err error) Class {
	if err == nil {
		return ""
	}
	return Classify(err).Class
}
