package simulator

import (
	"context"
	"errors"
	"time"

	"biztraak.dev/vm/internal/provider"
)

// The waits that faults impose.
const (
	throttleFor  = time.Second
	throttledFor = 2 // calls
	lockedFor    = 2 * time.Second
)

func gone() error {
	return &provider.Error{Class: provider.ClassGone, Code: "INSTANCE_NOT_FOUND", Message: "the machine does not exist"}
}

func conflict(message string, retryAfter time.Duration) error {
	return &provider.Error{Class: provider.ClassConflict, Code: "INCORRECT_STATE", Message: message, RetryAfter: retryAfter}
}

func bug(code, message string) error {
	return &provider.Error{Class: provider.ClassBug, Code: code, Message: message}
}

func rejected() error {
	return &provider.Error{Class: provider.ClassCredentials, Code: "AUTH_FAILURE", Message: "the cloud rejected the credentials"}
}

func throttled() error {
	return &provider.Error{
		Class: provider.ClassRetryAfter, Code: "RATE_LIMITED",
		Message: "the cloud asks to slow down", RetryAfter: throttleFor,
	}
}

// interrupted sorts the end of a context: a real call may have reached the cloud.
func interrupted(err error) error {
	return &provider.Error{Class: provider.ClassUnclear, Code: "INTERRUPTED", Message: "the call was interrupted", Err: err}
}

// storeFailed sorts an error of the store. A failed write may have been made, as
// with a real cloud that stops answering.
func storeFailed(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return interrupted(err)
	}
	return &provider.Error{Class: provider.ClassUnclear, Code: "NO_ANSWER", Message: "the cloud did not answer", Err: err}
}
