package demo

import (
	"context"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/assignment"
	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/generation"
	"github.com/pulsecast/pulsecast/app/leaderboard"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/news"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/settlement"
)

const (
	// pastDays is the length of the sample's past, in days.
	pastDays = 72
	// stepCount is the number of steps to a complete sample world: the stage, and one for each day.
	stepCount = 1 + pastDays
	// boardEvery is the number of days between two boards. Each board adds a point to the agents' skill over
	// time.
	boardEvery = 8
)

// seeding runs through the sample's past in steps. A transaction stores each step together with its number, so
// that no step is repeated after an interruption. The work that follows a step can safely be repeated.
type seeding struct {
	db    *database.DB
	start time.Time
	clock time.Time // the end of the current step

	markets     []*sampleMarket
	events      []market.Event
	items       []news.Item
	predictions []samplePrediction
	ticks       []market.Price
	agents      map[int]uuid.UUID // by index in personas

	settle *settlement.Service
	board  *leaderboard.Builder
}

func newSeeding(db *database.DB, start time.Time) *seeding {
	r := &seeding{db: db, start: start, items: sampleNews(start), agents: map[int]uuid.UUID{}}
	r.markets, r.events = sampleMarkets(start)
	r.predictions, r.ticks = samplePredictions(start, r.markets, r.items)
	now := func() time.Time { return r.clock }
	settings := config.Default()
	r.settle = settlement.New(settlement.Options{
		DB: db, Interval: settings.MarketsInterval, MinLiquidity: float64(settings.RankedMinLiquidity), Now: now,
	})
	r.board = leaderboard.NewBuilder(db, leaderboard.ThresholdsOf(&settings), now)
	r.board.Records = true
	return r
}

// run continues after the given number of steps.
func (r *seeding) run(ctx context.Context, done int) error {
	if done > 0 {
		if err := r.findAgents(ctx); err != nil {
			return err
		}
	}
	// An interruption may have prevented the work that follows the last stored step.
	for step := max(done-1, 0); step < stepCount; step++ {
		from := r.begin(step)
		if step >= done {
			if err := r.store(ctx, step, from); err != nil {
				return err
			}
		}
		if err := r.follow(ctx, step, from); err != nil {
			return err
		}
	}
	return nil
}

// begin sets the clock to the end of a step and returns its start.
func (r *seeding) begin(step int) (from time.Time) {
	from = r.start.Add(time.Duration(step-1-pastDays) * day)
	r.clock = from.Add(day)
	return from
}

// store stores the data that a step receives from outside.
func (r *seeding) store(ctx context.Context, step int, from time.Time) error {
	return r.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		if err := database.SetSetting(ctx, tx, settingSteps, strconv.Itoa(step+1)); err != nil {
			return err
		}
		if err := generation.Move(ctx, tx, generation.Markets); err != nil {
			return err
		}
		if step == 0 {
			return r.stage(ctx, tx)
		}
		return r.live(ctx, tx, step, from)
	})
}

// stage stores the agents, the news, and the markets with all their prices.
func (r *seeding) stage(ctx context.Context, tx bun.Tx) error {
	for i, p := range personas {
		a, err := agent.Store{}.Create(ctx, tx, agent.New{
			Profile: agent.Profile{Name: p.name, Model: p.model, Framework: p.framework, Description: p.description},
			Handle:  p.handle, Sample: true, At: r.start.Add(-time.Duration(p.daysAgo * float64(day))),
		})
		if err != nil {
			return err
		}
		r.agents[i] = a.ID
	}
	if err := (news.Store{}).Observe(ctx, tx, r.items); err != nil {
		return err
	}
	if err := (news.Store{}).Cite(ctx, tx, r.cited()); err != nil {
		return err
	}
	opening, history := make([]market.Market, 0, len(r.markets)), r.ticks
	for _, m := range r.markets {
		opening = append(opening, m.standing(m.opened, m.past[0].Prices))
		history = append(history, m.past...)
	}
	if err := (market.Store{}).Observe(ctx, tx, opening, r.events...); err != nil {
		return err
	}
	return market.Store{}.AddPrices(ctx, tx, history)
}

func (r *seeding) cited() []string {
	var ids []string
	seen := map[string]bool{}
	for _, f := range r.predictions {
		for _, e := range f.Evidence {
			if e.SignalKind == prediction.SignalNews && !seen[e.SignalID] {
				seen[e.SignalID] = true
				ids = append(ids, e.SignalID)
			}
		}
	}
	return ids
}

// live stores one day: the predictions and the markets that closed. On the last day, it also stores the state
// of the open markets.
func (r *seeding) live(ctx context.Context, tx bun.Tx, step int, from time.Time) error {
	for i := range r.predictions {
		f := &r.predictions[i]
		if !r.within(f.CreatedAt, from) {
			continue
		}
		if err := (prediction.Store{}).Insert(ctx, tx, f.by(r.agents[f.agent])); err != nil {
			return err
		}
	}
	if err := (market.Store{}).Observe(ctx, tx, r.readings(step, from)); err != nil {
		return err
	}
	if step < stepCount-1 {
		return nil
	}
	for i, at := range r.lastSeen() {
		if err := (agent.Store{}).Touch(ctx, tx, []uuid.UUID{r.agents[i]}, at); err != nil {
			return err
		}
	}
	return r.assign(ctx, tx)
}

// readings returns the markets that changed in a step, in their state after it.
func (r *seeding) readings(step int, from time.Time) []market.Market {
	var out []market.Market
	for _, m := range r.markets {
		switch {
		case m.final != nil && r.within(m.ClosedAt, from):
			out = append(out, m.closing())
		case m.final == nil && step == stepCount-1:
			out = append(out, m.standing(r.start, rounded(m.perOutcome(m.path.at(r.start, 0, nil)), 3)))
		}
	}
	return out
}

func (r *seeding) lastSeen() map[int]time.Time {
	out := map[int]time.Time{}
	for _, f := range r.predictions {
		out[f.agent] = f.CreatedAt
	}
	return out
}

// follow runs what follows a step: settlement, the board and the daily choice of assignments.
func (r *seeding) follow(ctx context.Context, step int, from time.Time) error {
	observed := r.readings(step, from)
	for _, m := range r.markets {
		if r.within(m.opened, from) || (step == 0 && !m.opened.After(from)) {
			observed = append(observed, m.standing(m.opened, m.past[0].Prices))
		}
	}
	if err := r.settle.AfterMarkets(ctx, observed); err != nil {
		return err
	}
	last := step == stepCount-1
	// The demo's archive ends with a board of the day before the first start.
	if step >= stepCount-2 || step%boardEvery == stepCount%boardEvery {
		if err := r.board.Rebuild(ctx); err != nil {
			return err
		}
	}
	if !last {
		return nil
	}
	if err := leaderboard.NewConsensusCounter(r.db, func() time.Time { return r.clock }).CountAll(ctx); err != nil {
		return err
	}
	_, err := assignment.Store{}.ChooseDaily(ctx, r.db, r.start, time.Time{}, float64(config.Default().RankedMinLiquidity))
	return err
}

// within reports whether a time lies in the current step, which begins at from.
func (r *seeding) within(at, from time.Time) bool { return at.After(from) && !at.After(r.clock) }

func (r *seeding) findAgents(ctx context.Context) error {
	for i, p := range personas {
		a, err := agent.Store{}.ByHandle(ctx, r.db.Reader, p.handle)
		if err != nil {
			return err
		}
		r.agents[i] = a.ID
	}
	return nil
}
