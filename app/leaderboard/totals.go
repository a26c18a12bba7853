package leaderboard

import (
	"encoding/binary"
	"errors"

	"github.com/pulsecast/pulsecast/app/score"
)

// totalsVersion is the first byte of encoded totals. Change it with the fields. Readers take another version
// for no totals, until the next full build writes their own.
const totalsVersion = 1

// errMalformedTotals is returned for totals that no build has written. The next full build repairs them.
var errMalformedTotals = errors.New("leaderboard: malformed totals in a board row")

// totals holds an agent's sums over all its days up to today that boards don't show as numbers: the day
// blocks, which UntilProven needs, and the calibration bins. They are stored in the agent's row on the
// main board, so that no reader sums up days.
type totals struct {
	squares daySquares
	w       score.Points // see score.Days
	q       int64
	// brier is the sum of the Brier scores and observed the sum of the squared results of all settled
	// predictions, in the units of agent_days.
	brier, observed int64
	bins            [score.BinCount]binSum
}

// binSum is the part of a score.BinSum that agent_days holds for each bin.
type binSum struct{ Count, P, Y int64 }

// daySquares holds ΣD² over days as three 64-bit sums, with D = high · 2²⁰ + low. The square of one
// day's sum can exceed 64 bits, and SQLite has no wider integer.
type daySquares struct{ high, cross, low int64 }

func (q daySquares) total() score.Int128 {
	return score.Shifted(q.high, 40).Plus(score.Shifted(q.cross, 21)).Plus(score.Shifted(q.low, 0))
}

func (t *totals) days() score.Days { return score.Days{T: t.squares.total(), W: t.w, Q: t.q} }

// fields returns all sums in the order in which they are encoded.
func (t *totals) fields() []*int64 {
	list := []*int64{&t.squares.high, &t.squares.cross, &t.squares.low, (*int64)(&t.w), &t.q, &t.brier, &t.observed}
	for i := range t.bins {
		list = append(list, &t.bins[i].Count, &t.bins[i].P, &t.bins[i].Y)
	}
	return list
}

func (t totals) plus(o *totals) totals {
	added := o.fields()
	for i, field := range t.fields() {
		*field += *added[i]
	}
	return t
}

// encode returns the sums as varints, some 100 bytes, and nil if all are 0.
func (t *totals) encode() []byte {
	if *t == (totals{}) {
		return nil
	}
	out := []byte{totalsVersion}
	for _, field := range t.fields() {
		out = binary.AppendVarint(out, *field)
	}
	return out
}

// decodeTotals reads what encode has returned.
func decodeTotals(encoded []byte) (t totals, err error) {
	if len(encoded) == 0 || encoded[0] != totalsVersion {
		return t, nil
	}
	encoded = encoded[1:]
	for _, field := range t.fields() {
		n := 0
		if *field, n = binary.Varint(encoded); n <= 0 {
			return t, errMalformedTotals
		}
		encoded = encoded[n:]
	}
	if len(encoded) > 0 {
		return t, errMalformedTotals
	}
	return t, nil
}

// calibration returns the calibration bins.
func (t *totals) calibration() [score.BinCount]score.Bin { return score.Bins(t.binSums()) }

// murphy returns the parts of the Brier score, and nil without settled predictions.
func (t *totals) murphy() *score.Murphy {
	bins := t.binSums()
	count := int64(0)
	for _, b := range bins {
		count += b.Count
	}
	if count == 0 {
		return nil
	}
	// Murphy's parts need only the totals of y² and Brier over all bins, so one bin can hold them.
	bins[0].YY, bins[0].Brier = t.observed, t.brier*(binUnit/brierUnit)
	m := score.Decompose(bins)
	return &m
}

func (t *totals) binSums() (bins [score.BinCount]score.BinSum) {
	for i, b := range t.bins {
		bins[i] = score.BinSum{Count: b.Count, P: b.P, Y: b.Y}
	}
	return bins
}
