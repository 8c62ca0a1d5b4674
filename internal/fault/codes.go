package fault

// Code is one of the closed set of UserErrorCode values. What raises each and
// what fixes it is described in the schema (schema/errors.graphqls).
type Code string

// The codes of refusals.
const (
	NotFound            Code = "NOT_FOUND"
	Forbidden           Code = "FORBIDDEN"
	NameInvalid         Code = "NAME_INVALID"
	NameTaken           Code = "NAME_TAKEN"
	InputInvalid        Code = "INPUT_INVALID"
	StaleVersion        Code = "STALE_VERSION"
	IdempotencyReused   Code = "IDEMPOTENCY_KEY_REUSED"
	OperationInProgress Code = "OPERATION_IN_PROGRESS"
	NotRetryable        Code = "NOT_RETRYABLE"
	TooLate             Code = "TOO_LATE"
	FeatureDisabled     Code = "FEATURE_DISABLED"
	NotAvailable        Code = "NOT_AVAILABLE"
	InUse               Code = "IN_USE"
	TemplateNotFitting  Code = "TEMPLATE_NOT_FITTING"
	AddOnRequires       Code = "ADD_ON_REQUIRES"
	AddOnConflicts      Code = "ADD_ON_CONFLICTS"
	AddOnNotFitting     Code = "ADD_ON_NOT_FITTING"
	ResourcesTooSmall   Code = "RESOURCES_TOO_SMALL"
	CredentialsRejected Code = "CREDENTIALS_REJECTED"
)
