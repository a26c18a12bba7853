package replay

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/pulsecast/pulsecast/app/archive"
	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/problem"
	"github.com/pulsecast/pulsecast/app/score"
)

// The rules of a plan. A market fits at T if all of these hold, however it ended:
//
//   - Its question has the outcomes Yes and No, and it is open and liquid.
//   - Its probability is from plannedLow to plannedHigh.
//   - Its scheduled close lies within the archive, at least leastHorizon after T.
//   - The archive has the views that give a prediction at T its baseline.
//
// One moment is drawn for each market and day. Then pairs are taken in turns from the strata of
// category and horizon: first at most one pair of each event, then at most two, and so on.
const (
	plannedLow, plannedHigh = 0.05, 0.95
	// afterReading is the time from a drawn reading to T.
	afterReading = time.Second
	// leastHorizon is the minimum time from T to the scheduled close.
	leastHorizon = time.Hour
	// mostPerEvent is the maximum number of pairs of one event. Further pairs would have almost no
	// weight.
	mostPerEvent = 8
)

// horizons are the upper bounds of the horizon strata.
var horizons = []time.Duration{24 * time.Hour, 7 * 24 * time.Hour, 30 * 24 * time.Hour}

// PlanOptions select the pairs to draw.
type PlanOptions struct {
	N      int       `json:"n"`
	Seed   uint64    `json:"seed"`
	Filter Filter    `json:"filter"`
	From   time.Time `json:"from"` // zero for the first archived day
	To     time.Time `json:"to"`   // zero for the end of the last archived day
}

// candidate is a pair that may become part of a plan.
type candidate struct {
	Pair
	event, stratum string
	order          []byte // sort key of the draw
}

// Plan draws up to o.N pairs. The same options and archive give the same pairs.
func (t *Tape) Plan(ctx context.Context, o PlanOptions, cfg *config.Config) ([]Pair, error) {
	first, end, err := t.Span(ctx)
	if err != nil {
		return nil, err
	}
	if o.From.IsZero() || o.From.Before(first) {
		o.From = first
	}
	if o.To.IsZero() || o.To.After(end) {
		o.To = end
	}
	days, err := t.Days(ctx)
	if err != nil {
		return nil, err
	}
	strata := map[string][]candidate{}
	for _, name := range days {
		if name < archive.DayOf(o.From) || name > archive.DayOf(o.To) {
			continue
		}
		d, err := t.day(ctx, name)
		if err != nil {
			return nil, err
		}
		settings := d.settings(*cfg)
		for id := range d.prices {
			if c, ok := d.draw(id, &o, end, &settings); ok {
				strata[c.stratum] = append(strata[c.stratum], c)
			}
		}
	}
	return takeInTurns(strata, o.N), nil
}

// draw picks a random moment of a market on a day. ok is false if no moment meets the rules.
func (d *day) draw(id string, o *PlanOptions, end time.Time, cfg *config.Config) (c candidate, ok bool) {
	s := d.prices[id]
	var fit []int
	for i := range s.len() {
		if s.bounds(i, cfg.MarketsInterval) {
			fit = append(fit, i)
		}
	}
	if len(fit) == 0 {
		return c, false
	}
	order := randomBytes(o.Seed, id, d.name)
	at := fit[binary.BigEndian.Uint64(order)%uint64(len(fit))]
	c.Market, c.At, c.order = id, s.time(at).Add(afterReading), order[8:]
	var m market.Market
	for i := range d.facts[id] {
		if row := &d.facts[id][i]; !row.ObservedAt.After(c.At) {
			factsOf(&m, row)
		}
	}
	priced(&m, s, at)
	horizon := m.ClosesAt.Sub(c.At)
	switch {
	case m.ID == "" || c.At.Before(o.From) || c.At.After(o.To) || !o.Filter.matches(&m),
		m.Probability == nil || *m.Probability < plannedLow || *m.Probability > plannedHigh,
		m.Liquidity != nil && *m.Liquidity < float64(cfg.RankedMinLiquidity),
		m.YesIndex() < 0 || !m.Active || horizon < leastHorizon || !m.ClosesAt.Before(end):
		return c, false
	}
	band := slices.IndexFunc(horizons, func(h time.Duration) bool { return horizon < h })
	c.event, c.stratum = m.EventKey(), fmt.Sprintf("%s %d", cmp.Or(m.Category, score.OtherCategory), band)
	return c, true
}

// bounds reports whether a prediction right after row i gets a baseline.
func (s *series) bounds(i int, interval time.Duration) bool {
	at := s.time(i).Add(afterReading)
	if len(s.pricesAt(i)) == 0 {
		return false
	}
	for j := i + 1; j < s.len() && s.time(j).Sub(at) <= score.AfterWithin; j++ {
		if len(s.pricesAt(j)) > 0 && score.CountsAfter(at, s.time(j), interval) {
			return true
		}
	}
	return false
}

// randomBytes returns bytes that depend only on the seed and the words.
func randomBytes(seed uint64, words ...string) []byte {
	h := sha256.New()
	fmt.Fprintf(h, "%d", seed)
	for _, w := range words {
		fmt.Fprintf(h, " %q", w)
	}
	return h.Sum(nil)
}

// takeInTurns takes up to n pairs from the strata in turns, and returns them in order of T.
func takeInTurns(strata map[string][]candidate, n int) []Pair {
	names := slices.Sorted(maps.Keys(strata))
	for _, name := range names {
		slices.SortFunc(strata[name], func(a, b candidate) int { return bytes.Compare(a.order, b.order) })
	}
	var pairs []Pair
	taken := map[string]int{}
	for most := 1; most <= mostPerEvent; most++ {
		for found := true; found && len(pairs) < n; {
			found = false
			for _, name := range names {
				i := slices.IndexFunc(strata[name], func(c candidate) bool { return taken[c.event] < most })
				if i < 0 || len(pairs) == n {
					continue
				}
				c := strata[name][i]
				strata[name] = slices.Delete(strata[name], i, i+1)
				pairs, found = append(pairs, c.Pair), true
				taken[c.event]++
			}
		}
	}
	slices.SortFunc(pairs, func(a, b Pair) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Market, b.Market)) })
	return pairs
}

// plan answers POST /r/plan with the pairs of a new plan.
func (s *Server) plan(c *fiber.Ctx) error {
	if err := s.admitMaker(c); err != nil {
		return err
	}
	var o PlanOptions
	if err := readBody(c, &o); err != nil {
		return err
	}
	if o.N < 1 || o.N > maxPairs {
		return problem.InvalidRequest(problem.Field{Field: "n", Message: fmt.Sprintf("must be from 1 to %d", maxPairs)})
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.UserContext()), reportTimeout)
	defer cancel()
	s.reports.Lock()
	defer s.reports.Unlock()
	pairs, err := s.tape.Plan(ctx, o, &s.build.settings)
	if err != nil {
		return err
	}
	return respond(c, planned{true, append([]Pair{}, pairs...)})
}

// planned is the answer to POST /r/plan.
type planned struct {
	OK    bool   `json:"ok"`
	Pairs []Pair `json:"pairs"`
}
