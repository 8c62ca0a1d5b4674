package simulator

import (
	"context"
	"slices"

	"biztraak.dev/vm/internal/provider"
)

// Regions and sizes that the simulated cloud offers, for callers that need one
// without asking.
const (
	RegionNorth = "sim-north"
	RegionSouth = "sim-south"
	SizeSmall   = "sim-small"
	SizeMedium  = "sim-medium"
	SizeLarge   = "sim-large"
	SizeXLarge  = "sim-xlarge"
)

const gibibyte = int64(1) << 30

// Offerings implements provider.Driver.
func (s *Simulator) Offerings(ctx context.Context, account provider.Account) ([]provider.Region, error) {
	if _, err := s.enter(ctx, account, Call{Op: OpOfferings}); err != nil {
		return nil, err
	}
	return offerings(), nil
}

func offerings() []provider.Region {
	return []provider.Region{
		{ID: RegionNorth, Name: "Simulated North", Sizes: sizes()},
		{ID: RegionSouth, Name: "Simulated South", Sizes: sizes()},
	}
}

func sizes() []provider.Size {
	size := func(id, name string, cpus, memory, disk int64) provider.Size {
		return provider.Size{
			ID: id, Name: name, CPUMilli: cpus * 1000, MemoryBytes: memory * gibibyte, DiskBytes: disk * gibibyte, Architecture: "amd64",
		}
	}
	return []provider.Size{
		size(SizeSmall, "Small", 1, 2, 20),
		size(SizeMedium, "Medium", 2, 4, 40),
		size(SizeLarge, "Large", 4, 8, 80),
		size(SizeXLarge, "Extra large", 8, 32, 160),
	}
}

func offered(region, size string) bool {
	return slices.ContainsFunc(offerings(), func(r provider.Region) bool {
		return r.ID == region && slices.ContainsFunc(r.Sizes, func(s provider.Size) bool { return s.ID == size })
	})
}

// sizeOf returns the offered size of an id; a zero one when it is unknown.
func sizeOf(id string) provider.Size {
	all := sizes()
	if i := slices.IndexFunc(all, func(s provider.Size) bool { return s.ID == id }); i >= 0 {
		return all[i]
	}
	return provider.Size{}
}
