package simulator

import (
	"cmp"
	"context"
	"slices"
	"sync"
)

// MemoryStore is a MachineStore that forgets everything when the process ends.
type MemoryStore struct {
	mu      sync.Mutex
	records map[string]Record
}

var _ MachineStore = (*MemoryStore)(nil)

// NewMemoryStore makes an empty store.
func NewMemoryStore() *MemoryStore { return &MemoryStore{records: map[string]Record{}} }

// Insert implements MachineStore.
func (m *MemoryStore) Insert(ctx context.Context, record Record) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if _, taken := m.records[record.ID]; taken {
		return ErrMachineExists
	}
	record.Revision = 1
	m.records[record.ID] = clone(record)
	return nil
}

// Load implements MachineStore.
func (m *MemoryStore) Load(ctx context.Context, id string) (Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return Record{}, err
	}
	record, ok := m.records[id]
	if !ok {
		return Record{}, ErrNoMachine
	}
	return clone(record), nil
}

// Replace implements MachineStore.
func (m *MemoryStore) Replace(ctx context.Context, record Record) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return false, err
	}
	stored, ok := m.records[record.ID]
	if !ok || stored.Revision != record.Revision {
		return false, nil
	}
	stored.Doc = slices.Clone(record.Doc)
	stored.Revision++
	m.records[record.ID] = stored
	return true, nil
}

// List implements MachineStore.
func (m *MemoryStore) List(ctx context.Context, accountID string) ([]Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var found []Record
	for _, record := range m.records {
		if record.AccountID == accountID {
			found = append(found, clone(record))
		}
	}
	slices.SortFunc(found, func(a, b Record) int { return cmp.Compare(a.ID, b.ID) })
	return found, nil
}

// Delete implements MachineStore.
func (m *MemoryStore) Delete(ctx context.Context, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	delete(m.records, id)
	return nil
}

func clone(record Record) Record {
	record.Doc = slices.Clone(record.Doc)
	return record
}
