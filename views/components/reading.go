package components

import (
	"strconv"
	"time"

	"github.com/a-h/templ"
)

// percentUnit says that the values of a chart are probabilities.
const percentUnit = "%"

// Reading is what charts.js needs to tell the values of a chart at a moment: the drawing holds
// places only.
type Reading struct {
	Latest    string // "22 Nov 2026, 07:53 UTC: 63.04 %"
	from, to  time.Time
	low, high float64 // of the values drawn
	unit      string
}

// readingTime is how the line above a chart writes a moment; charts.js writes it so too.
const readingTime = "2 Jan 2006, 15:04 UTC"

// readingOf describes a chart whose newest values, in words, are of the moment at.
func readingOf(when span, scale Scale, unit string, at time.Time, values string) *Reading {
	return &Reading{
		Latest: at.UTC().Format(readingTime) + ": " + values,
		from:   when.from, to: when.to, low: scale.Low, high: scale.High, unit: unit,
	}
}

// attributes are read by charts.js: times in Unix seconds, values as they are.
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
