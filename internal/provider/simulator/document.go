package simulator

import (
	"encoding/json"
	"slices"
	"time"
)

// action is something that happened to a machine.
type action string

const (
	actionCreate   action = "create"
	actionStart    action = "start"
	actionStop     action = "stop"
	actionRestart  action = "restart"
	actionDestroy  action = "destroy"
	actionPowerOff action = "power-off" // from outside, at once
	actionPowerOn  action = "power-on"  // from outside
	actionRemove   action = "remove"    // from outside, at once
	actionRestore  action = "restore"   // from outside: back, powered off
	// actionVanish is never stored: FaultLost adds it when the history is read.
	actionVanish action = "vanish"
)

// event is one entry of a machine's history. How long its consequences take is
// written down with it, so that a process with other settings computes the same.
type event struct {
	Action action        `json:"action"`
	At     time.Time     `json:"at"`
	Boot   time.Duration `json:"boot,omitempty"` // until the guest is up
	Halt   time.Duration `json:"halt,omitempty"` // until it is off, or removed
}

// document is what is stored of a machine, or of a caller who is slowed down.
type document struct {
	Owner       string    `json:"owner,omitempty"`
	Name        string    `json:"name,omitempty"`
	Region      string    `json:"region,omitempty"`
	Size        string    `json:"size,omitempty"`
	Image       string    `json:"image,omitempty"`
	Faults      []Fault   `json:"faults,omitempty"`
	VisibleFrom time.Time `json:"visibleFrom,omitzero"`
	LockedUntil time.Time `json:"lockedUntil,omitzero"`
	// History starts with actionCreate and is in order of time. Empty marks the
	// record of a throttle, which is no machine.
	History []event `json:"history,omitempty"`
	// Throttled counts the calls that were refused.
	Throttled int `json:"throttled,omitempty"`
}

func (d document) has(fault Fault) bool { return slices.Contains(d.Faults, fault) }

func (d document) isMachine() bool { return len(d.History) > 0 }

// instant is when something that happens now goes into the history: never before
// what is there, even if this process's clock is behind another's.
func (d document) instant(now time.Time) time.Time {
	if last := d.History[len(d.History)-1].At; now.Before(last) {
		return last
	}
	return now
}

// machine is a record with its document read.
type machine struct {
	id, accountID, token string
	revision             int64
	document
}

func decode(record Record) (machine, error) {
	m := machine{id: record.ID, accountID: record.AccountID, token: record.Token, revision: record.Revision}
	if err := json.Unmarshal(record.Doc, &m.document); err != nil {
		return machine{}, bug("RECORD_UNREADABLE", "the simulator cannot read its record of this machine")
	}
	return m, nil
}

func (m machine) encode() (Record, error) {
	doc, err := json.Marshal(m.document)
	if err != nil {
		return Record{}, bug("RECORD_UNWRITABLE", "the simulator cannot write its record of this machine")
	}
	return Record{ID: m.id, AccountID: m.accountID, Token: m.token, Revision: m.revision, Doc: doc}, nil
}
