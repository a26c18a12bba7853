package main

import (
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// reportPage is the page that only a complete run at full scale writes.
const reportPage = "docs/performance.md"

// The least settings of a run at full scale. They are the defaults.
const (
	leastRounds      = 3
	leastLoad        = 10 * time.Minute
	leastPredictions = 1_000_000
	leastCrowd       = 100_000
)

var leastAttack = []int{15_000, 1_000_000}

// below lists the settings, as environment variables, that keep a run from being complete and at full scale.
func (o *options) below() (list []string) {
	for _, s := range []struct {
		name string
		low  bool
	}{
		{"BENCH_ROWS", len(o.Rows) > 0},
		{"BENCH_ROUNDS", o.Rounds < leastRounds},
		{"BENCH_LOAD", o.Load < leastLoad},
		{"BENCH_PREDICTIONS", o.Predictions < leastPredictions},
		{"BENCH_ATTACK", !slices.Equal(o.Attack, leastAttack)},
		{"BENCH_CROWD", o.Crowd < leastCrowd},
	} {
		if s.low {
			list = append(list, s.name)
		}
	}
	return list
}

// destination returns the file to write the report to, or "" for none. If that isn't reportPage, unchanged says
// why. failed is the error of the groups that failed.
func (o *options) destination(failed error) (path, unchanged string) {
	other := o.Out
	if sameFile(other, reportPage) {
		other = ""
	}
	switch low := o.below(); {
	case failed != nil:
		return other, "not every row was measured"
	case len(low) > 0:
		return other, "the scale of this run is too small: " + strings.Join(low, ", ")
	case other != "":
		return other, "BENCH_OUT names another file"
	}
	return reportPage, ""
}

func sameFile(a, b string) bool {
	a, errA := filepath.Abs(a)
	b, errB := filepath.Abs(b)
	return errA == nil && errB == nil && a == b
}
