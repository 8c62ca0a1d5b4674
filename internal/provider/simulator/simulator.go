package simulator

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"biztraak.dev/vm/internal/guest"
	"biztraak.dev/vm/internal/provider"
)

// What Options mean when they are zero.
const (
	defaultBootTime     = 2 * time.Second
	defaultStopTime     = time.Second
	defaultDestroyTime  = 500 * time.Millisecond
	defaultPollInterval = time.Second
)

// The rest of the simulated cloud's character.
const (
	slowBootTime    = time.Minute
	visibilityDelay = 300 * time.Millisecond
	userDataLimit   = 16 << 10 // the smallest of the real clouds (EC2)
	maxSwaps        = 50       // lost races before a change gives up
)

// Options shape a simulated cloud. The zero value is the one of dev mode.
type Options struct {
	// BootTime is the time from a create or start until the guest is up; 2 s by
	// default. The cloud calls the machine running after four fifths of it.
	BootTime time.Duration
	// StopTime is the time that a machine takes to shut down; 1 s by default.
	StopTime time.Duration
	// DestroyTime is the time that it takes to remove one; 0.5 s by default.
	DestroyTime time.Duration
	// PollInterval is how often a waiting ReadJournal asks the store what other
	// processes did; 1 s by default.
	PollInterval time.Duration
	// HonourClientTokens makes the cloud answer a repeated create with the machine
	// that it made the first time.
	HonourClientTokens bool
	// Now is the clock; time.Now by default.
	Now func() time.Time
	// Recorder, when set, is told about every driver call.
	Recorder Recorder
}

// RejectedCredentials is the one text that the simulated cloud refuses as
// credentials, so that people can see what that looks like.
const RejectedCredentials = "reject"

// Op names a driver call.
type Op string

// The calls that a Recorder sees.
const (
	OpOfferings   Op = "offerings"
	OpVerify      Op = "verify"
	OpCreate      Op = "create"
	OpObserve     Op = "observe"
	OpFindByToken Op = "find-by-token"
	OpList        Op = "list"
	OpStart       Op = "start"
	OpStop        Op = "stop"
	OpRestart     Op = "restart"
	OpDestroy     Op = "destroy"
)

// Call is one call of the driver, as a cloud's audit trail shows it. InstanceID
// and Token are empty where the call has none.
type Call struct {
	Op         Op
	AccountID  string
	InstanceID string
	Token      string
	At         time.Time
}

// Recorder sees each driver call before it is carried out. It is safe for
// concurrent use, and holds the call up for as long as it takes.
type Recorder interface {
	Record(ctx context.Context, call Call)
}

// Simulator is the driver and the guest of simulated machines. It is safe for
// concurrent use, and any number of processes may share one store.
type Simulator struct {
	store   MachineStore
	options Options
}

var (
	_ provider.Driver = (*Simulator)(nil)
	_ guest.Guest     = (*Simulator)(nil)
)

// New makes a simulated cloud whose machines live in store.
func New(store MachineStore, options Options) *Simulator {
	options.BootTime = cmp.Or(options.BootTime, defaultBootTime)
	options.StopTime = cmp.Or(options.StopTime, defaultStopTime)
	options.DestroyTime = cmp.Or(options.DestroyTime, defaultDestroyTime)
	options.PollInterval = cmp.Or(options.PollInterval, defaultPollInterval)
	if options.Now == nil {
		options.Now = time.Now
	}
	return &Simulator{store: store, options: options}
}

// now is the clock in the form that is stored: UTC, no monotonic part, and no
// finer than a database keeps.
func (s *Simulator) now() time.Time { return s.options.Now().UTC().Truncate(time.Microsecond) }

// enter is the first thing that each call does: it is recorded, and answered with
// the faults that hit the whole account. It returns those that remain.
func (s *Simulator) enter(ctx context.Context, account provider.Account, call Call) ([]Fault, error) {
	if err := ctx.Err(); err != nil {
		return nil, interrupted(err)
	}
	if s.options.Recorder != nil {
		call.AccountID, call.At = account.ID, s.now()
		s.options.Recorder.Record(ctx, call)
	}
	faults, err := accountFaults(account)
	if err != nil {
		return nil, err
	}
	if slices.Contains(faults, FaultCredentials) || string(account.Credentials.Reveal()) == RejectedCredentials {
		return nil, rejected()
	}
	if slices.Contains(faults, FaultRateLimited) {
		if err := s.throttle(ctx, account.ID, ""); err != nil {
			return nil, err
		}
	}
	return faults, nil
}

// load reads a machine of an account. Another account's counts as absent.
func (s *Simulator) load(ctx context.Context, accountID, instanceID string) (machine, error) {
	m, err := s.read(ctx, instanceID)
	if err != nil {
		return machine{}, err
	}
	if m.accountID != accountID {
		return machine{}, gone()
	}
	return m, nil
}

func (s *Simulator) read(ctx context.Context, instanceID string) (machine, error) {
	record, err := s.store.Load(ctx, instanceID)
	if errors.Is(err, ErrNoMachine) {
		return machine{}, gone()
	}
	if err != nil {
		return machine{}, storeFailed(err)
	}
	m, err := decode(record)
	if err != nil {
		return machine{}, err
	}
	if !m.isMachine() {
		return machine{}, gone()
	}
	return m, nil
}

// change says what becomes of a machine: whether its document was changed, and
// the answer to the caller. Both may be: a refusal can leave a trace.
type change func(m *machine, now time.Time) (changed bool, answer error)

// update loads, changes and stores a machine, and starts over when another
// process was faster.
func (s *Simulator) update(ctx context.Context, load func() (machine, error), apply change) error {
	for range maxSwaps {
		m, err := load()
		if err != nil {
			return err
		}
		changed, answer := apply(&m, s.now())
		if !changed {
			return answer
		}
		record, err := m.encode()
		if err != nil {
			return err
		}
		stored, err := s.store.Replace(ctx, record)
		if err != nil {
			return storeFailed(err)
		}
		if stored {
			return answer
		}
	}
	return conflict("too many changes at once", s.options.PollInterval)
}
