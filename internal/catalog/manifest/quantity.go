package manifest

import (
	"fmt"
	"strconv"
	"strings"
)

// MilliCPU is an amount of CPU in thousandths of a processor. Its text is
// "500m"; "2" is read as 2000m.
type MilliCPU int64

// MarshalText writes thousandths, so that equal amounts have equal text.
func (c MilliCPU) MarshalText() ([]byte, error) {
	return []byte(c.String()), nil
}

// UnmarshalText reads thousandths with the suffix m, or whole processors.
func (c *MilliCPU) UnmarshalText(text []byte) error {
	digits, thousandths := strings.CutSuffix(string(text), "m")
	amount, err := strconv.ParseUint(digits, 10, 31)
	if err != nil {
		return fmt.Errorf("cpu %q is neither thousandths (500m) nor whole processors (2)", text)
	}
	*c = MilliCPU(amount)
	if !thousandths {
		*c *= 1000
	}
	return nil
}

// String is the text form.
func (c MilliCPU) String() string {
	return strconv.FormatInt(int64(c), 10) + "m"
}

// ByteSize is a number of bytes, a multiple of 1 MiB. Its text is "512Mi" or
// "10Gi".
type ByteSize int64

// The units that [ByteSize] is written in.
const (
	MiB ByteSize = 1 << 20
	GiB ByteSize = 1 << 30
)

// MarshalText writes the largest unit that divides the size, so that equal
// sizes have equal text.
func (b ByteSize) MarshalText() ([]byte, error) {
	return []byte(b.String()), nil
}

// UnmarshalText reads a whole number of Mi or Gi.
func (b *ByteSize) UnmarshalText(text []byte) error {
	unit := MiB
	digits, found := strings.CutSuffix(string(text), "Mi")
	if !found {
		unit = GiB
		digits, found = strings.CutSuffix(string(text), "Gi")
	}
	amount, err := strconv.ParseUint(digits, 10, 31)
	if err != nil || !found {
		return fmt.Errorf("size %q is not a whole number of Mi or Gi", text)
	}
	*b = ByteSize(amount) * unit
	return nil
}

// String is the text form.
func (b ByteSize) String() string {
	if b != 0 && b%GiB == 0 {
		return strconv.FormatInt(int64(b/GiB), 10) + "Gi"
	}
	return strconv.FormatInt(int64(b/MiB), 10) + "Mi"
}

// LeastResources is the smallest machine on which a template works.
type LeastResources struct {
	CPU    MilliCPU `json:"cpu"`
	Memory ByteSize `json:"memory"`
	Disk   ByteSize `json:"disk"`
}

// ExtraResources is what an add-on needs on top; zero is nothing.
type ExtraResources struct {
	CPU    MilliCPU `json:"cpu,omitempty"`
	Memory ByteSize `json:"memory,omitempty"`
	Disk   ByteSize `json:"disk,omitempty"`
}
