package vm

import (
	"time"

	"biztraak.dev/vm/internal/auth"
	"biztraak.dev/vm/internal/fault"
	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/operation"
)

// Status is what was last observed of a VM provider, or is being done to it.
type Status string

// The statuses of a VM provider; the arrows between them are in
// migrations/00001_core.sql.
const (
	Pending      Status = "PENDING"
	Provisioning Status = "PROVISIONING"
	Running      Status = "RUNNING"
	Stopping     Status = "STOPPING"
	Stopped      Status = "STOPPED"
	Starting     Status = "STARTING"
	Failed       Status = "FAILED"
	Lost         Status = "LOST"
	Deleting     Status = "DELETING"
	Deleted      Status = "DELETED"
)

// Resources are an amount of machine.
type Resources struct {
	CPUMilli    int64 `gorm:"column:cpu_milli"`
	MemoryBytes int64
	DiskBytes   int64
}

// VM is a virtual machine as a component of a project.
type VM struct {
	ID        ident.ID
	TeamID    ident.ID
	ProjectID ident.ID
	Name      string
	Slug      string
	// TemplateID and AddOnIDs name the versions that it is pinned to.
	TemplateID ident.ID
	AddOnIDs   []ident.ID
	Resources  Resources
	Version    int
	CreatedAt  time.Time
	// Role is what the actor may do with it.
	Role auth.Role
}

// Provider is one deployed machine of a VM.
type Provider struct {
	ID          ident.ID
	TeamID      ident.ID
	ProjectID   ident.ID
	VMID        ident.ID
	AccountID   ident.ID
	Kind        string
	Region      string
	Size        string
	Status      Status
	StatusSince time.Time
	// LastError is the newest failure of work on it; nil when the newest work
	// succeeded.
	LastError *operation.Error
	// InstanceID is the cloud's own; empty before there is one.
	InstanceID string
	Address    *string
	// AppliedTemplateID is empty until the first boot is confirmed; then it and
	// AppliedAddOnIDs are what the machine is made of.
	AppliedTemplateID ident.ID
	AppliedAddOnIDs   []ident.ID
	// Drift says that the VM's composition is another than the applied one.
	Drift     bool
	Simulated bool
	Version   int
	CreatedAt time.Time
	// Role is what the actor may do with it.
	Role auth.Role
}

// Action is something that can be done with a VM provider.
type Action string

// The actions.
const (
	ActStart   Action = "START"
	ActStop    Action = "STOP"
	ActRestart Action = "RESTART"
	ActDestroy Action = "DESTROY"
)

// Availability says whether an action can be done now.
type Availability struct {
	Action    Action
	Available bool
	// Reason and Fix are nil when available.
	Reason *fault.Code
	Fix    *string
}

// ResourcesInput leaves out what is to be the least that the composition needs.
type ResourcesInput struct {
	CPU    *int64
	Memory *int64
	Disk   *int64
}

// CreateInput is what createVirtualMachine takes.
type CreateInput struct {
	ProjectID      ident.ID
	Name           string
	TemplateID     ident.ID
	AddOnIDs       []ident.ID
	Resources      *ResourcesInput
	IdempotencyKey *string `json:"-"`
}

// Created is what createVirtualMachine answers.
type Created struct {
	VM       *VM
	Replayed bool
}

// UpdateInput is what updateVirtualMachine takes.
type UpdateInput struct {
	VirtualMachineID ident.ID
	Name             string
	ExpectedVersion  *int
}

// DeleteInput is what deleteVirtualMachine takes.
type DeleteInput struct {
	VirtualMachineID ident.ID
	ExpectedVersion  *int
}

// ProvisionInput is what provisionVirtualMachine takes.
type ProvisionInput struct {
	VirtualMachineID ident.ID
	CloudAccountID   ident.ID
	Region           *string
	Size             *string
	IdempotencyKey   *string `json:"-"`
	DryRun           bool
}

// Plan is what a provision would do.
type Plan struct {
	Region string
	Size   string
	Steps  []string
}

// StartInput is what startVirtualMachine takes.
type StartInput struct {
	VirtualMachineProviderID ident.ID
	ExpectedVersion          *int
	IdempotencyKey           *string `json:"-"`
}

// StopInput is what stopVirtualMachine takes.
type StopInput struct {
	VirtualMachineProviderID ident.ID
	Force                    bool
	ExpectedVersion          *int
	IdempotencyKey           *string `json:"-"`
}

// RestartInput is what restartVirtualMachine takes.
type RestartInput struct {
	VirtualMachineProviderID ident.ID
	ExpectedVersion          *int
	IdempotencyKey           *string `json:"-"`
}

// DestroyInput is what destroyVirtualMachineProvider takes.
type DestroyInput struct {
	VirtualMachineProviderID ident.ID
	DryRun                   bool
	ExpectedVersion          *int
	IdempotencyKey           *string `json:"-"`
}

// Work is what a runtime mutation answers.
type Work struct {
	// Provider is nil on a dry run of a provision.
	Provider *Provider
	// Operation is nil when there was nothing to do.
	Operation *operation.Operation
	// Plan is set on a dry run of a provision.
	Plan     *Plan
	Replayed bool
}
