package components

import (
	"strconv"
	"time"

	"github.com/a-h/templ"
)

// percentUnit marks the values of a chart as probabilities.
const percentUnit = "%"

// Reading is what charts.js needs to show the values of a chart at a time. The drawing itself holds
// only positions.
type Reading struct {
	Latest    string // "22 Nov 2026, 07:53 UTC: 63.04 %"
	from, to  time.Time
	low, high float64 // range of the value axis
	unit      string
}

// readingTime is the layout of the time in the line above a chart. charts.js uses the same layout.
const readingTime = "2 Jan 2006, 15:04 UTC"

// readingOf describes a chart. values are its newest values in words, at the time at.
func readingOf(when span, scale Scale, unit string, at time.Time, values string) *Reading {
	return &Reading{
		Latest: at.UTC().Format(readingTime) + ": " + values,
		from:   when.from, to: when.to, low: scale.Low, high: scale.High, unit: unit,
	}
}

// attributes returns the data attributes that charts.js reads: times in Unix seconds and unscaled
// values.
func (r *Reading) attributes() templ.Attributes {
	if r == nil {
		return nil
	}
	value := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
	return templ.Attributes{
		"data-from": strconv.FormatInt(r.from.Unix(), 10), "data-to": strconv.FormatInt(r.to.Unix(), 10),
		"data-low": value(r.low), "data-high": value(r.high), "data-unit": r.unit,
	}
}
