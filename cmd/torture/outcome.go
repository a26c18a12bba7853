package main

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// outcome is what a check did and observed. Its methods are safe for concurrent use.
type outcome struct {
	mu       sync.Mutex
	order    []string // names of counts and times, in order of first use
	counts   map[string]int
	times    map[string]time.Duration // the longest time of each name
	faults   []string
	failures int // number of all faults; faults holds only the first ones
	notes    []string
	failed   chan struct{} // closed at the first fault
}

// keptFaults is the number of faults that are reported in words.
const keptFaults = 8

func newOutcome() *outcome {
	return &outcome{counts: map[string]int{}, times: map[string]time.Duration{}, failed: make(chan struct{})}
}

// count adds n to the count of a name, such as "nodes killed".
func (o *outcome) count(what string, n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.seen(what)
	o.counts[what] += n
}

// longest keeps the longest time of a name.
func (o *outcome) longest(what string, took time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.seen(what)
	o.times[what] = max(o.times[what], took)
}

func (o *outcome) seen(what string) {
	if !slices.Contains(o.order, what) {
		o.order = append(o.order, what)
	}
}

// fault records something that must not happen.
func (o *outcome) fault(format string, args ...any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.failures++; o.failures == 1 {
		close(o.failed)
	}
	if len(o.faults) < keptFaults {
		o.faults = append(o.faults, strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " "))
	}
}

// shows returns the first fault that shows a mistake, or "" if none does.
func (o *outcome) shows(b *breakage) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, f := range o.faults {
		if strings.Contains(f, b.fault) {
			return f
		}
	}
	return ""
}

// note records a remark for the report: what was not tried, and why.
func (o *outcome) note(format string, args ...any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.notes = append(o.notes, fmt.Sprintf(format, args...))
}

// faulty reports whether there was a fault so far.
func (o *outcome) faulty() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.failures > 0
}

// tried lists the counts and times as text, such as "200 nodes killed".
func (o *outcome) tried() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var list []string
	for _, what := range o.order {
		if took, ok := o.times[what]; ok {
			list = append(list, fmt.Sprintf("%s: %s", what, rounded(took)))
		} else {
			list = append(list, fmt.Sprintf("%s %s", grouped(o.counts[what]), what))
		}
	}
	return list
}

func rounded(d time.Duration) time.Duration {
	if d < 100*time.Millisecond {
		return d.Round(100 * time.Microsecond)
	}
	return d.Round(time.Millisecond)
}

// grouped formats a number with commas: 12,345.
func grouped(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
