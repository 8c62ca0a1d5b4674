package provider_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/provider"
)

// TestEnsureCreatedSurvivesDeathAnywhere kills the worker at each place in turn,
// lets another one finish, and wants one instance on record and no other alive.
func TestEnsureCreatedSurvivesDeathAnywhere(t *testing.T) {
	const delay = 300 * time.Millisecond
	cases := []struct {
		name    string
		traits  provider.Traits
		show    time.Duration
		loseAll bool
		twins   bool // a twin exists from the start
	}{
		{name: "a cloud with tokens", traits: provider.Traits{HonoursClientToken: true}},
		{name: "a cloud with tokens that shows late", traits: provider.Traits{HonoursClientToken: true, VisibilityDelay: delay}, show: delay},
		{name: "a cloud without tokens", traits: provider.Traits{}},
		{name: "a cloud without tokens that shows late", traits: provider.Traits{VisibilityDelay: delay}, show: delay},
		{name: "a cloud that loses each answer", traits: provider.Traits{VisibilityDelay: delay}, show: delay, loseAll: true},
		{name: "a cloud that shows later than it promises", traits: provider.Traits{VisibilityDelay: delay}, show: 3 * delay},
		{name: "a cloud with a twin already", traits: provider.Traits{VisibilityDelay: delay}, twins: true},
	}
	for _, c := range cases {
		for _, byPanic := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, panic %t", c.name, byPanic), func(t *testing.T) {
				for at := 1; ; at++ {
					cloud := newCloud(c.traits)
					cloud.show, cloud.loseAll = c.show, c.loseAll
					cloud.deaths = &deaths{at: at, byPanic: byPanic}
					w := &wish{cloud: cloud}
					if c.twins {
						for _, id := range []string{"i-b", "i-a"} {
							cloud.instances = append(cloud.instances, &provider.Observation{InstanceID: id, Token: token, State: provider.StateRunning, CreatedAt: cloud.now})
						}
						w.tries = 1
					}
					_, err := w.try(t)
					reached := cloud.deaths.passed >= at
					if reached && byPanic { // an error may be recovered from at once, by a look
						require.ErrorIs(t, err, errDied, "death %d", at)
					}

					for range 5 { // later workers, undisturbed, as time passes
						cloud.now = cloud.now.Add(delay)
						_, err = w.try(t)
					}
					require.NoError(t, err, "death %d", at)
					require.NotNil(t, w.recorded, "death %d", at)
					require.Equal(t, []string{w.recorded.InstanceID}, cloud.alive(), "death %d, log %v", at, cloud.log)
					requireGuarded(t, cloud.log)
					if !reached {
						require.Greater(t, at, 4, "the deaths did not cover the run")
						return
					}
				}
			})
		}
	}
}

// requireGuarded checks that each create and destroy has a guard just before it.
func requireGuarded(t *testing.T, log []string) {
	t.Helper()
	for i, entry := range log {
		if entry == "create" || (len(entry) > 7 && entry[:7] == "destroy") {
			require.Positive(t, i)
			require.Equal(t, "guard", log[i-1], "%s is not guarded in %v", entry, log)
		}
	}
}

func TestEnsureCreatedSavesBeforeAnythingElse(t *testing.T) {
	cloud := newCloud(provider.Traits{})
	w := &wish{cloud: cloud, tries: 1}
	cloud.instances = []*provider.Observation{
		{InstanceID: "i-2", Token: token, State: provider.StateRunning, CreatedAt: cloud.now.Add(-time.Minute)},
		{InstanceID: "i-1", Token: token, State: provider.StateRunning, CreatedAt: cloud.now},
		{InstanceID: "i-0", Token: token, State: provider.StateError, CreatedAt: cloud.now.Add(-time.Hour)},
	}
	created, err := w.try(t)
	require.NoError(t, err)
	require.Equal(t, "i-2", created.Observation.InstanceID, "the oldest usable one is kept")
	require.Equal(t, []provider.Ref{{InstanceID: "i-1"}, {InstanceID: "i-0"}}, created.Twins)
	require.Equal(t, []string{"save i-2", "guard", "destroy i-1", "guard", "destroy i-0"}, cloud.log)
}

func TestEnsureCreatedKeepsTheRecordedOne(t *testing.T) {
	cloud := newCloud(provider.Traits{})
	cloud.instances = []*provider.Observation{
		{InstanceID: "i-old", Token: token, State: provider.StateRunning},
		{InstanceID: "i-rec", Token: token, State: provider.StateRunning, CreatedAt: cloud.now},
		{InstanceID: "i-other", Token: "op_2", State: provider.StateRunning},
	}
	w := &wish{cloud: cloud, recorded: &provider.Ref{InstanceID: "i-rec"}}
	created, err := w.try(t)
	require.NoError(t, err)
	require.Equal(t, "i-rec", created.Observation.InstanceID)
	require.Equal(t, []string{"i-rec", "i-other"}, cloud.alive(), "what a wrong filter lets through is nobody's twin")
}

func TestEnsureCreatedLeavesADyingInstanceAlone(t *testing.T) {
	cloud := newCloud(provider.Traits{})
	cloud.instances = []*provider.Observation{{InstanceID: "i-dying", Token: token, State: provider.StateDeleting}}
	created, err := (&wish{cloud: cloud, tries: 1}).try(t)
	require.NoError(t, err)
	require.NotEqual(t, "i-dying", created.Observation.InstanceID)
	require.Empty(t, created.Twins)
}

func TestEnsureCreatedStopsAtTheGuard(t *testing.T) {
	lost := errors.New("the lease is lost")
	cases := []struct {
		name      string
		instances []string
		recorded  string
	}{
		{name: "before a create"},
		{name: "before a twin is destroyed", instances: []string{"i-1", "i-2"}, recorded: "i-1"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			cloud := newCloud(provider.Traits{})
			w := &wish{cloud: cloud}
			for _, id := range c.instances {
				cloud.instances = append(cloud.instances, &provider.Observation{InstanceID: id, Token: token, State: provider.StateRunning})
			}
			if c.recorded != "" {
				w.recorded = &provider.Ref{InstanceID: c.recorded}
			}
			creation := w.creation()
			creation.Guard = func(context.Context) error { return lost }
			created, err := provider.EnsureCreated(t.Context(), creation)
			require.ErrorIs(t, err, lost)
			require.Equal(t, c.instances, cloud.alive())
			require.Empty(t, cloud.log)
			require.Equal(t, c.recorded, created.Observation.InstanceID)
		})
	}
}

func TestEnsureCreatedAnswersOfACreate(t *testing.T) {
	refuse := func(class provider.Class) error {
		return &provider.Error{Class: class, Code: "X", Message: "no"}
	}
	cases := []struct {
		name  string
		err   error
		class provider.Class
		looks bool // the refusal is not taken at its word
	}{
		{"retry after", refuse(provider.ClassRetryAfter), provider.ClassRetryAfter, false},
		{"capacity", refuse(provider.ClassCapacity), provider.ClassCapacity, false},
		{"quota", refuse(provider.ClassQuota), provider.ClassQuota, false},
		{"credentials", refuse(provider.ClassCredentials), provider.ClassCredentials, false},
		{"conflict", refuse(provider.ClassConflict), provider.ClassConflict, false},
		{"unclear", refuse(provider.ClassUnclear), provider.ClassUnclear, true},
		{"bug", refuse(provider.ClassBug), provider.ClassBug, true},
		{"unsorted", errors.New("boom"), provider.ClassBug, true},
		{"interrupted", context.DeadlineExceeded, provider.ClassUnclear, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			cloud := newCloud(provider.Traits{VisibilityDelay: time.Second})
			cloud.refusal = c.err
			before := cloud.now
			w := &wish{cloud: cloud}
			_, err := w.try(t)
			require.ErrorIs(t, err, c.err)
			require.Equal(t, c.class, provider.ClassOf(err))
			require.Nil(t, w.recorded)
			require.Equal(t, c.looks, cloud.now.After(before), "two looks are a visibility delay apart")
		})
	}
}

func TestEnsureCreatedBelievesGoneOnlyAfterTheDelay(t *testing.T) {
	const delay = time.Second
	cloud := newCloud(provider.Traits{VisibilityDelay: delay})
	cloud.instances = []*provider.Observation{{InstanceID: "i-young", Token: token, State: provider.StateCreating, CreatedAt: cloud.now}}
	created, err := (&wish{cloud: cloud, recorded: &provider.Ref{InstanceID: "i-young"}}).try(t)
	require.NoError(t, err)
	require.Equal(t, "i-young", created.Observation.InstanceID)

	_, err = (&wish{cloud: cloud, recorded: &provider.Ref{InstanceID: "i-gone"}}).try(t)
	require.Equal(t, provider.ClassGone, provider.ClassOf(err))
	require.NotContains(t, cloud.log, "create", "a recorded instance is never replaced")
}

func TestEnsureCreatedSavesThoughTheCallerIsCancelled(t *testing.T) {
	cloud := newCloud(provider.Traits{})
	w := &wish{cloud: cloud}
	ctx, cancel := context.WithCancel(t.Context())
	creation := w.creation()
	creation.Guard = func(context.Context) error { cancel(); return nil }
	creation.Save = func(ctx context.Context, ref provider.Ref) error {
		w.recorded = &ref
		_, bounded := ctx.Deadline()
		require.True(t, bounded)
		return ctx.Err()
	}
	_, err := provider.EnsureCreated(ctx, creation)
	require.NoError(t, err)
	require.NotNil(t, w.recorded)
}

func TestEnsureCreatedNeedsAToken(t *testing.T) {
	w := &wish{cloud: newCloud(provider.Traits{})}
	creation := w.creation()
	creation.Spec.ClientToken = ""
	_, err := provider.EnsureCreated(t.Context(), creation)
	require.Equal(t, provider.ClassBug, provider.ClassOf(err))
	require.Empty(t, w.cloud.log)
}

func TestEnsureCreatedWaitsOnATimerAndHearsItsContext(t *testing.T) {
	cloud := newCloud(provider.Traits{VisibilityDelay: time.Hour})
	creation := (&wish{cloud: cloud, tries: 1}).creation()
	creation.Wait = nil
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, err := provider.EnsureCreated(ctx, creation)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Equal(t, provider.ClassUnclear, provider.ClassOf(err))
	require.NotContains(t, cloud.log, "create")
}
