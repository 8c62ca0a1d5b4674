package simulator_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/provider"
	"biztraak.dev/vm/internal/provider/simulator"
)

func TestRateLimitIsCountedInTheStore(t *testing.T) {
	w := newWorld(simulator.Options{})
	spec := w.spec("rate-limited")
	for i := range 2 {
		// Each refusal comes from another process.
		_, err := simulator.New(w.store, simulator.Options{}).Create(t.Context(), w.account, spec)
		require.Equal(t, provider.ClassRetryAfter, provider.ClassOf(err), "call %d", i)
		require.Equal(t, time.Second, provider.Classify(err).RetryAfter)
	}
	w.create(t, "rate-limited")
	listed, err := w.List(t.Context(), w.account)
	require.NoError(t, err)
	require.Len(t, listed, 1, "the count is no machine")
}

func TestAccountFaults(t *testing.T) {
	cases := []struct {
		name, fault string
		verify      []provider.Class // of calls in a row
		create      provider.Class
	}{
		{"none", "", []provider.Class{""}, ""},
		{"credentials", "credentials", []provider.Class{provider.ClassCredentials, provider.ClassCredentials}, provider.ClassCredentials},
		{"rate limited", "rate-limited", []provider.Class{provider.ClassRetryAfter, provider.ClassRetryAfter, ""}, ""},
		{"capacity", "capacity", []provider.Class{""}, provider.ClassCapacity},
		{"several", " slow-boot, quota ", []provider.Class{""}, provider.ClassQuota},
		{"misspelled", "slowboot", []provider.Class{provider.ClassBug}, provider.ClassBug},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(simulator.Options{})
			w.account.Settings = map[string]string{simulator.SettingFault: c.fault}
			for i, want := range c.verify {
				require.Equal(t, want, provider.ClassOf(w.Verify(t.Context(), w.account)), "call %d", i)
			}
			_, err := w.Create(t.Context(), w.account, w.spec("web"))
			require.Equal(t, c.create, provider.ClassOf(err))
		})
	}
}

func TestAccountFaultStaysWithItsMachines(t *testing.T) {
	w := newWorld(simulator.Options{})
	w.account.Settings = map[string]string{simulator.SettingFault: "boot-crash"}
	ref := w.create(t, "web")
	w.account.Settings = nil
	w.pass(time.Minute)
	require.Equal(t, provider.StateError, w.state(t, ref))
}

func TestFaultWordsAreWholeWords(t *testing.T) {
	for name, want := range map[string]provider.Class{
		"capacity": provider.ClassCapacity, "my-capacity-2": provider.ClassCapacity, "capacityplan": "", "over-capacities": "",
		"quota": provider.ClassQuota, "unquota": "", "unhealthy-deploy": "", "unlocked": "",
	} {
		w := newWorld(simulator.Options{})
		_, err := w.Create(t.Context(), w.account, w.spec(name))
		require.Equal(t, want, provider.ClassOf(err), name)
	}
}

func TestLostAnswerShowsAfterTheDelay(t *testing.T) {
	w := newWorld(simulator.Options{})
	spec := w.spec("timeout-after-create")
	_, err := w.Create(t.Context(), w.account, spec)
	require.Equal(t, provider.ClassUnclear, provider.ClassOf(err))
	delay := w.Traits().VisibilityDelay
	for _, c := range []struct {
		pass time.Duration
		want int
	}{{0, 0}, {delay - ms, 0}, {ms, 1}} {
		w.pass(c.pass)
		found, err := w.FindByToken(t.Context(), w.account, spec.ClientToken)
		require.NoError(t, err)
		require.Len(t, found, c.want)
		all, err := w.List(t.Context(), w.account)
		require.NoError(t, err)
		require.Len(t, all, c.want)
	}
}

func TestClientTokens(t *testing.T) {
	w := newWorld(simulator.Options{HonourClientTokens: true})
	ref := w.create(t, "web")
	require.Equal(t, ref, w.create(t, "web"), "the same machine")

	other := w.spec("web")
	other.Size = simulator.SizeLarge
	_, err := w.Create(t.Context(), w.account, other)
	require.Equal(t, provider.ClassBug, provider.ClassOf(err), "one token for two wishes")

	stranger := w.account
	stranger.ID = "acc_2"
	foreign, err := w.Create(t.Context(), stranger, w.spec("web"))
	require.NoError(t, err)
	require.NotEqual(t, ref.InstanceID, foreign.InstanceID, "a token belongs to an account")

	require.NoError(t, w.Destroy(t.Context(), w.account, ref))
	w.pass(time.Second)
	_, err = w.Create(t.Context(), w.account, w.spec("web"))
	require.Equal(t, provider.ClassGone, provider.ClassOf(err), "a token makes one machine ever")
}

func TestBadRequests(t *testing.T) {
	cases := []struct {
		name, code string
		spoil      func(*provider.Spec)
	}{
		{"no token", "NO_CLIENT_TOKEN", func(s *provider.Spec) { s.ClientToken = "" }},
		{"region", "NOT_OFFERED", func(s *provider.Spec) { s.Region = "nowhere" }},
		{"size", "NOT_OFFERED", func(s *provider.Spec) { s.Size = "tiny" }},
		{"user data", "USER_DATA_TOO_LARGE", func(s *provider.Spec) { s.UserData = provider.NewSecret(make([]byte, 16<<10+1)) }},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(simulator.Options{})
			spec := w.spec("web")
			c.spoil(&spec)
			_, err := w.Create(t.Context(), w.account, spec)
			require.Equal(t, provider.ClassBug, provider.ClassOf(err))
			require.Equal(t, c.code, provider.Classify(err).Code)
		})
	}
}
