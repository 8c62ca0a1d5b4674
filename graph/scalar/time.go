package scalar

import (
	"fmt"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/99designs/gqlgen/graphql"
)

// dateTimeForm is RFC 3339, 5.6, with the capital letters that it recommends.
// time.Parse alone lets a comma before the fraction and odd offsets through.
var dateTimeForm = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`)

// MarshalDateTime writes a moment in UTC.
func MarshalDateTime(t time.Time) graphql.Marshaler { return quoted(t.UTC().Format(time.RFC3339Nano)) }

// UnmarshalDateTime reads a moment, with seconds and an offset, between the
// years 1 and 9999 in UTC.
func UnmarshalDateTime(v any) (time.Time, error) {
	s, err := text("a DateTime", v)
	if err != nil {
		return time.Time{}, err
	}
	if !dateTimeForm.MatchString(s) {
		return time.Time{}, refuse("%s is not a DateTime: write RFC 3339 with seconds and an offset, such as 2026-11-30T20:15:00Z", shown(s))
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return time.Time{}, refuse("%s is not a DateTime: there is no such date or time of day", shown(s))
	}
	if t = t.UTC(); t.Year() < 1 || t.Year() > 9999 {
		return time.Time{}, refuse("%s is not a DateTime: in UTC it is not between the years 1 and 9999", shown(s))
	}
	return t, nil
}

// longestDuration is far above anything that can be asked for, and far below
// what time.Duration holds.
const longestDuration = 3660 * 24 * time.Hour

// durationForm has at most ten digits a part; a sum that is too long is found
// with exact arithmetic.
var durationForm = regexp.MustCompile(`^P(?:(\d{1,10})W)?(?:(\d{1,10})D)?(?:T(?:(\d{1,10})H)?(?:(\d{1,10})M)?(?:(\d{1,10}(?:\.\d{1,9})?)S)?)?$`)

var durationUnits = []time.Duration{7 * 24 * time.Hour, 24 * time.Hour, time.Hour, time.Minute, time.Second}

// MarshalDuration writes days, hours, minutes and seconds, without the parts
// that are zero.
func MarshalDuration(d time.Duration) graphql.Marshaler { return quoted(durationText(d)) }

func durationText(d time.Duration) string {
	const day = 24 * time.Hour
	var date, clock strings.Builder
	if days := d / day; days > 0 {
		fmt.Fprintf(&date, "%dD", days)
	}
	if hours := d % day / time.Hour; hours > 0 {
		fmt.Fprintf(&clock, "%dH", hours)
	}
	if minutes := d % time.Hour / time.Minute; minutes > 0 {
		fmt.Fprintf(&clock, "%dM", minutes)
	}
	if rest := d % time.Minute; rest > 0 || date.Len()+clock.Len() == 0 {
		clock.WriteString(strconv.FormatFloat(float64(rest)/float64(time.Second), 'f', -1, 64) + "S")
	}
	if clock.Len() > 0 {
		return "P" + date.String() + "T" + clock.String()
	}
	return "P" + date.String()
}

// UnmarshalDuration reads an ISO 8601 duration of fixed length, at most ten
// years.
func UnmarshalDuration(v any) (time.Duration, error) {
	s, err := text("a Duration", v)
	if err != nil {
		return 0, err
	}
	parts := durationForm.FindStringSubmatch(s)
	if parts == nil || strings.HasSuffix(s, "T") || s == "P" {
		return 0, refuse("%s is not a Duration: write ISO 8601 with weeks, days, hours, minutes and seconds, such as PT1H30M or P2D", shown(s))
	}
	sum := new(big.Rat)
	for i, unit := range durationUnits {
		if parts[i+1] == "" {
			continue
		}
		part, ok := new(big.Rat).SetString(parts[i+1])
		if !ok {
			return 0, refuse("%s is not a Duration", shown(s))
		}
		sum.Add(sum, part.Mul(part, new(big.Rat).SetInt64(int64(unit))))
	}
	if sum.Cmp(new(big.Rat).SetInt64(int64(longestDuration))) > 0 {
		return 0, refuse("%s is too long for a Duration: at most %d days are possible", shown(s), int(math.Round(longestDuration.Hours()/24)))
	}
	return time.Duration(floor(sum)), nil
}

// floor is the whole part of a number that is not negative and fits.
func floor(r *big.Rat) int64 { return new(big.Int).Quo(r.Num(), r.Denom()).Int64() }
