package score

// RoundValue returns a result y, in 0..1, rounded to nine decimals, the precision of all scores. So
// a fraction is the same number wherever it was stored.
func RoundValue(y float64) float64 { return float64(nano(y)) / nanoScale }

// SameValue reports whether two results, both in 0..1, are equal to nine decimals.
func SameValue(a, b float64) bool { return nano(a) == nano(b) }
