package team

import (
	"time"

	"biztraak.dev/vm/internal/auth"
	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/page"
)

// Team is a tenant: everything belongs to exactly one, and only its members see
// it.
type Team struct {
	ID        ident.ID
	Name      string
	Version   int
	CreatedAt time.Time
	// ViewerRole is what the actor may do in it, after the ceiling of their token.
	ViewerRole auth.Role
}

// User is a person.
type User struct {
	ID    ident.ID
	Name  string
	Email string
}

// Member is a user's place in a team.
type Member struct {
	TeamID   ident.ID
	User     *User
	Role     auth.Role
	JoinedAt time.Time
}

// Cursor is the member's place in the list of the team's members, which is
// ordered by when they joined.
func (m *Member) Cursor() page.Cursor {
	return page.NewCursor("member", m.JoinedAt.UTC().Format(time.RFC3339Nano), string(m.User.ID))
}

// AccessToken is a personal access token without its text, which is known only
// to whoever made it.
type AccessToken struct {
	ID      ident.ID
	Name    string
	Ceiling auth.Role
	// ExpiresAt is nil for never, RevokedAt while the token works.
	ExpiresAt *time.Time
	RevokedAt *time.Time
	CreatedAt time.Time
}

// Account is a cloud account without its credentials.
type Account struct {
	ID     ident.ID
	TeamID ident.ID
	Name   string
	// Kind is a provider.Kind.
	Kind string
	// Simulated says that its machines are not real.
	Simulated bool
	Version   int
	CreatedAt time.Time
}

// CreateInput is what createTeam takes.
type CreateInput struct {
	Name           string
	IdempotencyKey *string `json:"-"`
}

// Created is what createTeam answers.
type Created struct {
	Team     *Team
	Replayed bool
}

// UpdateMemberInput is what updateTeamMember takes.
type UpdateMemberInput struct {
	TeamID ident.ID
	UserID ident.ID
	Role   auth.Role
}

// RemoveMemberInput is what removeTeamMember takes.
type RemoveMemberInput struct {
	TeamID ident.ID
	UserID ident.ID
}

// CreateTokenInput is what createAccessToken takes.
type CreateTokenInput struct {
	Name      string
	Ceiling   auth.Role
	ExpiresAt *time.Time
	// IdempotencyKey makes a repeat answer the token, but never its text again.
	IdempotencyKey *string `json:"-"`
}

// CreatedToken is what createAccessToken answers.
type CreatedToken struct {
	AccessToken *AccessToken
	// Secret is the token's text; nil on a replay.
	Secret   *string
	Replayed bool
}

// RevokeTokenInput is what revokeAccessToken takes.
type RevokeTokenInput struct {
	TokenID ident.ID
}

// ConnectAccountInput is what connectCloudAccount takes: the credentials of
// exactly one kind of cloud.
type ConnectAccountInput struct {
	TeamID         ident.ID
	Name           string
	Simulator      *SimulatorInput
	IdempotencyKey *string `json:"-"`
}

// SimulatorInput is how a simulated cloud is to behave.
type SimulatorInput struct {
	// Token is a secret, so it is no part of what an idempotency key is stored
	// with: the hash of a weak secret would give it away.
	Token string `json:"-"`
	Fault *SimulatorFault
}

// SimulatorFault is what a simulated cloud can be made to do wrong.
type SimulatorFault string

// The faults of simulated clouds.
const (
	FaultCapacity           SimulatorFault = "CAPACITY"
	FaultQuota              SimulatorFault = "QUOTA"
	FaultSlowBoot           SimulatorFault = "SLOW_BOOT"
	FaultBootCrash          SimulatorFault = "BOOT_CRASH"
	FaultLost               SimulatorFault = "LOST"
	FaultStopFails          SimulatorFault = "STOP_FAILS"
	FaultStartFails         SimulatorFault = "START_FAILS"
	FaultUnhealthyDeploy    SimulatorFault = "UNHEALTHY_DEPLOY"
	FaultLocked             SimulatorFault = "LOCKED"
	FaultTimeoutAfterCreate SimulatorFault = "TIMEOUT_AFTER_CREATE"
)

// SimulatorFaults lists all faults.
func SimulatorFaults() []SimulatorFault {
	return []SimulatorFault{
		FaultCapacity, FaultQuota, FaultSlowBoot, FaultBootCrash, FaultLost, FaultStopFails, FaultStartFails,
		FaultUnhealthyDeploy, FaultLocked, FaultTimeoutAfterCreate,
	}
}

// ConnectedAccount is what connectCloudAccount answers.
type ConnectedAccount struct {
	CloudAccount *Account
	Replayed     bool
}
