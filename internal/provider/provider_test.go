package provider_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/provider"
)

func TestSecretIsNeverPrinted(t *testing.T) {
	const value = "hunter2-key"
	account := provider.Account{ID: "acc_1", Credentials: provider.NewSecret([]byte(value))}
	hidden := struct{ account provider.Account }{account} // fmt calls no methods in here

	var logged bytes.Buffer
	slog.New(slog.NewJSONHandler(&logged, nil)).Info("x", "secret", account.Credentials, "account", account, "hidden", hidden)
	slog.New(slog.NewTextHandler(&logged, nil)).Info("x", "secret", account.Credentials, "account", account, "hidden", hidden)
	encoded, err := json.Marshal(map[string]any{"account": account, "secret": account.Credentials})
	require.NoError(t, err)

	printed := map[string]string{"log": logged.String(), "json": string(encoded)}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		printed["secret "+verb] = fmt.Sprintf(verb, account.Credentials)
		require.Equal(t, "[redacted]", printed["secret "+verb], verb)
		printed["account "+verb] = fmt.Sprintf(verb, account)
		printed["hidden "+verb] = fmt.Sprintf(verb, hidden)
	}
	for way, text := range printed {
		require.NotContains(t, text, value, way)
		require.NotContains(t, text, fmt.Sprintf("%x", value), way)
		require.NotContains(t, text, fmt.Sprintf("%d", []byte(value)), way)
	}
	require.Contains(t, printed["json"], "[redacted]")
}

func TestSecretKeepsACopy(t *testing.T) {
	value := []byte("secret")
	secret := provider.NewSecret(value)
	value[0] = 'X'
	secret.Reveal()[1] = 'X'
	require.Equal(t, "secret", string(secret.Reveal()))
	require.Equal(t, 6, secret.Len())
	require.Empty(t, provider.Secret{}.Reveal())
}

func TestClassOf(t *testing.T) {
	capacity := &provider.Error{Class: provider.ClassCapacity, Code: "FULL", Message: "no room"}
	boom := errors.New("boom")
	cases := []struct {
		name  string
		err   error
		want  provider.Class
		cause error
	}{
		{"none", nil, "", nil},
		{"sorted", capacity, provider.ClassCapacity, capacity},
		{"wrapped", fmt.Errorf("create: %w", capacity), provider.ClassCapacity, capacity},
		{"canceled", fmt.Errorf("create: %w", context.Canceled), provider.ClassUnclear, context.Canceled},
		{"late", context.DeadlineExceeded, provider.ClassUnclear, context.DeadlineExceeded},
		{"sorted with an ended context", &provider.Error{Class: provider.ClassGone, Err: context.Canceled}, provider.ClassGone, context.Canceled},
		{"unsorted", boom, provider.ClassBug, boom},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.want, provider.ClassOf(c.err))
			if c.cause != nil {
				require.ErrorIs(t, provider.Classify(c.err), c.cause)
			}
		})
	}
	require.Nil(t, provider.Classify(nil))
}

func TestErrorText(t *testing.T) {
	cases := []struct {
		name string
		err  *provider.Error
		want string
	}{
		{"class only", &provider.Error{Class: provider.ClassBug}, "BUG"},
		{"all", &provider.Error{Class: provider.ClassQuota, Code: "Q1", Message: "too many", Err: errors.New("http 403")}, "QUOTA (Q1): too many: http 403"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { require.EqualError(t, c.err, c.want) })
	}
}

type named struct {
	provider.Driver
	kind provider.Kind
}

func (n named) Kind() provider.Kind { return n.kind }

func TestRegistry(t *testing.T) {
	registry, err := provider.NewRegistry(named{kind: "B"}, named{kind: "A"})
	require.NoError(t, err)
	require.Equal(t, []provider.Kind{"A", "B"}, registry.Kinds())
	driver, err := registry.Driver("B")
	require.NoError(t, err)
	require.Equal(t, provider.Kind("B"), driver.Kind())

	_, err = registry.Driver("C")
	require.Equal(t, provider.ClassBug, provider.ClassOf(err))
	_, err = provider.NewRegistry(named{kind: "A"}, named{kind: "A"})
	require.EqualError(t, err, "two cloud drivers of kind A")
}

func TestTraitsSupports(t *testing.T) {
	traits := provider.Traits{Operations: []provider.Operation{provider.OperationStop}}
	require.True(t, traits.Supports(provider.OperationStop))
	require.False(t, traits.Supports(provider.OperationStart))
}
