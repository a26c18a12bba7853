package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

type unit string

const (
	perSecond      unit = "/s"
	inMilliseconds unit = " ms"
	inMebibytes    unit = " MiB"
)

// series holds one quantity of one contender, with one value per round.
type series struct {
	name   string
	unit   unit
	values []float64
}

func (s series) median() float64 {
	if len(s.values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(s.values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 0 {
		return (sorted[middle-1] + sorted[middle]) / 2
	}
	return sorted[middle]
}

func (s series) String() string { return number(s.median()) + string(s.unit) }

// over divides each value by the other series' value of the same round.
func (s series) over(other series) series {
	out := series{}
	for i, v := range s.values {
		out.values = append(out.values, v/other.values[i])
	}
	return out
}

// spread formats the median with the minimum and the maximum.
func (s series) spread() string {
	return fmt.Sprintf("%s (%s..%s)", number(s.median()), number(slices.Min(s.values)), number(slices.Max(s.values)))
}

// target bounds the ratio of a row, or its own value if the row has no reference.
type target struct {
	atMost bool // otherwise at least
	bound  float64
	note   string // added in the table
}

func atLeast(bound float64, note ...string) target {
	return target{bound: bound, note: strings.Join(note, "")}
}
func atMost(bound float64, note ...string) target {
	return target{atMost: true, bound: bound, note: strings.Join(note, "")}
}

func (t target) reached(value float64) bool {
	if t.atMost {
		return value <= t.bound
	}
	return value >= t.bound
}

func (t target) String(u unit) string {
	sign := "≥ "
	if t.atMost {
		sign = "≤ "
	}
	return sign + strconv.FormatFloat(t.bound, 'f', -1, 64) + string(u) + t.note
}

// row is one line of the table. It compares our values with a reference, or shows ours alone.
type row struct {
	what            string
	ours, reference series // reference is empty for an absolute target
	target          target
	// either names a set of rows. One of them has to reach its target.
	either string
	// failed, if not empty, is the reason why the row misses its target whatever its numbers are.
	failed string
}

func (r row) relative() bool { return len(r.reference.values) > 0 }

// meets reports whether the median over the rounds reaches the row's target.
func (r row) meets() bool {
	if r.failed != "" {
		return false
	}
	if r.relative() {
		return r.target.reached(r.ours.over(r.reference).median())
	}
	return r.target.reached(r.ours.median())
}

// verdict returns whether a row reaches its target, either alone or by an alternative row.
func verdict(r row, all []row) string {
	met := func(o row) bool { return o.meets() && (o.what == r.what || o.either == r.either && r.either != "") }
	switch {
	case r.meets():
		return "yes"
	case r.failed != "":
		return "no: " + r.failed
	case slices.ContainsFunc(all, func(o row) bool { return r.either != "" && o.either == r.either && met(o) }):
		return "by the other"
	}
	return "**no**"
}

func cells(r row, all []row) []string {
	if !r.relative() {
		ours := r.ours.String()
		if len(r.ours.values) > 1 {
			ours = r.ours.spread() + string(r.ours.unit)
		}
		return []string{r.what, ours, "", "", r.target.String(r.ours.unit), verdict(r, all)}
	}
	reference := r.reference.String()
	if r.reference.name != "" {
		reference = r.reference.name + ": " + reference
	}
	ratio := r.ours.over(r.reference).spread()
	return []string{r.what, r.ours.String(), reference, ratio, r.target.String(""), verdict(r, all)}
}

// table formats rows as a Markdown table that is also readable as text.
func table(rows []row) string {
	lines := [][]string{{"what", "ours", "reference", "ratio (min..max)", "target", "reached"}}
	for _, r := range rows {
		lines = append(lines, cells(r, rows))
	}
	return align(lines)
}

// floorTable formats rows without targets. In each, the reference does only the work that our
// design can't avoid.
func floorTable(rows []row) string {
	lines := [][]string{{"what", "ours", "floor", "ratio (min..max)"}}
	for _, r := range rows {
		lines = append(lines, cells(r, nil)[:4])
	}
	return align(lines)
}

// align formats a Markdown table. The first line is its header.
func align(lines [][]string) string {
	widths := make([]int, len(lines[0]))
	for _, line := range lines {
		for i, cell := range line {
			widths[i] = max(widths[i], len([]rune(cell)))
		}
	}
	var out strings.Builder
	for n, line := range lines {
		for i, cell := range line {
			fmt.Fprintf(&out, "| %s%s ", cell, strings.Repeat(" ", widths[i]-len([]rune(cell))))
		}
		out.WriteString("|\n")
		for i := range widths {
			if n == 0 {
				out.WriteString("|" + strings.Repeat("-", widths[i]+2))
			}
		}
		if n == 0 {
			out.WriteString("|\n")
		}
	}
	return out.String()
}

// number formats a value with two or three significant digits and with commas between thousands.
func number(v float64) string {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return "?"
	case math.Abs(v) < 100:
		return strconv.FormatFloat(v, 'f', decimals(v), 64)
	}
	digits := strconv.FormatInt(int64(math.Round(v)), 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

func decimals(v float64) int {
	switch {
	case math.Abs(v) < .1:
		return 3
	case math.Abs(v) < 10:
		return 2
	}
	return 1
}
