package providertest

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/provider"
)

func createdOnce(t *testing.T, h Harness) {
	spec := h.Spec("conformance-once")
	h.cleanUp(t, h.Account, spec.ClientToken)

	// The first worker dies between the create and the save.
	died := errors.New("the worker died")
	_, err := provider.EnsureCreated(t.Context(), provider.Creation{
		Driver: h.Driver, Account: h.Account, Spec: spec, FirstTry: true,
		Guard: func(context.Context) error { return nil },
		Save:  func(context.Context, provider.Ref) error { return died },
	})
	require.ErrorIs(t, err, died)

	books := &ledger{}
	second, err := h.ensure(t, h.Account, spec, books)
	require.NoError(t, err)
	require.NotNil(t, books.recorded)
	require.Equal(t, *books.recorded, second.Observation.Ref())
	third, err := h.ensure(t, h.Account, spec, books)
	require.NoError(t, err)
	require.Equal(t, second.Observation.InstanceID, third.Observation.InstanceID)
	h.reach(t, h.Account, *books.recorded, provider.StateRunning)
	require.Equal(t, []provider.Ref{*books.recorded}, h.alive(t, h.Account, spec.ClientToken))
}

// repeatedCreate creates twice with one token, past EnsureCreated, as two workers
// would that know nothing of each other.
func repeatedCreate(t *testing.T, h Harness) {
	spec := h.Spec("conformance-twin")
	h.cleanUp(t, h.Account, spec.ClientToken)
	first, err := h.Driver.Create(t.Context(), h.Account, spec)
	require.NoError(t, err)
	second, err := h.Driver.Create(t.Context(), h.Account, spec)
	require.NoError(t, err)

	if h.Driver.Traits().HonoursClientToken {
		require.Equal(t, first.InstanceID, second.InstanceID)
		return
	}
	require.NotEqual(t, first.InstanceID, second.InstanceID)
	h.eventually(t, "wait until both twins show", func() (bool, string) {
		return len(h.alive(t, h.Account, spec.ClientToken)) == 2, "fewer than two"
	})
	recorded := second.Ref()
	books := &ledger{recorded: &recorded}
	created, err := h.ensure(t, h.Account, spec, books)
	require.NoError(t, err)
	require.Equal(t, recorded, created.Observation.Ref(), "the recorded one is kept")
	require.Equal(t, []provider.Ref{first.Ref()}, created.Twins)
	h.reachGone(t, h.Account, first.Ref())
	require.Equal(t, []provider.Ref{recorded}, h.alive(t, h.Account, spec.ClientToken))
}

func adopted(t *testing.T, h Harness) {
	h.need(t, "LostAnswer")
	c := h.Faults.LostAnswer(t)
	h.cleanUp(t, c.Account, c.Spec.ClientToken)
	books := &ledger{firstTry: true}
	created, err := h.ensure(t, c.Account, c.Spec, books)
	require.NoError(t, err)
	require.NotNil(t, books.recorded)
	require.Equal(t, *books.recorded, created.Observation.Ref())
	require.Equal(t, c.Spec.Owner, created.Observation.Owner)
	h.reach(t, c.Account, *books.recorded, provider.StateRunning)
	require.Equal(t, []provider.Ref{*books.recorded}, h.alive(t, c.Account, c.Spec.ClientToken))
}
