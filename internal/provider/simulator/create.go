package simulator

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"biztraak.dev/vm/internal/provider"
)

// Create implements provider.Driver.
func (s *Simulator) Create(ctx context.Context, account provider.Account, spec provider.Spec) (provider.Observation, error) {
	faults, err := s.enter(ctx, account, Call{Op: OpCreate, Token: spec.ClientToken})
	if err != nil {
		return provider.Observation{}, err
	}
	if err := checkSpec(spec); err != nil {
		return provider.Observation{}, err
	}
	byName := nameFaults(spec.Name)
	if err := s.refuse(ctx, account.ID, spec, byName); err != nil {
		return provider.Observation{}, err
	}
	for _, fault := range byName {
		if !slices.Contains(faults, fault) {
			faults = append(faults, fault)
		}
	}
	if slices.Contains(faults, FaultCapacity) {
		return provider.Observation{}, &provider.Error{Class: provider.ClassCapacity, Code: "NO_CAPACITY", Message: "the region has no room for a machine of this size"}
	}
	if slices.Contains(faults, FaultQuota) {
		return provider.Observation{}, &provider.Error{Class: provider.ClassQuota, Code: "QUOTA_EXCEEDED", Message: "the account may not have more machines"}
	}
	return s.insert(ctx, account.ID, spec, faults)
}

// checkSpec refuses what a cloud would call a malformed request.
func checkSpec(spec provider.Spec) error {
	switch {
	case spec.ClientToken == "":
		return bug("NO_CLIENT_TOKEN", "an instance cannot be created without a token")
	case !offered(spec.Region, spec.Size):
		return bug("NOT_OFFERED", "the cloud does not offer this size in this region")
	case spec.UserData.Len() > userDataLimit:
		return bug("USER_DATA_TOO_LARGE", fmt.Sprintf("the user data exceeds %d bytes", userDataLimit))
	}
	return nil
}

// refuse answers the faults in a machine's name that concern the call, not the
// machine. The same ones of the account were answered by enter.
func (s *Simulator) refuse(ctx context.Context, accountID string, spec provider.Spec, faults []Fault) error {
	if slices.Contains(faults, FaultCredentials) {
		return rejected()
	}
	if slices.Contains(faults, FaultRateLimited) {
		return s.throttle(ctx, accountID, spec.ClientToken)
	}
	return nil
}

func (s *Simulator) insert(ctx context.Context, accountID string, spec provider.Spec, faults []Fault) (provider.Observation, error) {
	now := s.now()
	m := machine{id: s.newID(accountID, spec.ClientToken), accountID: accountID, token: spec.ClientToken}
	m.document = document{
		Owner: spec.Owner, Name: spec.Name, Region: spec.Region, Size: spec.Size, Image: spec.Image,
		Faults: faults, VisibleFrom: now,
	}
	m.History = []event{{Action: actionCreate, At: now, Boot: s.bootTime(m.document)}}
	answerIsLost := m.has(FaultTimeoutAfterCreate)
	if answerIsLost {
		m.VisibleFrom = now.Add(visibilityDelay)
	}
	record, err := m.encode()
	if err != nil {
		return provider.Observation{}, err
	}
	switch err := s.store.Insert(ctx, record); {
	case errors.Is(err, ErrMachineExists):
		return s.repeated(ctx, m, now)
	case err != nil:
		return provider.Observation{}, storeFailed(err)
	case answerIsLost:
		return provider.Observation{}, &provider.Error{Class: provider.ClassUnclear, Code: "NO_ANSWER", Message: "the cloud did not answer"}
	}
	created, _ := m.observe(now)
	return created, nil
}

// repeated answers a create whose token was used before, as clouds with client
// tokens do: with the same machine for the same parameters.
func (s *Simulator) repeated(ctx context.Context, wanted machine, now time.Time) (provider.Observation, error) {
	first, err := s.load(ctx, wanted.accountID, wanted.id)
	if err != nil {
		return provider.Observation{}, err
	}
	if first.Owner != wanted.Owner || first.Name != wanted.Name || first.Region != wanted.Region ||
		first.Size != wanted.Size || first.Image != wanted.Image {
		return provider.Observation{}, bug("TOKEN_REUSED", "the token was used for another machine")
	}
	observed, exists := first.observe(now)
	if !exists {
		return provider.Observation{}, gone()
	}
	return observed, nil
}

// newID names a machine. Where tokens are honored the id follows from the token,
// so that the store itself refuses a second machine.
func (s *Simulator) newID(accountID, token string) string {
	if s.options.HonourClientTokens {
		return "sim-" + digest(accountID, token)
	}
	return "sim-" + strings.ToLower(rand.Text()[:16])
}

// digest is a short text that stands for its parts.
func digest(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:8])
}

// bootTime is how long a machine takes to boot.
func (s *Simulator) bootTime(d document) time.Duration {
	if d.has(FaultSlowBoot) {
		return slowBootTime
	}
	return s.options.BootTime
}
