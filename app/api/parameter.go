package api

import (
	"fmt"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/pulsecast/pulsecast/app/problem"
	"github.com/pulsecast/pulsecast/app/signal"
)

// Bounds of the parameter limit, the same on every list.
const (
	MinLimit     = 1
	MaxLimit     = signal.MaxLimit
	DefaultLimit = signal.DefaultLimit
)

// ParseLimit returns the parameter limit: a whole number from 1 to 100, or 24 if it is left out. It refuses any
// other value with 400, including an empty or a repeated one.
func ParseLimit(args *fasthttp.Args) (int, error) {
	value, found, err := single(args, "limit")
	if err != nil {
		return 0, err
	}
	if !found {
		return DefaultLimit, nil
	}
	n, ok := limitIn(value)
	if !ok {
		return 0, badLimit()
	}
	return n, nil
}

// limitIn parses a value of the parameter limit. ok is false for a value that must be refused.
func limitIn(value []byte) (n int, ok bool) {
	for _, c := range value {
		if c < '0' || c > '9' {
			return 0, false
		}
		if n = n*10 + int(c-'0'); n > MaxLimit {
			return 0, false
		}
	}
	return n, n >= MinLimit
}

func badLimit() error {
	return problem.InvalidParameter("limit", fmt.Sprintf("must be one whole number from %d to %d, such as limit=%d; leave it out for %d",
		MinLimit, MaxLimit, DefaultLimit, DefaultLimit))
}

// parseTime parses an RFC 3339 time. Its "T" and "Z" may be in lower case (section 5.6), which time.Parse refuses.
func parseTime(text string) (time.Time, error) {
	return time.Parse(time.RFC3339, strings.ToUpper(text))
}

// single returns the value of a parameter that may be sent once. The value is valid only until the request
// ends.
func single(args *fasthttp.Args, name string) (value []byte, found bool, err error) {
	count := 0
	args.VisitAll(func(key, v []byte) {
		if string(key) == name {
			value = v
			count++
		}
	})
	if count > 1 {
		if name == "limit" {
			return nil, true, badLimit()
		}
		return nil, true, problem.InvalidParameter(name, "is repeated; send it once")
	}
	return value, count == 1, nil
}
