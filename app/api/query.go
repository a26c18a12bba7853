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

// filter returns a parameter that narrows an answer, or "" if it is left out. It refuses an empty value, because that often
// comes from a variable that isn't set, and the answer would hold everything.
func filter(args *fasthttp.Args, name string, most int) (string, error) {
	value, err := text(args, name, most)
	if err == nil && value == "" && args.Has(name) {
		err = problem.InvalidParameter(name, "is empty: send a value, or leave the parameter out")
	}
	return value, err
}

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
