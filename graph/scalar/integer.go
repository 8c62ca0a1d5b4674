package scalar

import (
	"encoding/json"
	"math"
	"strconv"

	"github.com/99designs/gqlgen/graphql"
)

// largestExact is 2^53 - 1, the largest integer that every JSON reader keeps.
const largestExact = 1<<53 - 1

// MarshalInt writes an Int.
func MarshalInt(n int) graphql.Marshaler { return number(int64(n)) }

// UnmarshalInt reads an Int: a whole number of 32 bits (GraphQL, 3.5.1), and
// never a string that looks like one.
func UnmarshalInt(v any) (int, error) {
	n, ok := whole(v)
	if !ok || n < math.MinInt32 || n > math.MaxInt32 {
		return 0, refuse("an Int is a whole number from %d to %d", math.MinInt32, math.MaxInt32)
	}
	return int(n), nil
}

// MarshalSequence writes a Sequence.
func MarshalSequence(n int64) graphql.Marshaler { return number(n) }

// UnmarshalSequence reads a Sequence, from 1 to 2^53 - 1.
func UnmarshalSequence(v any) (int64, error) {
	n, ok := whole(v)
	if !ok || n < 1 || n > largestExact {
		return 0, refuse("a Sequence is a whole number from 1 to %d", int64(largestExact))
	}
	return n, nil
}

// whole reads what literals and JSON make of an integer. A float is one when it
// has no fraction and is small enough to be exact.
func whole(v any) (int64, bool) {
	switch v := v.(type) {
	case int:
		return int64(v), true
	case int32:
		return int64(v), true
	case int64:
		return v, true
	case float64:
		return int64(v), v == math.Trunc(v) && math.Abs(v) <= largestExact
	case json.Number:
		if n, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			return n, true
		}
		f, err := v.Float64()
		return int64(f), err == nil && f == math.Trunc(f) && math.Abs(f) <= largestExact
	default:
		return 0, false
	}
}
