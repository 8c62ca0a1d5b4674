package provider

import (
	"fmt"
	"maps"
	"slices"
)

// Registry holds the drivers that this process can use, one of each kind. It
// never changes after it is made, so it is safe for concurrent use.
type Registry struct{ drivers map[Kind]Driver }

// NewRegistry takes the drivers. Two of one kind are an error of the wiring.
func NewRegistry(drivers ...Driver) (*Registry, error) {
	byKind := make(map[Kind]Driver, len(drivers))
	for _, driver := range drivers {
		if _, twice := byKind[driver.Kind()]; twice {
			return nil, fmt.Errorf("two cloud drivers of kind %s", driver.Kind())
		}
		byKind[driver.Kind()] = driver
	}
	return &Registry{drivers: byKind}, nil
}

// Driver returns the driver of a kind. ClassBug when this process has none: the
// account was made by a process that is set up in another way.
func (r *Registry) Driver(kind Kind) (Driver, error) {
	if driver, ok := r.drivers[kind]; ok {
		return driver, nil
	}
	return nil, &Error{Class: ClassBug, Code: "NO_DRIVER", Message: fmt.Sprintf("this server has no driver for %s", kind)}
}

// Kinds lists the kinds in alphabetical order.
func (r *Registry) Kinds() []Kind { return slices.Sorted(maps.Keys(r.drivers)) }
