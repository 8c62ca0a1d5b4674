package guest

import (
	"context"
	"errors"
	"net/netip"
	"time"
)

// Errors of a guest, to be matched with errors.Is.
var (
	// ErrNotReady: the machine is booting; ask again soon.
	ErrNotReady = errors.New("the guest is not ready yet")
	// ErrUnreachable: no guest answers. The machine is off, gone, or cut off.
	ErrUnreachable = errors.New("the guest cannot be reached")
)

// Target names the machine whose inside is meant.
type Target struct {
	// InstanceID is the cloud's id of the machine.
	InstanceID string
	// Addresses are those that the cloud told last, the best first.
	Addresses []netip.Addr
}

// Guest is the way into machines. It is safe for concurrent use.
type Guest interface {
	// Ready returns nil when the guest itself confirms that it is up, which comes
	// after the cloud calls it running. ErrNotReady while it boots,
	// ErrUnreachable when nothing answers.
	Ready(ctx context.Context, target Target) error

	// ReadJournal returns the entries after a cursor, oldest first. When there is
	// none it waits for one, at most request.Wait, and then returns an empty
	// batch, so that a follower needs no busy loop. ErrUnreachable when the
	// machine cannot be reached.
	ReadJournal(ctx context.Context, target Target, request JournalRequest) (JournalBatch, error)
}

// MaxJournalBatch is the largest number of entries in one batch.
const MaxJournalBatch = 1000

// JournalRequest says which part of the journal to read.
type JournalRequest struct {
	// After is the cursor of the last entry that the caller holds, from an entry
	// or from JournalBatch.Next. Empty reads from the oldest entry kept.
	After string
	// Max is the largest number of entries wanted. Anything outside
	// 1..MaxJournalBatch means MaxJournalBatch.
	Max int
	// Wait is how long to wait when there is no entry; zero answers at once.
	Wait time.Duration
}

// Limit is Max within its bounds.
func (r JournalRequest) Limit() int {
	if r.Max < 1 || r.Max > MaxJournalBatch {
		return MaxJournalBatch
	}
	return r.Max
}

// JournalBatch is a stretch of the journal.
type JournalBatch struct {
	// Gap is set when the caller's cursor does not lead here: entries between it
	// and the first one of this batch may be missing. It is told once, since Next
	// leads on from here.
	Gap *Gap
	// Entries are in journal order, which clocks need not follow.
	Entries []JournalEntry
	// Next is the cursor to ask with next. Never empty once an entry was seen.
	Next string
}

// Gap is a break in what a follower sees.
type Gap struct {
	After  string // the cursor that led nowhere
	Reason string // for people: one sentence without a full stop
}

// Priority is a syslog severity (RFC 5424, section 6.2.1): 0 is the gravest.
type Priority int

// The severities in use.
const (
	PriorityCritical Priority = 2
	PriorityError    Priority = 3
	PriorityWarning  Priority = 4
	PriorityNotice   Priority = 5
	PriorityInfo     Priority = 6
	PriorityDebug    Priority = 7
)

// JournalEntry is one entry of the journal.
type JournalEntry struct {
	Cursor string    // opaque; orders nothing but what the same machine says
	Time   time.Time // by the guest's clock
	// Unit is the systemd unit, or the syslog identifier where there is no unit
	// (the kernel).
	Unit     string
	Priority Priority
	// Message is as the guest wrote it: not cleaned, not cut.
	Message string
}
