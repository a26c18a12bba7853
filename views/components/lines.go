package components

import (
	"strconv"
	"strings"
	"time"
)

// Series is the price of one outcome over time, oldest first.
type Series struct {
	Name   string
	Prices []PricePoint
}

// Last returns the newest price, 0..1. The series must not be empty.
func (s Series) Last() float64 { return s.Prices[len(s.Prices)-1].Price }

// Range returns the lowest and the highest price. The series must not be empty.
func (s Series) Range() (low, high float64) {
	low, high = 1, 0
	for _, p := range s.Prices {
		low, high = min(low, p.Price), max(high, p.Price)
	}
	return low, high
}

// Drawable returns the series with at least two prices, because a line needs two points.
func Drawable(series []Series) []Series {
	var out []Series
	for _, s := range series {
		if len(s.Prices) > 1 {
			out = append(out, s)
		}
	}
	return out
}

// SeriesPlot draws several prices over the same time. Each series has at least two points.
func SeriesPlot(id, title string, series []Series) Plot {
	p := Plot{ID: id, Title: title, Height: 260}
	var when span
	low, high := 1.0, 0.0
	for _, s := range series {
		when = when.with(s.Prices[0].At).with(s.Prices[len(s.Prices)-1].At)
		least, most := s.Range()
		low, high = min(low, least), max(high, most)
	}
	scale := probabilityScale(low, high)
	var latest []string
	for _, s := range series {
		line := make([]Spot, len(s.Prices))
		for i, q := range s.Prices {
			line[i] = Spot{when.share(q.At), scale.Share(q.Price)}
		}
		p.Lines = append(p.Lines, Line{s.Name, line})
		latest = append(latest, s.Name+" "+ExactPercent(s.Last()))
	}
	p.Reading = readingOf(when, scale, percentUnit, when.to, strings.Join(latest, ", "))
	p.Columns = when.ticks()
	for _, t := range scale.Ticks {
		p.Rows = append(p.Rows, Tick{At: scale.Share(t), Label: Percent(t)})
	}
	return p
}

// with returns the span extended to a time.
func (s span) with(at time.Time) span {
	if s.from.IsZero() || at.Before(s.from) {
		s.from = at
	}
	if at.After(s.to) {
		s.to = at
	}
	return s
}

// LineClass returns the CSS class of the line at an index. Colours and dashes repeat after five.
func LineClass(i int) string { return "line-" + strconv.Itoa(i%5+1) }

// BandClass returns the CSS class of the band around such a line.
func BandClass(i int) string { return "band-" + strconv.Itoa(i%5+1) }
