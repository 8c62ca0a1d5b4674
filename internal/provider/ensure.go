package provider

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"
)

// saveTimeout bounds Creation.Save, which outlives a canceled caller.
const saveTimeout = 10 * time.Second

// Creation is one wish for one instance, and how the caller keeps its books.
type Creation struct {
	Driver  Driver
	Account Account
	Spec    Spec
	// Recorded is the instance that Save has stored already; nil when none.
	Recorded *Ref
	// FirstTry is true only when no create with this token can have been sent
	// before. It saves the looks that precede a create, and the wait between
	// them; when in doubt leave it false.
	FirstTry bool
	// Guard is called directly before each side effect in the cloud, and its
	// error stops everything. It checks that the caller may still act: that its
	// lease holds, that the operation is not canceled.
	Guard func(ctx context.Context) error
	// Save stores the instance. It must be fenced by itself and durable when it
	// returns. It is not guarded: an instance that exists has to be on record even
	// if the operation was canceled meanwhile, or nobody would remove it. For the
	// same reason its context does not end with the caller's.
	Save func(ctx context.Context, ref Ref) error
	// Wait pauses between two looks; nil waits on a timer.
	Wait func(ctx context.Context, d time.Duration) error
}

// Created is what EnsureCreated leaves behind.
type Created struct {
	// Observation is the kept instance.
	Observation Observation
	// Twins are the instances that were asked to go, for the audit log.
	Twins []Ref
}

// EnsureCreated makes sure that exactly one instance with the token of the spec
// is kept and on record. It may be interrupted at any line and run again:
//
//   - before the create nothing has happened;
//   - after it the instance is found by its token, by a look before the next
//     create, and adopted;
//   - once it is saved, that one is kept whatever else turns up;
//   - twins, which only a cloud without client tokens can make, are destroyed at
//     the end of each run. One that shows up later is left to the caller's sweep.
//
// An unclear answer is looked into twice, a visibility delay apart. If nothing is
// found the error is ClassUnclear and the next run, with FirstTry false, looks
// again before it creates. A recorded instance that is gone is ClassGone: whether
// to start over is the caller's decision. When only the twins could not be
// destroyed, Created is complete beside the error.
func EnsureCreated(ctx context.Context, c Creation) (Created, error) {
	if c.Spec.ClientToken == "" {
		return Created{}, &Error{Class: ClassBug, Code: "NO_CLIENT_TOKEN", Message: "an instance cannot be created without a token"}
	}
	if c.Wait == nil {
		c.Wait = waitOnTimer
	}
	kept, err := c.settle(ctx)
	if err != nil {
		return Created{}, err
	}
	twins, err := c.destroyTwins(ctx, kept.InstanceID)
	return Created{Observation: kept, Twins: twins}, err
}

// settle returns the one instance that is kept, on record.
func (c Creation) settle(ctx context.Context) (Observation, error) {
	if c.Recorded != nil {
		return c.observeRecorded(ctx)
	}
	if !c.FirstTry {
		// A create that is repeated with a token the cloud honors makes no twin.
		found, err := c.look(ctx, !c.Driver.Traits().HonoursClientToken)
		if err != nil {
			return Observation{}, err
		}
		if found != nil {
			return c.save(ctx, *found)
		}
	}
	if err := c.Guard(ctx); err != nil {
		return Observation{}, fmt.Errorf("may not create: %w", err)
	}
	created, err := c.Driver.Create(ctx, c.Account, c.Spec)
	if err != nil {
		return c.afterFailedCreate(ctx, err)
	}
	return c.save(ctx, created)
}

// observeRecorded believes that a recorded instance is gone only when it is still
// absent after the visibility delay: a very young one may not show yet.
func (c Creation) observeRecorded(ctx context.Context) (Observation, error) {
	observed, err := c.Driver.Observe(ctx, c.Account, *c.Recorded)
	if delay := c.Driver.Traits().VisibilityDelay; ClassOf(err) == ClassGone && delay > 0 {
		if err := c.Wait(ctx, delay); err != nil {
			return Observation{}, fmt.Errorf("wait for the recorded instance to show: %w", err)
		}
		observed, err = c.Driver.Observe(ctx, c.Account, *c.Recorded)
	}
	if err != nil {
		return Observation{}, fmt.Errorf("observe the recorded instance: %w", err)
	}
	return observed, nil
}

// afterFailedCreate looks for what a failed create may have left behind. Only a
// refusal that says plainly "nothing was created" is taken at its word.
func (c Creation) afterFailedCreate(ctx context.Context, failure error) (Observation, error) {
	failure = fmt.Errorf("create instance: %w", failure)
	switch ClassOf(failure) {
	case ClassRetryAfter, ClassCapacity, ClassQuota, ClassCredentials, ClassConflict:
		return Observation{}, failure
	default: // ClassUnclear, and whatever else does not say it plainly
	}
	found, err := c.look(ctx, true)
	if err != nil {
		return Observation{}, &Error{
			Class: ClassUnclear, Code: "CREATE_UNCLEAR",
			Message: "it is not known yet whether the instance was created", Err: fmt.Errorf("%w (after: %w)", err, failure),
		}
	}
	if found == nil {
		return Observation{}, failure
	}
	return c.save(ctx, *found)
}

// look searches for an instance with our token: twice, a visibility delay apart,
// or once when being wrong is harmless. It returns the one to keep, nil when there
// is none.
func (c Creation) look(ctx context.Context, twice bool) (*Observation, error) {
	delay := c.Driver.Traits().VisibilityDelay
	looks := 1
	if twice && delay > 0 {
		looks = 2
	}
	for n := range looks {
		if n > 0 {
			if err := c.Wait(ctx, delay); err != nil {
				return nil, fmt.Errorf("wait before the second look: %w", err)
			}
		}
		found, err := c.ours(ctx)
		if err != nil {
			return nil, err
		}
		if len(found) > 0 {
			oldest := slices.MinFunc(found, keepFirst)
			return &oldest, nil
		}
	}
	return nil, nil
}

// ours lists the instances with our token that are not on their way out. The
// token is compared once more: what comes out of here may get destroyed, and a
// driver whose filter is wrong must not cost anybody a machine.
func (c Creation) ours(ctx context.Context) ([]Observation, error) {
	found, err := c.Driver.FindByToken(ctx, c.Account, c.Spec.ClientToken)
	if err != nil {
		return nil, fmt.Errorf("find instances by token: %w", err)
	}
	return slices.DeleteFunc(found, func(o Observation) bool {
		return o.Token != c.Spec.ClientToken || o.State == StateDeleting
	}), nil
}

// keepFirst orders instances so that each process keeps the same one of several:
// usable ones first, then the oldest, then by id.
func keepFirst(a, b Observation) int {
	broken := func(o Observation) int {
		if o.State == StateError {
			return 1
		}
		return 0
	}
	return cmp.Or(
		cmp.Compare(broken(a), broken(b)),
		a.CreatedAt.Compare(b.CreatedAt),
		cmp.Compare(a.InstanceID, b.InstanceID),
	)
}

// save puts the instance on record before anything else is done with it.
func (c Creation) save(ctx context.Context, o Observation) (Observation, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTimeout)
	defer cancel()
	if err := c.Save(ctx, o.Ref()); err != nil {
		return Observation{}, fmt.Errorf("save instance %s: %w", o.InstanceID, err)
	}
	return o, nil
}

// destroyTwins removes every other instance with our token. It goes on after a
// failure, so that one stubborn twin does not keep the others alive, and reports
// the first one.
func (c Creation) destroyTwins(ctx context.Context, keptID string) ([]Ref, error) {
	found, err := c.ours(ctx)
	if err != nil {
		return nil, err
	}
	var twins []Ref
	var first error
	for _, twin := range found {
		if twin.InstanceID == keptID {
			continue
		}
		if err := c.Guard(ctx); err != nil {
			return twins, fmt.Errorf("may not destroy a twin: %w", err)
		}
		if err := c.Driver.Destroy(ctx, c.Account, twin.Ref()); err != nil {
			if first == nil {
				first = fmt.Errorf("destroy twin %s: %w", twin.InstanceID, err)
			}
			continue
		}
		twins = append(twins, twin.Ref())
	}
	return twins, first
}

func waitOnTimer(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
