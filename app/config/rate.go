package config

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Rate is a limit of N requests per second, minute or hour. The zero Rate is no limit.
type Rate struct {
	N   int
	Per time.Duration
}

// Off reports whether there is no limit.
func (r Rate) Off() bool { return r.N == 0 }

// Interval returns how long one request of a full quota takes to become available again, at least 1 ns. The Rate must
// not be off.
func (r Rate) Interval() time.Duration { return max(r.Per/time.Duration(r.N), 1) }

// String returns the form that UnmarshalText reads.
func (r Rate) String() string {
	switch {
	case r.Off():
		return "off"
	case r.Per == time.Second:
		return strconv.Itoa(r.N) + "/s"
	case r.Per == time.Hour:
		return strconv.Itoa(r.N) + "/h"
	default:
		return strconv.Itoa(r.N) + "/min"
	}
}

// UnmarshalText reads "N/s", "N/min", "N/h" or "off".
func (r *Rate) UnmarshalText(text []byte) error {
	if string(text) == "off" {
		*r = Rate{}
		return nil
	}
	count, unit, _ := strings.Cut(string(text), "/")
	per := map[string]time.Duration{"s": time.Second, "min": time.Minute, "h": time.Hour}[unit]
	n, err := strconv.Atoi(count)
	if err != nil || per == 0 || n < 1 {
		return fmt.Errorf("%q is not a rate: write N/s, N/min, N/h or off", text)
	}
	*r = Rate{N: n, Per: per}
	return nil
}
