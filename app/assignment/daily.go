package assignment

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/generation"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/plaintext"
	"github.com/pulsecast/pulsecast/app/score"
)

const (
	// perDay is how many markets are chosen for a day. With two days to answer, about two dozen are open at a
	// time, which fits on one page.
	perDay = 12
	// soonPerDay of them close within soon, if there are enough, because an agent learns from what settles
	// quickly.
	soonPerDay = 5
	soon       = 72 * time.Hour
	// soonest and latest bound the time until a market closes.
	soonest = 24 * time.Hour
	latest  = 90 * 24 * time.Hour
	// certainLow and certainHigh bound the probability. A market beyond them is nearly decided.
	certainLow, certainHigh = 0.05, 0.95
	// widest is the widest book of a chosen market. The price of a wider one says little.
	widest = 0.05
	// maxCandidates is how many markets the choice considers, most liquid first.
	maxCandidates = 1000
	// daysToAnswer counts from the start of the day of the choice.
	daysToAnswer = 2
	// chosenDay is the setting that stores the last day with a choice.
	chosenDay = "assignments_day"
)

// ChooseDaily chooses the day's assignments among the markets observed at since or later, with a liquidity of at least
// minLiquidity, in US dollars. It returns how many it added, which is 0 if the day already has its choice. However many
// nodes call ChooseDaily, only one choice is made for a day. If there is no suitable market, it chooses none, and the
// next call tries again. A choice for a later day doesn't count, because a clock was ahead when it was made.
func (s Store) ChooseDaily(ctx context.Context, db *database.DB, now, since time.Time, minLiquidity float64) (int, error) {
	now = database.Stored(now)
	today, latest := now.Format(time.DateOnly), database.LatestPlausible(now).Format(time.DateOnly)
	if taken, err := dayTaken(ctx, db.Reader, today, latest); err != nil || taken {
		return 0, err
	}
	added := 0
	err := db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		candidates, err := readCandidates(ctx, tx, now, since, minLiquidity)
		if err != nil || len(candidates) == 0 {
			return err
		}
		if first, err := database.RaiseSetting(ctx, tx, chosenDay, today, latest); err != nil || !first {
			return err
		}
		var chosen []Assignment
		for _, m := range choose(candidates, now) {
			chosen = append(chosen, daily(&m, today, now))
		}
		added = len(chosen)
		if _, err := tx.NewInsert().Model(&chosen).On("CONFLICT DO NOTHING").Exec(ctx); err != nil {
			return err
		}
		return generation.Move(ctx, tx, generation.Assignments)
	})
	if err != nil {
		return 0, fmt.Errorf("choose assignments: %w", err)
	}
	return added, nil
}

// dayTaken reports whether a day already has its choice, with a cheap read. latest is the latest day that can have one.
func dayTaken(ctx context.Context, db bun.IDB, today, latest string) (bool, error) {
	day, _, err := database.Setting(ctx, db, chosenDay)
	return day >= today && day <= latest, err
}

// readCandidates reads the suitable markets whose event has no open assignment, most liquid first.
func readCandidates(ctx context.Context, db bun.IDB, now, since time.Time, minLiquidity float64) ([]market.Market, error) {
	assigned := db.NewSelect().TableExpr("assignments AS s").ColumnExpr("1").
		Join("JOIN (?) AS o ON o.id = s.market_id", market.Select(db).Column("m.id", "m.event_id")).
		Where("o.id = m.id OR o.event_id = m.event_id").Where("s.status = ?", Open).Where("s.due_at > ?", now)
	var markets []market.Market
	err := market.Select(db).
		Where("NOT m.closed").Where("m.active").Where("m.resolution IS NULL").Where("m.observed_at >= ?", since).
		Where("m.liquidity > 0").Where("m.liquidity >= ?", minLiquidity).
		Where("m.probability >= ?", certainLow).Where("m.probability <= ?", certainHigh).
		Where("m.best_bid IS NULL OR m.best_ask - m.best_bid <= ?", widest+1e-9).
		Where("m.closes_at >= ?", now.Add(soonest)).Where("m.closes_at <= ?", now.Add(latest)).
		Where("NOT EXISTS (?)", assigned).
		OrderExpr("m.liquidity DESC, m.id").Limit(maxCandidates).Scan(ctx, &markets)
	return markets, err
}

// choose picks the day's markets: first those that close soon, then any. It alternates between categories,
// prefers liquid markets, and never takes two of one event.
func choose(candidates []market.Market, now time.Time) []market.Market {
	var chosen []market.Market
	events := map[string]bool{}
	take := func(limit int, from []market.Market) {
		for _, m := range market.InTurn(from) {
			if len(chosen) < limit && !events[m.EventKey()] {
				events[m.EventKey()] = true
				chosen = append(chosen, m)
			}
		}
	}
	isSoon := func(m market.Market) bool { return !m.ClosesAt.After(now.Add(soon)) }
	var early []market.Market
	for _, m := range candidates {
		if isSoon(m) {
			early = append(early, m)
		}
	}
	take(soonPerDay, early)
	take(perDay, candidates)
	return chosen
}

// daily returns the assignment for a market.
func daily(m *market.Market, today string, now time.Time) Assignment {
	midnight := now.UTC().Truncate(24 * time.Hour)
	due := midnight.AddDate(0, 0, daysToAnswer)
	if m.ClosesAt.Before(due) {
		due = m.ClosesAt.UTC()
	}
	outcome := ""
	if i := m.Reference(); i < len(m.Outcomes) {
		outcome = m.Outcomes[i]
	}
	return Assignment{
		ID: database.NewID(now), Day: today, MarketID: m.ID, Outcome: outcome, Title: plaintext.Cut(m.Question, MaxTitle),
		Instructions: instructions(m, outcome), Category: cmp.Or(m.Category, score.OtherCategory), Status: Open,
		OpensAt: now, DueAt: due, Sample: m.Sample, CreatedAt: now,
	}
}

// instructions returns the text that tells agents what to send.
func instructions(m *market.Market, outcome string) string {
	return fmt.Sprintf("Forecast the probability that %q happens. Read the resolution criteria first: they decide, not the title. "+
		"Publish with marketId %q and outcome %q. Set confidence to that probability, from 0 to 1, and list in evidence the sources that you relied on. "+
		"Publish while the market still trades: a prediction is ranked only if a price follows it. "+
		"Repeating the market's price earns nothing, so answer if your view differs from it.", outcome, m.ID, outcome)
}
