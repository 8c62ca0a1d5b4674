package simulator_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/provider"
	"biztraak.dev/vm/internal/provider/providertest"
	"biztraak.dev/vm/internal/provider/simulator"
	"biztraak.dev/vm/internal/provider/simulator/simulatortest"
)

// hurried is a clock that runs n times as fast, so that a boot of two seconds
// keeps its shape and costs little.
func hurried(n int) func() time.Time {
	start := time.Now()
	return func() time.Time { return start.Add(time.Since(start) * time.Duration(n)) }
}

func TestConformance(t *testing.T) {
	for _, honor := range []bool{false, true} {
		t.Run(fmt.Sprintf("tokens honored %t", honor), func(t *testing.T) {
			sim := simulator.New(simulator.NewMemoryStore(), simulator.Options{HonourClientTokens: honor, Now: hurried(20)})
			account := provider.Account{ID: "acc_1", Credentials: provider.NewSecret([]byte("sim-secret-key"))}
			var made atomic.Int64
			spec := func(name string) provider.Spec {
				n := made.Add(1)
				return provider.Spec{
					ClientToken: fmt.Sprintf("op_%d", n), Owner: fmt.Sprintf("vmp_%d", n), Name: name,
					Region: simulator.RegionNorth, Size: simulator.SizeSmall, Image: "debian-12",
				}
			}
			named := func(name string) func(*testing.T) providertest.Case {
				return func(*testing.T) providertest.Case { return providertest.Case{Account: account, Spec: spec(name)} }
			}
			providertest.Run(t, providertest.Harness{
				Driver: sim, Account: account, Spec: spec, Patience: 10 * time.Second, Tick: 5 * time.Millisecond,
				Faults: providertest.Faults{
					RetryAfter: named("a-rate-limited"), Capacity: named("capacity"), Quota: named("quota-b"),
					Credentials: named("credentials"), LostAnswer: named("timeout-after-create"), Locked: named("locked"),
					PowerOff: func(t *testing.T, _ provider.Account, ref provider.Ref) {
						require.NoError(t, sim.PowerOffOutside(t.Context(), ref.InstanceID))
					},
					Remove: func(t *testing.T, _ provider.Account, ref provider.Ref) {
						require.NoError(t, sim.RemoveOutside(t.Context(), ref.InstanceID))
					},
				},
			})
		})
	}
}

func TestMemoryStore(t *testing.T) {
	simulatortest.RunStore(t, func(*testing.T) simulator.MachineStore { return simulator.NewMemoryStore() })
}
