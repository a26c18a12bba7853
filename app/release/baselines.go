package release

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/pulsecast/pulsecast/app/archive"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/score"
	"github.com/pulsecast/pulsecast/app/settlement"
)

// Baselines counts recomputed baselines.
type Baselines struct {
	Same, Different int64
	// Missing counts those whose prices the days don't hold. They were published before the archive
	// begins, or next to a day whose prices are withheld or missing.
	Missing int64
}

// held is a prediction with a baseline and the prices around its publication.
type held struct {
	settlement.Checked
	id       string
	baseline float64
	needs    time.Duration // how long before publication the prices begin that any of its rules need
	prices   []market.Price
}

// dayRules fixes baselines by the rules that days have from a day on.
type dayRules struct {
	day string
	*settlement.Service
}

// recheck recomputes baselines from prices, day by day.
type recheck struct {
	rules   []dayRules         // different ones, oldest first; at least one
	needs   time.Duration      // the most that any prediction needs
	markets map[string][]*held // each list is ordered by publication
	covered time.Time          // first price of the current run of consecutive days with prices
	report  *Report
}

// baselines recomputes the baselines of the loaded predictions. It reads the prices of each day
// once. It keeps the prices around a publication until the prediction is checked.
func (l *loaded) baselines(ctx context.Context, report *Report) error {
	c := &recheck{markets: map[string][]*held{}, report: report}
	if err := c.prepare(ctx, l); err != nil {
		return err
	}
	previous := time.Time{}
	for _, d := range l.days {
		start, first, err := pricesSince(d)
		if err != nil {
			return err
		}
		if first.IsZero() {
			previous = time.Time{}
			continue
		}
		if previous.IsZero() || !previous.AddDate(0, 0, 1).Equal(start) {
			c.covered = first
		}
		previous = start
		if err := c.collect(ctx, d); err != nil {
			return err
		}
		c.decide(start.AddDate(0, 0, 1))
	}
	for _, list := range c.markets {
		report.Baselines.Missing += int64(len(list))
	}
	slices.Sort(report.Differences)
	return nil
}

// pricesSince returns the start of a day and the time of its first price, zero if it has no prices.
func pricesSince(d *archive.Day) (start, first time.Time, err error) {
	if start, _, err = archive.Bounds(d.Manifest.Day); err != nil {
		return start, first, err
	}
	for _, f := range d.Manifest.Of(archive.Prices) {
		if first.IsZero() || f.First.Before(first) {
			first = f.First
		}
	}
	return start, first, nil
}

// prepare reads the rules and the predictions with a baseline.
func (c *recheck) prepare(ctx context.Context, l *loaded) error {
	if err := c.readRules(ctx, l); err != nil {
		return err
	}
	err := newest(ctx, l.decided, archive.Predictions, func(r *archive.PredictionRow) string { return r.ID }, func(rows []archive.PredictionRow) error {
		for i := range rows {
			if r := &rows[i]; r.BaselineState == string(prediction.Fixed) && r.Baseline != nil && r.OutcomeIndex != nil {
				c.markets[r.Market] = append(c.markets[r.Market], &held{id: r.ID, baseline: *r.Baseline, Checked: settlement.Checked{
					OutcomeIndex: int(*r.OutcomeIndex), Confidence: r.Confidence, Previous: r.BaselinePrevious, CreatedAt: r.CreatedAt.UTC(),
				}})
			}
		}
		return nil
	})
	for _, list := range c.markets {
		for _, p := range list {
			for _, rules := range c.rulesAt(p.CreatedAt) {
				p.needs = max(p.needs, rules.PricesBefore())
			}
			c.needs = max(c.needs, p.needs)
		}
		slices.SortFunc(list, func(a, b *held) int { return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.id, b.id)) })
	}
	return err
}

// readRules reads the rules of each day. Those of abandoned days count too, because the baselines that were fixed on
// these days may be in the backup that was restored.
func (c *recheck) readRules(ctx context.Context, l *loaded) error {
	var last *archive.RuleRow
	for _, d := range l.days {
		rules, err := d.Rules(ctx)
		if err != nil {
			return err
		}
		if rules != nil && (last == nil || rules.MarketsInterval != last.MarketsInterval || rules.MinLiquidity != last.MinLiquidity) {
			last = rules
			work := settlement.New(settlement.Options{DB: l.db, Interval: rules.Interval(), MinLiquidity: rules.MinLiquidity})
			c.rules = append(c.rules, dayRules{d.Manifest.Day, work})
		}
	}
	if len(c.rules) == 0 {
		c.rules = []dayRules{{"", settlement.New(settlement.Options{DB: l.db})}}
	}
	return nil
}

// rulesAt returns the rules that may have fixed the baseline of a prediction: those of the day of its publication, and
// those before them. A day has the rules of when it was sealed, which may have changed since its baselines were fixed.
func (c *recheck) rulesAt(published time.Time) []dayRules {
	next := sort.Search(len(c.rules), func(i int) bool { return c.rules[i].day > archive.DayOf(published) })
	return c.rules[max(0, next-2):max(1, next)]
}

// collect adds to each prediction the prices of a day that were observed around its publication.
func (c *recheck) collect(ctx context.Context, d *archive.Day) error {
	for row, err := range archive.Rows[archive.PriceRow](ctx, d, archive.Prices) {
		if err != nil {
			return err
		}
		price, known := row.Observation()
		if !known {
			continue
		}
		list := c.markets[row.Market]
		at := price.ObservedAt
		i := sort.Search(len(list), func(i int) bool { return !list[i].CreatedAt.Before(at.Add(-score.AfterWithin)) })
		for ; i < len(list) && !list[i].CreatedAt.After(at.Add(c.needs)); i++ {
			if p := list[i]; !p.CreatedAt.After(at.Add(p.needs)) {
				p.prices = append(p.prices, price)
			}
		}
	}
	return nil
}

// decide checks and removes the predictions whose prices are all read.
func (c *recheck) decide(end time.Time) {
	for id, list := range c.markets {
		n := sort.Search(len(list), func(i int) bool { return !list[i].CreatedAt.Add(score.AfterWithin).Before(end) })
		for _, p := range list[:n] {
			c.check(p)
		}
		c.markets[id] = list[n:]
	}
}

func (c *recheck) check(p *held) {
	slices.SortFunc(p.prices, func(a, b market.Price) int { return a.ObservedAt.Compare(b.ObservedAt) })
	how, missing := "", false
	for _, rules := range c.rulesAt(p.CreatedAt) {
		if p.CreatedAt.Add(-rules.PricesBefore()).Before(c.covered) {
			missing = true
			continue
		}
		b, ok := rules.Baseline(p.Checked, p.prices)
		switch {
		case ok && b.Q != nil && *b.Q == p.baseline:
			c.report.Baselines.Same++
			return
		case !ok || b.Q == nil:
			how = "but the prices give no baseline"
		default:
			how = fmt.Sprintf("but recomputed as %v", *b.Q)
		}
	}
	if missing {
		c.report.Baselines.Missing++
		return
	}
	c.differ(p, how)
}

func (c *recheck) differ(p *held, how string) {
	c.report.Baselines.Different++
	c.report.Differences = append(c.report.Differences, fmt.Sprintf("baseline of prediction %s: published as %v, %s", p.id, p.baseline, how))
}
