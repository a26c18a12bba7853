package api

import (
	"slices"
	"strings"

	"github.com/valyala/fasthttp"

	"github.com/pulsecast/pulsecast/app/problem"
)

// maxParameter bounds the length of a query parameter, in characters. The longest cursor names a model with 80
// characters of four bytes.
const maxParameter = 500

// choice returns a parameter that must be one of a few words, or "" if it is left out. It refuses an empty
// value, so that a request with a bare ?dryRun doesn't publish.
func choice(args *fasthttp.Args, name string, choices ...string) (string, error) {
	value, err := text(args, name, maxParameter)
	if err != nil || !args.Has(name) {
		return "", err
	}
	if !slices.Contains(choices, value) {
		return "", problem.InvalidParameter(name, "must be one of "+strings.Join(choices, ", "))
	}
	return value, nil
}
