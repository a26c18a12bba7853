package components

import (
	"math"
	"strconv"
)

// Scale maps values to horizontal positions in a drawing. The zero Scale maps every value to the
// middle.
type Scale struct {
	Low, High float64
	Ticks     []float64
}

// NewScale returns a scale that covers the values and zero, with round ends and about n steps.
func NewScale(n int, values ...float64) Scale {
	low, high := 0.0, 0.0
	for _, v := range values {
		low, high = min(low, v), max(high, v)
	}
	if low == high {
		low, high = -1, 1
	}
	step := roundStep((high - low) / float64(n))
	s := Scale{Low: math.Floor(low/step) * step, High: math.Ceil(high/step) * step}
	for i := 0; ; i++ {
		tick := s.Low + float64(i)*step
		if tick > s.High+step/2 {
			return s
		}
		s.Ticks = append(s.Ticks, math.Round(tick*1e6)/1e6)
	}
}

// roundStep returns the smallest number of at least x that is 1, 2 or 5 times a power of ten.
func roundStep(raw float64) float64 {
	base := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, f := range []float64{1, 2, 5} {
		if raw <= f*base*1.0001 {
			return f * base
		}
	}
	return 10 * base
}

// EstimateScale returns the common scale of a forest plot.
func EstimateScale(estimates []Estimate) Scale {
	var ends []float64
	for _, e := range estimates {
		ends = append(ends, e.Skill)
		if e.Range != nil {
			ends = append(ends, e.Range.Low, e.Range.High)
		}
	}
	return NewScale(6, ends...)
}

// Share returns the position of a value, 0..1. Values beyond the ends are placed at the ends.
func (s Scale) Share(v float64) float64 {
	if s.High <= s.Low {
		return 0.5
	}
	return min(1, max(0, (v-s.Low)/(s.High-s.Low)))
}

// minor returns whether a narrow drawing may leave out a tick. Every other tick is minor, counted
// from zero.
func (s Scale) minor(tick float64) bool {
	if len(s.Ticks) < 6 {
		return false
	}
	return int(math.Round(tick/(s.Ticks[1]-s.Ticks[0])))%2 != 0
}

// Holds returns whether a value is within the ends.
func (s Scale) Holds(v float64) bool { return v >= s.Low && v <= s.High }

// X returns the position of a value as a percentage of the drawing's width.
func (s Scale) X(v float64) string { return number(s.Share(v)*100) + "%" }

// number writes a coordinate with few decimals.
func number(v float64) string {
	return strconv.FormatFloat(math.Round(v*100)/100, 'f', -1, 64)
}
