package scalar

import (
	"math/big"
	"regexp"
	"strings"

	"github.com/99designs/gqlgen/graphql"
)

// The largest amounts that are read: a pebibyte, and a thousand cores. What is
// above them is a slip of the keyboard, and would overflow sums.
const (
	mostBytes     = 1 << 50
	mostMilliCPU  = 1_000_000
	milliPerCore  = 1000
	amountNumeral = `(\d{1,19}(?:\.\d{1,9})?)`
)

var (
	byteSizeForm = regexp.MustCompile(`^` + amountNumeral + `(?:([KMGTP])I?)?B?$`)
	milliCPUForm = regexp.MustCompile(`^` + amountNumeral + `(m?)$`)
)

// exponents of 1024 by unit.
var byteUnits = map[string]uint{"": 0, "K": 10, "M": 20, "G": 30, "T": 40, "P": 50}

// MarshalByteSize writes a number of bytes.
func MarshalByteSize(n int64) graphql.Marshaler { return number(n) }

// UnmarshalByteSize reads a number of bytes, as an integer or as text with a
// unit, a multiple of 1024 however it is spelled; a rest below a byte is cut.
// From 0 to 2^50.
func UnmarshalByteSize(v any) (int64, error) {
	if s, ok := v.(string); ok {
		parts := byteSizeForm.FindStringSubmatch(strings.ToUpper(s))
		if parts == nil {
			return 0, refuse("%s is not a ByteSize: write a whole number of bytes, or text such as 512Mi, 512MB or 0.5g", shown(s))
		}
		unit := new(big.Int).Lsh(big.NewInt(1), byteUnits[parts[2]])
		return bounded("a ByteSize", shown(s), product(parts[1], unit), mostBytes)
	}
	n, ok := whole(v)
	if !ok {
		return 0, refuse("a ByteSize is a whole number of bytes, or text such as 512Mi, 512MB or 0.5g, not %s", kindOf(v))
	}
	return bounded("a ByteSize", "the number", big.NewInt(n), mostBytes)
}

// MarshalMilliCPU writes thousandths of a core.
func MarshalMilliCPU(n int64) graphql.Marshaler { return number(n) }

// UnmarshalMilliCPU reads an amount of CPU: an integer is thousandths, text is
// cores, or thousandths with an `m`; a rest below a thousandth is cut. From 0 to
// a thousand cores.
func UnmarshalMilliCPU(v any) (int64, error) {
	if s, ok := v.(string); ok {
		parts := milliCPUForm.FindStringSubmatch(s)
		if parts == nil {
			return 0, refuse("%s is not a MilliCpu: write thousandths of a core as an integer, or text such as 500m or 0.5", shown(s))
		}
		unit := big.NewInt(milliPerCore)
		if parts[2] == "m" {
			unit = big.NewInt(1)
		}
		return bounded("a MilliCpu", shown(s), product(parts[1], unit), mostMilliCPU)
	}
	n, ok := whole(v)
	if !ok {
		return 0, refuse("a MilliCpu is thousandths of a core as an integer, or text such as 500m or 0.5, not %s", kindOf(v))
	}
	return bounded("a MilliCpu", "the number", big.NewInt(n), mostMilliCPU)
}

// product is numeral times unit, without what is below one. The numeral has
// been checked against amountNumeral.
func product(numeral string, unit *big.Int) *big.Int {
	r, ok := new(big.Rat).SetString(numeral)
	if !ok {
		return big.NewInt(-1) // no numeral that the form lets through
	}
	r.Mul(r, new(big.Rat).SetInt(unit))
	return new(big.Int).Quo(r.Num(), r.Denom())
}

func bounded(what, sent string, n *big.Int, most int64) (int64, error) {
	if n.Sign() < 0 || n.Cmp(big.NewInt(most)) > 0 {
		return 0, refuse("%s is out of bounds for %s: from 0 to %d", sent, what, most)
	}
	return n.Int64(), nil
}
