package components

import "math"

// Estimate is an agent's estimated edge in points per event. Zero is the market.
type Estimate struct {
	// Skill orders the board.
	Skill float64
	// Range is nil if the agent never disagreed with the market.
	Range *Range
	// Odds are the odds against having no edge, at most 1,000,000. They are nil if unknown.
	Odds *float64
	// Proven is true if the odds are high enough.
	Proven bool
}

// Range is the 95 % range of a true edge, with the best guess.
type Range struct{ BestGuess, Low, High float64 }

// NoRange is shown for an agent without a range.
const NoRange = "no disagreement with the market yet"

// Sentence says how far the agent is from the market.
func (e Estimate) Sentence() string {
	if e.Range == nil {
		return Capital(NoRange)
	}
	guess := e.Range.BestGuess
	words := "as close to the truth as the market"
	if size := Decimal(math.Abs(guess), 1); size != "0.0" {
		way := " points closer to the truth than the market"
		if guess < 0 {
			way = " points further from the truth than the market"
		}
		words = size + way
	}
	return "Best guess: " + words + " per event; 95 % range " + e.Range.String()
}

// RangeText returns the range in figures, or why there is none.
func (e Estimate) RangeText() string {
	if e.Range == nil {
		return NoRange
	}
	return e.Range.String()
}

// Drawn describes the drawing of Interval in words.
func (e Estimate) Drawn() string {
	if e.Range == nil {
		return "Skill " + Signed(e.Skill, 1)
	}
	return "95 % range " + e.Range.String() + ", skill " + Signed(e.Skill, 1)
}

// String returns the range in figures.
func (r Range) String() string { return bound(r.Low) + " to " + bound(r.High) }

// bound writes an end of a range with one decimal. It uses two if one decimal would hide on which
// side of the market the end is.
func bound(v float64) string {
	if text := Signed(v, 1); text != "0.0" {
		return text
	}
	return Signed(v, 2)
}

// Odds writes odds to one, such as "3 : 1" or "0.4 : 1". From 10 on they are rounded down, so that
// odds below 20 never read as 20 : 1.
func Odds(v float64) string {
	const toOne = unbreakable + ":" + unbreakable + "1"
	switch {
	case v < 0.05:
		return "under 0.1" + toOne
	case v < 0.95:
		return Decimal(v, 1) + toOne
	case v < 10:
		return Decimal(v, 0) + toOne
	default:
		return Count(int(v)) + toOne
	}
}

// About rounds a count to two significant digits: 137 is about 140.
func About(n int) int {
	step := 1
	for n/step >= 100 {
		step *= 10
	}
	return (n + step/2) / step * step
}
