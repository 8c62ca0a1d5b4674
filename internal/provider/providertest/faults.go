package providertest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/provider"
)

// requireClass checks the class of an error, and that it is fit to be shown.
func requireClass(t *testing.T, want provider.Class, err error, account provider.Account) *provider.Error {
	t.Helper()
	require.Error(t, err)
	var sorted *provider.Error
	require.True(t, errors.As(err, &sorted), "not sorted by the driver: %v", err)
	require.Equal(t, want, sorted.Class, "%v", err)
	require.NotEmpty(t, sorted.Code)
	require.NotEmpty(t, sorted.Message)
	require.NotContains(t, err.Error(), string(account.Credentials.Reveal()))
	return sorted
}

// refused checks a create that makes nothing.
func refused(fault string, want provider.Class, pick func(Faults) func(*testing.T) Case) func(*testing.T, Harness) {
	return func(t *testing.T, h Harness) {
		h.need(t, fault)
		c := pick(h.Faults)(t)
		_, err := h.Driver.Create(t.Context(), c.Account, c.Spec)
		requireClass(t, want, err, c.Account)
		if want != provider.ClassCredentials {
			require.Empty(t, h.alive(t, c.Account, c.Spec.ClientToken))
		}
	}
}

func retryAfter(t *testing.T, h Harness) {
	h.need(t, "RetryAfter")
	c := h.Faults.RetryAfter(t)
	h.cleanUp(t, c.Account, c.Spec.ClientToken)
	_, err := h.Driver.Create(t.Context(), c.Account, c.Spec)
	require.Positive(t, requireClass(t, provider.ClassRetryAfter, err, c.Account).RetryAfter)
	h.eventually(t, "wait until the create is let through", func() (bool, string) {
		_, err := h.Driver.Create(t.Context(), c.Account, c.Spec)
		return err == nil, fmt.Sprint(err)
	})
}

func nonsense(t *testing.T, h Harness) {
	spec := h.Spec("conformance-nonsense")
	spec.Size = "no-such-size"
	h.cleanUp(t, h.Account, spec.ClientToken)
	_, err := h.Driver.Create(t.Context(), h.Account, spec)
	requireClass(t, provider.ClassBug, err, h.Account)
	require.Empty(t, h.alive(t, h.Account, spec.ClientToken))
}

func locked(t *testing.T, h Harness) {
	h.need(t, "Locked")
	c := h.Faults.Locked(t)
	ref := h.running(t, c.Account, c.Spec).Ref()
	requireClass(t, provider.ClassConflict, h.Driver.Stop(t.Context(), c.Account, ref), c.Account)
	still, err := h.Driver.Observe(t.Context(), c.Account, ref)
	require.NoError(t, err)
	require.Equal(t, provider.StateRunning, still.State, "a conflict changes nothing")
}

func canceled(t *testing.T, h Harness) {
	ref := h.running(t, h.Account, h.Spec("conformance-cancel")).Ref()
	spec := h.Spec("conformance-canceled")
	h.cleanUp(t, h.Account, spec.ClientToken)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	calls := map[string]func() error{
		"Offerings":   func() error { _, err := h.Driver.Offerings(ctx, h.Account); return err },
		"Verify":      func() error { return h.Driver.Verify(ctx, h.Account) },
		"Create":      func() error { _, err := h.Driver.Create(ctx, h.Account, spec); return err },
		"Observe":     func() error { _, err := h.Driver.Observe(ctx, h.Account, ref); return err },
		"FindByToken": func() error { _, err := h.Driver.FindByToken(ctx, h.Account, spec.ClientToken); return err },
		"List":        func() error { _, err := h.Driver.List(ctx, h.Account); return err },
		"Destroy":     func() error { return h.Driver.Destroy(ctx, h.Account, ref) },
	}
	traits := h.Driver.Traits()
	if traits.Supports(provider.OperationStart) {
		calls["Start"] = func() error { return h.Driver.Start(ctx, h.Account, ref) }
	}
	if traits.Supports(provider.OperationStop) {
		calls["Stop"] = func() error { return h.Driver.Stop(ctx, h.Account, ref) }
	}
	if traits.Supports(provider.OperationRestart) {
		calls["Restart"] = func() error { return h.Driver.Restart(ctx, h.Account, ref) }
	}
	for name, call := range calls {
		err := call()
		require.ErrorIs(t, err, context.Canceled, name)
		require.Equal(t, provider.ClassUnclear, provider.ClassOf(err), name)
	}
	require.Empty(t, h.alive(t, h.Account, spec.ClientToken))
	still, err := h.Driver.Observe(t.Context(), h.Account, ref)
	require.NoError(t, err)
	require.Equal(t, provider.StateRunning, still.State, "what was canceled changed nothing")
}

func secrecy(t *testing.T, h Harness) {
	account, secret := h.Account, string(h.Account.Credentials.Reveal())
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		require.NotContains(t, fmt.Sprintf(verb, account), secret, verb)
		require.NotContains(t, fmt.Sprintf(verb, h.Driver), secret, verb)
	}
	_, err := h.Driver.Observe(t.Context(), account, provider.Ref{InstanceID: "no-such-instance", Region: h.Spec("x").Region})
	require.Error(t, err)
	require.NotContains(t, fmt.Sprintf("%+v", err), secret)
}
