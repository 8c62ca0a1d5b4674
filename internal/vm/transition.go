package vm

import (
	"fmt"

	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/operation"
	"biztraak.dev/vm/internal/store"
)

// cause is whose doing a change of a VM provider is; empty fields for nobody's.
type cause struct {
	operationID ident.ID
	actorID     ident.ID
}

// setStatus moves the provider along its life cycle and tells. The database
// refuses a step that the life cycle does not have.
func (p *providerRow) setStatus(tx *operation.Tx, to Status, by cause) error {
	if p.Status == to {
		return nil
	}
	err := store.One(tx.Exec(`UPDATE vm_provider SET status = ?, status_since = ?, version = version + 1 WHERE id = ?`,
		to, tx.Now, p.ID))
	if err != nil {
		return fmt.Errorf("set status of %s to %s: %w", p.ID, to, err)
	}
	p.Status = to
	tx.Emit(operation.Event{
		ProjectID: p.ProjectID, Kind: operation.ProviderStatus, SubjectID: p.ID, Above: p.above(),
		OperationID: by.operationID, ActorID: by.actorID, Status: string(to),
	})
	tx.Log(p.ID, "status is now %s", to)
	return nil
}

// changed says that something other than the status of the provider has
// changed.
func (p *providerRow) changed(tx *operation.Tx, by cause) {
	tx.Emit(operation.Event{
		ProjectID: p.ProjectID, Kind: operation.ProviderUpdated, SubjectID: p.ID, Above: p.above(),
		OperationID: by.operationID, ActorID: by.actorID, Status: string(p.Status),
	})
}

// setLastError stores the newest failure, or clears it with nil.
func (p *providerRow) setLastError(tx *operation.Tx, e *operation.Error) error {
	if e == nil {
		return tx.Exec(`UPDATE vm_provider SET last_error_code = NULL, last_error_message = NULL,
			last_error_retryable = NULL, version = version + 1 WHERE id = ? AND last_error_code IS NOT NULL`, p.ID).Error
	}
	return store.One(tx.Exec(`UPDATE vm_provider SET last_error_code = ?, last_error_message = ?,
		last_error_retryable = ?, version = version + 1 WHERE id = ?`, e.Code, e.Message, e.Retryable, p.ID))
}

// setAddress stores the address if it is another one.
func (p *providerRow) setAddress(tx *operation.Tx, address *string, by cause) error {
	if p.Address == address || (p.Address != nil && address != nil && *p.Address == *address) {
		return nil
	}
	err := store.One(tx.Exec(`UPDATE vm_provider SET address = ?, version = version + 1 WHERE id = ?`, address, p.ID))
	if err != nil {
		return fmt.Errorf("set address of %s: %w", p.ID, err)
	}
	p.Address = address
	p.changed(tx, by)
	return nil
}

// setInstance stores which instance in the cloud is the provider's; empty for
// none.
func (p *providerRow) setInstance(tx *operation.Tx, id string) error {
	var v *string
	if id != "" {
		v = &id
	}
	p.InstanceID = v
	return store.One(tx.Exec(`UPDATE vm_provider SET instance_id = ?, version = version + 1 WHERE id = ?`, v, p.ID))
}

// above are the objects above a provider, nearest first.
func (p *providerRow) above() []ident.ID { return []ident.ID{p.VMID, p.ProjectID} }
