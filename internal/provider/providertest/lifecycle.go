package providertest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/provider"
)

func offerings(t *testing.T, h Harness) {
	require.NotEmpty(t, h.Driver.Kind())
	require.GreaterOrEqual(t, h.Driver.Traits().UserDataLimit, 4096, "the platform's own cloud-config must fit")
	require.NoError(t, h.Driver.Verify(t.Context(), h.Account))
	regions, err := h.Driver.Offerings(t.Context(), h.Account)
	require.NoError(t, err)
	require.NotEmpty(t, regions)
	for _, region := range regions {
		require.NotEmpty(t, region.ID)
		require.NotEmpty(t, region.Name)
		for _, size := range region.Sizes {
			require.NotEmpty(t, size.ID)
			require.NotEmpty(t, size.Name)
			require.NotEmpty(t, size.Architecture)
			require.Positive(t, size.CPUMilli)
			require.Positive(t, size.MemoryBytes)
			require.Positive(t, size.DiskBytes)
		}
	}
}

func lifeCycle(t *testing.T, h Harness) {
	spec := h.Spec("conformance-life")
	first := h.running(t, h.Account, spec)
	ref := first.Ref()
	require.Equal(t, spec.ClientToken, first.Token)
	require.Equal(t, spec.Owner, first.Owner)
	require.Equal(t, spec.Region, first.Region)
	require.Nil(t, first.Fault)
	require.False(t, first.ObservedAt.IsZero())
	requireAddresses(t, first)

	if h.Driver.Traits().Supports(provider.OperationStop) {
		require.NoError(t, h.Driver.Stop(t.Context(), h.Account, ref))
		h.reach(t, h.Account, ref, provider.StateStopped)
		require.NoError(t, h.Driver.Start(t.Context(), h.Account, ref))
		// The addresses may be others now: what matters is that there are some.
		requireAddresses(t, h.reach(t, h.Account, ref, provider.StateRunning))
	}
	if h.Driver.Traits().Supports(provider.OperationRestart) {
		before := h.reach(t, h.Account, ref, provider.StateRunning)
		require.NoError(t, h.Driver.Restart(t.Context(), h.Account, ref))
		after := h.reach(t, h.Account, ref, provider.StateRunning)
		require.Equal(t, before.Addresses, after.Addresses, "a restart keeps the addresses")
	}
	require.NoError(t, h.Driver.Destroy(t.Context(), h.Account, ref))
	h.reachGone(t, h.Account, ref)
}

func requireAddresses(t *testing.T, o provider.Observation) {
	t.Helper()
	require.NotEmpty(t, o.Addresses, "a running instance has an address")
	for _, address := range o.Addresses {
		require.True(t, address.IP.IsValid())
		require.Contains(t, []provider.AddressScope{provider.ScopePublic, provider.ScopePrivate}, address.Scope)
	}
}

func idempotentActions(t *testing.T, h Harness) {
	spec := h.Spec("conformance-again")
	ref := h.running(t, h.Account, spec).Ref()
	traits := h.Driver.Traits()
	if traits.Supports(provider.OperationStart) {
		require.NoError(t, h.Driver.Start(t.Context(), h.Account, ref), "start while running")
		h.reach(t, h.Account, ref, provider.StateRunning)
	}
	if traits.Supports(provider.OperationStop) {
		require.NoError(t, h.Driver.Stop(t.Context(), h.Account, ref))
		require.NoError(t, h.Driver.Stop(t.Context(), h.Account, ref), "stop while stopping")
		h.reach(t, h.Account, ref, provider.StateStopped)
		require.NoError(t, h.Driver.Stop(t.Context(), h.Account, ref), "stop while stopped")
	}
	if traits.Supports(provider.OperationRestart) && traits.Supports(provider.OperationStop) {
		err := h.Driver.Restart(t.Context(), h.Account, ref)
		require.Equal(t, provider.ClassConflict, provider.ClassOf(err), "restart while stopped")
	}
	require.NoError(t, h.Driver.Destroy(t.Context(), h.Account, ref))
	require.NoError(t, h.Driver.Destroy(t.Context(), h.Account, ref), "destroy while being destroyed")
	h.reachGone(t, h.Account, ref)
	require.NoError(t, h.Driver.Destroy(t.Context(), h.Account, ref), "destroy when gone")
}

func listed(t *testing.T, h Harness) {
	spec := h.Spec("conformance-list")
	ref := h.running(t, h.Account, spec).Ref()
	isListed := func() (bool, string) {
		all, err := h.Driver.List(t.Context(), h.Account)
		require.NoError(t, err)
		for _, o := range all {
			if o.InstanceID == ref.InstanceID {
				require.Equal(t, spec.ClientToken, o.Token)
				require.Equal(t, spec.Owner, o.Owner)
				return true, "listed"
			}
		}
		return false, "not listed"
	}
	h.eventually(t, "wait until listed", isListed)
	require.NoError(t, h.Driver.Destroy(t.Context(), h.Account, ref))
	h.eventually(t, "wait until no longer listed", func() (bool, string) {
		there, seen := isListed()
		return !there, seen
	})
}

func stoppedOutside(t *testing.T, h Harness) {
	h.need(t, "PowerOff")
	ref := h.running(t, h.Account, h.Spec("conformance-off")).Ref()
	h.Faults.PowerOff(t, h.Account, ref)
	h.reach(t, h.Account, ref, provider.StateStopped)
	require.NoError(t, h.Driver.Start(t.Context(), h.Account, ref))
	h.reach(t, h.Account, ref, provider.StateRunning)
}

func removedOutside(t *testing.T, h Harness) {
	h.need(t, "Remove")
	spec := h.Spec("conformance-removed")
	ref := h.running(t, h.Account, spec).Ref()
	h.Faults.Remove(t, h.Account, ref)
	h.reachGone(t, h.Account, ref)
	requireGone(t, h, ref)
	h.eventually(t, "wait until the token finds nothing", func() (bool, string) {
		left := h.alive(t, h.Account, spec.ClientToken)
		return len(left) == 0, "still found"
	})
}

func absent(t *testing.T, h Harness) {
	// An id of the cloud's own making, so that it is well-formed.
	ref := h.running(t, h.Account, h.Spec("conformance-absent")).Ref()
	require.NoError(t, h.Driver.Destroy(t.Context(), h.Account, ref))
	h.reachGone(t, h.Account, ref)
	requireGone(t, h, ref)
	found, err := h.Driver.FindByToken(t.Context(), h.Account, h.Spec("conformance-none").ClientToken)
	require.NoError(t, err)
	require.Empty(t, found)
}

// requireGone checks what each call says about an instance that does not exist.
func requireGone(t *testing.T, h Harness, ref provider.Ref) {
	t.Helper()
	_, err := h.Driver.Observe(t.Context(), h.Account, ref)
	require.Equal(t, provider.ClassGone, provider.ClassOf(err))
	traits := h.Driver.Traits()
	if traits.Supports(provider.OperationStart) {
		require.Equal(t, provider.ClassGone, provider.ClassOf(h.Driver.Start(t.Context(), h.Account, ref)))
	}
	if traits.Supports(provider.OperationStop) {
		require.Equal(t, provider.ClassGone, provider.ClassOf(h.Driver.Stop(t.Context(), h.Account, ref)))
	}
	if traits.Supports(provider.OperationRestart) {
		require.Equal(t, provider.ClassGone, provider.ClassOf(h.Driver.Restart(t.Context(), h.Account, ref)))
	}
	require.NoError(t, h.Driver.Destroy(t.Context(), h.Account, ref))
}
