package operation

import (
	"encoding/json"
	"fmt"
	"time"

	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/store"
)

// Kind says what an operation does.
type Kind string

// The kinds of operations.
const (
	Provision Kind = "PROVISION"
	Start     Kind = "START"
	Stop      Kind = "STOP"
	Restart   Kind = "RESTART"
	Destroy   Kind = "DESTROY"
)

// Status says how far an operation is, as people see it.
type Status string

// The statuses. An operation that waits between two steps is RUNNING for
// people, although its row is queued.
const (
	Queued    Status = "QUEUED"
	Running   Status = "RUNNING"
	Succeeded Status = "SUCCEEDED"
	Failed    Status = "FAILED"
	Canceled  Status = "CANCELED"
)

// Ended says whether the operation will do nothing more.
func (s Status) Ended() bool { return s == Succeeded || s == Failed || s == Canceled }

// Phase says whether an operation does its work or undoes it.
type Phase string

// The phases.
const (
	Forward Phase = "FORWARD"
	Cleanup Phase = "CLEANUP"
)

// StepStatus says how far a step is.
type StepStatus string

// The statuses of steps.
const (
	StepPending   StepStatus = "PENDING"
	StepRunning   StepStatus = "RUNNING"
	StepSucceeded StepStatus = "SUCCEEDED"
	StepFailed    StepStatus = "FAILED"
	StepSkipped   StepStatus = "SKIPPED"
)

// ErrorCode is the closed set of causes for which operations fail.
type ErrorCode string

// The causes.
const (
	CodeCapacity         ErrorCode = "CAPACITY"
	CodeQuota            ErrorCode = "QUOTA"
	CodeCredentials      ErrorCode = "CREDENTIALS"
	CodeRateLimited      ErrorCode = "RATE_LIMITED"
	CodeProviderBusy     ErrorCode = "PROVIDER_BUSY"
	CodeProviderError    ErrorCode = "PROVIDER_ERROR"
	CodeInstanceNotFound ErrorCode = "INSTANCE_NOT_FOUND"
	CodeGuestUnreachable ErrorCode = "GUEST_UNREACHABLE"
	CodeCanceled         ErrorCode = "CANCELED"
	CodeTimeout          ErrorCode = "TIMEOUT"
	CodeInternal         ErrorCode = "INTERNAL"
)

// Error is why an operation, or one try of a step, did not succeed.
type Error struct {
	Code    ErrorCode
	Message string // fit to be shown to a person
	// Retryable means that asking again can help: the step is tried again with
	// back-off, and after the last try a person may retry the operation.
	Retryable bool
	// RetryAfter is how long the cloud asked to wait; zero for our own back-off.
	RetryAfter time.Duration
	// Final keeps the engine from trying again by itself, such as for a lack of
	// capacity that will not pass in seconds. A person may still retry.
	Final bool
	// Cause is for the log only.
	Cause error
}

// Error gives the code, the message and the cause.
func (e *Error) Error() string {
	if e.Cause != nil {
		return fmt.Sprintf("%s: %s: %v", e.Code, e.Message, e.Cause)
	}
	return fmt.Sprintf("%s: %s", e.Code, e.Message)
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Operation is one piece of long work.
type Operation struct {
	ID        ident.ID
	TeamID    ident.ID
	ProjectID ident.ID
	Kind      Kind
	Status    Status
	TargetID  ident.ID
	// Ancestors are the objects above the target, nearest first.
	Ancestors []ident.ID
	// ActorID is empty for the platform itself.
	ActorID ident.ID
	// Steps and StepsDone count the steps of the forward phase.
	Steps, StepsDone int
	// Attempt is from 1: how often it has been tried, by itself or by a person.
	Attempt    int
	Cancelable bool
	Error      *Error
	Simulated  bool
	CreatedAt  time.Time
	StartedAt  *time.Time
	FinishedAt *time.Time
}

// Progress is the share of steps that are done, 0 to 1.
func (o *Operation) Progress() float64 {
	if o.Status == Succeeded || o.Steps == 0 {
		return 1
	}
	return float64(o.StepsDone) / float64(o.Steps)
}

// Step is one step of an operation.
type Step struct {
	Name       string
	Status     StepStatus
	StartedAt  *time.Time
	FinishedAt *time.Time
	Detail     *string
}

// row is an operation as it is stored.
type row struct {
	ID                ident.ID
	TeamID            ident.ID
	ProjectID         ident.ID
	Kind              Kind
	Status            Status
	Phase             Phase
	TargetID          ident.ID
	Ancestors         store.IDs `gorm:"type:text[]"`
	ActorID           *ident.ID
	Urgent            bool
	Simulated         bool
	State             json.RawMessage `gorm:"type:jsonb"`
	Step              int
	StepsDone         int
	Attempt           int
	EnqueuedAttempt   int
	RunAfter          time.Time
	Tries             int
	Retries           int
	CancelRequestedAt *time.Time
	SessionID         *string
	Fence             int64
	ErrorCode         *ErrorCode
	ErrorMessage      *string
	ErrorRetryable    *bool
	Version           int
	CreatedAt         time.Time
	StartedAt         *time.Time
	FinishedAt        *time.Time
}

// TableName is the table of operations.
func (row) TableName() string { return "operation" }
