package manifest

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const day = 24 * time.Hour

// Duration is a length of time in whole minutes. Its text is the part of
// ISO 8601 that has one meaning only: days of 24 hours, hours and minutes
// (P1DT12H30M).
type Duration time.Duration

// The lengths of the digit runs keep every sum far below what time.Duration
// can hold.
var durationForm = regexp.MustCompile(`^P(?:(\d{1,3})D)?(?:T(?:(\d{1,4})H)?(?:(\d{1,6})M)?)?$`)

// MarshalText writes days, hours and minutes, so that equal durations have
// equal text.
func (d Duration) MarshalText() ([]byte, error) {
	return []byte(d.String()), nil
}

// UnmarshalText reads days, hours and minutes. "P" and "PT" read as zero.
func (d *Duration) UnmarshalText(text []byte) error {
	parts := durationForm.FindSubmatch(text)
	if parts == nil {
		return fmt.Errorf("duration %q is not ISO 8601 in days, hours and minutes", text)
	}
	var total time.Duration
	for i, unit := range []time.Duration{day, time.Hour, time.Minute} {
		if digits := string(parts[i+1]); digits != "" {
			amount, err := strconv.Atoi(digits)
			if err != nil {
				return fmt.Errorf("duration %q: %w", text, err)
			}
			total += time.Duration(amount) * unit
		}
	}
	*d = Duration(total)
	return nil
}

// String is the text form; what is below a minute is cut.
func (d Duration) String() string {
	rest := time.Duration(d)
	var text strings.Builder
	text.WriteByte('P')
	if days := rest / day; days > 0 {
		fmt.Fprintf(&text, "%dD", days)
		rest -= days * day
	}
	hours, minutes := rest/time.Hour, rest%time.Hour/time.Minute
	if hours > 0 || minutes > 0 || text.Len() == 1 {
		text.WriteByte('T')
	}
	if hours > 0 {
		fmt.Fprintf(&text, "%dH", hours)
	}
	if minutes > 0 || text.String() == "PT" {
		fmt.Fprintf(&text, "%dM", minutes)
	}
	return text.String()
}
