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

const token = "op_1"

var errDied = errors.New("the worker died")

// deaths makes a worker die at the n-th place where it can.
type deaths struct {
	at, passed int
	byPanic    bool
}

func (d *deaths) here() error {
	d.passed++
	if d.passed != d.at {
		return nil
	}
	if d.byPanic {
		panic(errDied)
	}
	return errDied
}

// cloud is a provider.Driver in memory whose calls can be cut short before and
// after their effect.
type cloud struct {
	provider.Driver // what is not overridden is not called

	traits    provider.Traits
	show      time.Duration // real delay until an instance is seen
	loseAll   bool          // every create works and loses its answer
	refusal   error         // answer of every create
	deaths    *deaths
	now       time.Time
	instances []*provider.Observation
	log       []string
}

func (c *cloud) Traits() provider.Traits { return c.traits }

// step is a call with an effect: the worker can die on either side of it.
func (c *cloud) step(name string, effect func()) error {
	if err := c.deaths.here(); err != nil {
		return err
	}
	effect()
	c.log = append(c.log, name)
	return c.deaths.here()
}

func (c *cloud) Create(_ context.Context, _ provider.Account, spec provider.Spec) (provider.Observation, error) {
	if c.refusal != nil {
		return provider.Observation{}, c.refusal
	}
	var made *provider.Observation
	err := c.step("create", func() {
		if c.traits.HonoursClientToken && len(c.instances) > 0 {
			made = c.instances[0]
			return
		}
		made = &provider.Observation{
			InstanceID: fmt.Sprintf("i-%d", 9-len(c.instances)), Token: spec.ClientToken, State: provider.StateCreating, CreatedAt: c.now,
		}
		c.instances = append(c.instances, made)
	})
	if err == nil && c.loseAll {
		err = &provider.Error{Class: provider.ClassUnclear, Code: "LOST", Message: "lost"}
	}
	if err != nil {
		return provider.Observation{}, err
	}
	return *made, nil
}

func (c *cloud) Observe(_ context.Context, _ provider.Account, ref provider.Ref) (provider.Observation, error) {
	for _, o := range c.instances {
		if o.InstanceID == ref.InstanceID && o.State != provider.StateDeleting && c.shows(o) {
			return *o, c.deaths.here()
		}
	}
	return provider.Observation{}, &provider.Error{Class: provider.ClassGone, Code: "GONE", Message: "gone"}
}

func (c *cloud) FindByToken(context.Context, provider.Account, string) ([]provider.Observation, error) {
	var found []provider.Observation
	for _, o := range c.instances {
		if c.shows(o) {
			found = append(found, *o)
		}
	}
	return found, c.deaths.here()
}

func (c *cloud) Destroy(_ context.Context, _ provider.Account, ref provider.Ref) error {
	return c.step("destroy "+ref.InstanceID, func() {
		for _, o := range c.instances {
			if o.InstanceID == ref.InstanceID {
				o.State = provider.StateDeleting
			}
		}
	})
}

func (c *cloud) shows(o *provider.Observation) bool { return c.now.Sub(o.CreatedAt) >= c.show }

func (c *cloud) alive() (ids []string) {
	for _, o := range c.instances {
		if o.State != provider.StateDeleting {
			ids = append(ids, o.InstanceID)
		}
	}
	return ids
}

func newCloud(traits provider.Traits) *cloud {
	return &cloud{traits: traits, show: traits.VisibilityDelay, deaths: &deaths{}, now: time.Unix(1_700_000_000, 0)}
}

// wish is a worker's try against the cloud, with books that outlive it.
type wish struct {
	cloud    *cloud
	recorded *provider.Ref
	tries    int
}

func (w *wish) creation() provider.Creation {
	w.tries++
	return provider.Creation{
		Driver: w.cloud, Spec: provider.Spec{ClientToken: token}, Recorded: w.recorded, FirstTry: w.tries == 1,
		Guard: func(context.Context) error { w.cloud.log = append(w.cloud.log, "guard"); return w.cloud.deaths.here() },
		Save: func(_ context.Context, ref provider.Ref) error {
			return w.cloud.step("save "+ref.InstanceID, func() { w.recorded = &ref })
		},
		Wait: func(_ context.Context, d time.Duration) error {
			w.cloud.now = w.cloud.now.Add(d)
			return w.cloud.deaths.here()
		},
	}
}

// try runs EnsureCreated once; a panic becomes an error, as in a worker.
func (w *wish) try(t *testing.T) (created provider.Created, err error) {
	defer func() {
		if r := recover(); r != nil {
			require.Equal(t, errDied, r)
			err = errDied
		}
	}()
	return provider.EnsureCreated(t.Context(), w.creation())
}
