package providertest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/provider"
)

func TestNothingIsLeftOutInSilence(t *testing.T) {
	all := Faults{
		RetryAfter: noCase, Capacity: noCase, Quota: noCase, Credentials: noCase, LostAnswer: noCase, Locked: noCase,
		PowerOff: noEffect, Remove: noEffect,
	}
	without := all
	without.Quota = nil
	cases := []struct {
		name        string
		faults      Faults
		unsupported map[string]string
		problems    []string
	}{
		{"all given", all, nil, nil},
		{"one excused", without, map[string]string{"Quota": "the fake has none"}, nil},
		{"one missing", without, nil, []string{"fault Quota is neither given nor listed as unsupported with a reason"}},
		{"no reason", without, map[string]string{"Quota": ""}, []string{"fault Quota is neither given nor listed as unsupported with a reason"}},
		{"excused and given", all, map[string]string{"Quota": "why"}, []string{"fault Quota is given and listed as unsupported"}},
		{"misspelled", all, map[string]string{"Qouta": "why"}, []string{"Unsupported names Qouta, which is no fault"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.problems, Harness{Faults: c.faults, Unsupported: c.unsupported}.gaps())
		})
	}
}

func noCase(*testing.T) Case { return Case{} }

func noEffect(*testing.T, provider.Account, provider.Ref) {}
