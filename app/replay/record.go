package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/archive"
	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/leaderboard"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/score"
	"github.com/pulsecast/pulsecast/app/settlement"
)

// record is a database in which the predictions of a run are settled with the archive's later days.
type record struct {
	db    *database.DB
	clock time.Time
	board *leaderboard.Builder
	store *leaderboard.Store
	work  *settlement.Service // by the rules of the current day

	settings  config.Config // local; see day.settings
	needs     time.Duration // how long before publication the prices that any day's rules need begin
	tape      *Tape
	markets   map[string]*followed
	list      []prediction.Prediction // of the run, in order of publication
	abandoned map[string]bool         // the days whose decisions don't count
}

// followed is a market with a prediction of the run.
type followed struct {
	market.Market
	closings []archive.ClosingRow
	closed   bool // as last observed
}

// side is one of up to three agents in a record. whole has all predictions of the run. early has
// those on events decided up to the declared cut-off of the model, and late those on events decided
// after it.
type side int

const (
	whole side = iota
	early
	late
)

// sides returns the ids of the agents in a record.
func sides(run *Run) map[side]uuid.UUID {
	list := map[side]uuid.UUID{whole: run.Agent}
	if run.ModelCutoff != nil {
		list[early], list[late] = uuid.NewSHA1(run.Agent, []byte("early")), uuid.NewSHA1(run.Agent, []byte("late"))
	}
	return list
}

// openRecord creates an empty record in a folder.
func openRecord(ctx context.Context, b *builder, dir string) (*record, error) {
	path := filepath.Join(dir, "record.db")
	if err := copyFile(b.template, path); err != nil {
		return nil, fmt.Errorf("make a record: %w", err)
	}
	db, err := database.Open(ctx, "sqlite://"+path)
	if err != nil {
		return nil, err
	}
	if err := db.Sync(ctx, false); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	r := &record{db: db, settings: b.settings, tape: b.tape, markets: map[string]*followed{}}
	now := func() time.Time { return r.clock }
	limits := leaderboard.ThresholdsOf(&b.settings)
	r.board, r.store = leaderboard.NewBuilder(db, limits, now), leaderboard.NewStore(limits, now)
	return r, nil
}

// service returns a service that settles by the rules of a day.
func (r *record) service(d *day) *settlement.Service {
	cfg := d.settings(r.settings)
	return settlement.New(settlement.Options{
		DB: r.db, Interval: cfg.MarketsInterval, MinLiquidity: float64(cfg.RankedMinLiquidity), Now: func() time.Time { return r.clock },
	})
}

// published reads the predictions in all worlds of a run, in order of publication.
func published(ctx context.Context, b *builder, run *Run) ([]prediction.Prediction, error) {
	var list []prediction.Prediction
	err := b.eachWorld(ctx, run, func(db *database.DB, _ time.Time) error {
		var own []prediction.Prediction
		err := prediction.Select(db.Reader).Where("p.agent_id = ?", run.Agent).Scan(ctx, &own)
		for i := range own {
			p := &own[i]
			p.CreatedAt, p.HorizonAt, p.ScheduledCloseAt = p.CreatedAt.UTC(), p.HorizonAt.UTC(), p.ScheduledCloseAt.UTC()
		}
		list = append(list, own...)
		return err
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list, func(a, b prediction.Prediction) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), strings.Compare(a.ID.String(), b.ID.String()))
	})
	return list, nil
}

// live settles the predictions of a run, day by day through the archive.
func (r *record) live(ctx context.Context, run *Run, list []prediction.Prediction) error {
	r.list = list
	days, err := r.tape.Days(ctx)
	if err != nil || len(list) == 0 {
		return err
	}
	first, _ := slices.BinarySearch(days, archive.DayOf(list[0].CreatedAt))
	if err := r.begin(ctx, run, days[first:]); err != nil {
		return err
	}
	priced, _ := slices.BinarySearch(days, archive.DayOf(list[0].CreatedAt.Add(-r.needs)))
	end := days[len(days)-1]
	for _, name := range days[priced:] {
		d, err := r.tape.day(ctx, name)
		if err != nil {
			return err
		}
		if err := r.liveDay(ctx, run, d, name == end); err != nil {
			return fmt.Errorf("settle %s: %w", name, err)
		}
	}
	return nil
}

// begin stores the agents and markets, and collects the closings of the markets, the abandoned days and the needs of
// the days' rules.
func (r *record) begin(ctx context.Context, run *Run, days []string) error {
	for i := range r.list {
		if id := r.list[i].MarketID; id != "" {
			r.markets[id] = nil
		}
	}
	for i := range r.list {
		p := &r.list[i]
		if p.MarketID == "" || r.markets[p.MarketID] != nil {
			continue
		}
		known, err := r.tape.At(ctx, p.CreatedAt, &Filter{IDs: []string{p.MarketID}})
		if err != nil {
			return err
		}
		if len(known.markets) == 0 {
			return fmt.Errorf("market %s has a prediction at %s, but the archive doesn't have the market at that time", p.MarketID, writeMoment(p.CreatedAt))
		}
		r.markets[p.MarketID] = &followed{Market: known.markets[0]}
	}
	manifests := make([]*archive.Manifest, len(days))
	for i, name := range days {
		d, err := r.tape.digest(ctx, name)
		if err != nil {
			return err
		}
		manifests[i], r.needs = d.manifest, max(r.needs, r.service(d).PricesBefore())
		for id, m := range r.markets {
			if m != nil {
				m.closings = append(m.closings, d.closings[id]...)
			}
		}
	}
	r.abandoned = archive.Abandoned(manifests)
	return r.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		for s, id := range sides(run) {
			profile := agent.Profile{Name: run.Name, Model: run.Model}
			handle := map[side]string{early: "before-cutoff", late: "after-cutoff"}[s]
			if _, err := (agent.Store{}).Create(ctx, tx, agent.New{ID: id, Profile: profile, Handle: handle, At: r.list[0].CreatedAt, Official: s != whole}); err != nil {
				return err
			}
		}
		var markets []market.Market
		for _, m := range r.markets {
			one := m.Market
			one.Prices = nil // its prices are added day by day
			markets = append(markets, one)
		}
		return market.Store{}.Observe(ctx, tx, markets)
	})
}

// liveDay processes one day: its publications, the prices around publications, and the markets that closed
// or reopened, each at its time. Of a day before the first publication, only the prices count.
func (r *record) liveDay(ctx context.Context, run *Run, d *day, last bool) error {
	from, to, err := archive.Bounds(d.name)
	if err != nil {
		return err
	}
	if err := r.storeDay(ctx, run, d, from, to); err != nil || !r.list[0].CreatedAt.Before(to) {
		return err
	}
	r.work = r.service(d)
	for _, change := range r.changes(d) {
		r.clock = change.ObservedAt
		if err := r.work.FixBaselines(ctx); err != nil {
			return err
		}
		err := r.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
			return market.Store{}.Observe(ctx, tx, []market.Market{change})
		})
		if err == nil {
			err = r.work.AfterMarkets(ctx, []market.Market{change})
		}
		if err != nil {
			return err
		}
	}
	r.clock = to.Add(-time.Microsecond)
	if last {
		r.clock = to.Add(score.AfterWithin + time.Hour) // no later view follows
	}
	if err := r.rule(ctx, d); err != nil {
		return err
	}
	if err := r.work.FixBaselines(ctx); err != nil {
		return err
	}
	return r.board.Rebuild(ctx)
}

// storeDay stores the publications of a day, and the views that may bound their baselines.
func (r *record) storeDay(ctx context.Context, run *Run, d *day, from, to time.Time) error {
	agents := sides(run)
	return r.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		var prices []market.Price
		for i := range r.list {
			p := &r.list[i]
			if within(p.CreatedAt, from, to) {
				for _, s := range r.sidesOf(run, p) {
					own := *p
					own.AgentID, own.Sample = agents[s], false
					if s != whole {
						own.ID[15] ^= 1 // another id of the same moment, because an id names one prediction
					}
					own.Unrevealed = false // a record is read only for the report of its run
					if err := (prediction.Store{}).Insert(ctx, tx, &own); err != nil {
						return err
					}
				}
			}
			prices = append(prices, d.around(p, r.needs)...)
		}
		return market.Store{}.AddPrices(ctx, tx, prices)
	})
}

func within(at, from, to time.Time) bool { return !at.Before(from) && at.Before(to) }

// around returns the readings of a day that settlement may use for a prediction. before is how long before
// publication they begin.
func (d *day) around(p *prediction.Prediction, before time.Duration) (list []market.Price) {
	s := d.prices[p.MarketID]
	if s == nil {
		return nil
	}
	from := s.upTo(p.CreatedAt.Add(-before - time.Microsecond)) // a reading exactly then counts
	for i := from; i < s.upTo(p.CreatedAt.Add(score.AfterWithin)); i++ {
		if price, ok := s.price(p.MarketID, i); ok {
			list = append(list, price)
		}
	}
	return list
}

// sidesOf returns the agents that a prediction counts for.
func (r *record) sidesOf(run *Run, p *prediction.Prediction) []side {
	if run.ModelCutoff == nil || p.MarketID == "" {
		return []side{whole}
	}
	if decided := r.decidedAt(p.EventKey); !decided.IsZero() && !decided.After(*run.ModelCutoff) {
		return []side{whole, early}
	}
	return []side{whole, late}
}

// decidedAt returns when the first predicted market of an event closed, zero if none did.
func (r *record) decidedAt(eventKey string) (first time.Time) {
	for _, m := range r.markets {
		if m.EventKey() != eventKey {
			continue
		}
		for i := range m.closings {
			at := m.closings[i].ObservedAt
			if ended := m.closings[i].ClosedAt; ended != nil && ended.Before(at) {
				at = *ended
			}
			if first.IsZero() || at.Before(first) {
				first = at
			}
		}
	}
	return first.UTC()
}

// changes returns the closings of a day, and the first readings of reopened markets, in order.
func (r *record) changes(d *day) (list []market.Market) {
	for _, m := range r.markets {
		var own []market.Market
		for i := range d.closings[m.ID] {
			own = append(own, m.closing(&d.closings[m.ID][i]))
		}
		if s := d.prices[m.ID]; s != nil {
			for i := range s.len() {
				if len(own) == 0 && !m.closed {
					break // it was open all day
				}
				one := m.Market
				priced(&one, s, i)
				one.Closed, one.ClosedAt = false, time.Time{}
				own = append(own, one)
			}
		}
		slices.SortStableFunc(own, byObservation)
		for _, one := range own {
			if (one.Closed || m.closed) && !one.ObservedAt.Before(m.ObservedAt) {
				list = append(list, one)
			}
			m.closed = one.Closed
		}
	}
	slices.SortStableFunc(list, func(a, b market.Market) int { return cmp.Or(byObservation(a, b), strings.Compare(a.ID, b.ID)) })
	return list
}

func byObservation(a, b market.Market) int { return a.ObservedAt.Compare(b.ObservedAt) }

// closing returns the market as a reading of its closed state shows it.
func (f *followed) closing(row *archive.ClosingRow) market.Market {
	m := f.Market
	m.Closed, m.ObservedAt, m.Outcomes, m.Prices = true, row.ObservedAt.UTC(), row.Outcomes, row.Prices
	m.Scalar, m.Resolution, m.Volume, m.BestBid, m.BestAsk = row.Scalar, row.Resolution, row.Volume, nil, nil
	if row.ClosedAt != nil {
		m.ClosedAt = row.ClosedAt.UTC()
	}
	return m
}

// rule carries out the decisions of a day that don't follow from the prices of a closed market.
// They come from an order book or an admin, who may also decide a market that vanished before it closed. Markets that
// already have this outcome are skipped.
func (r *record) rule(ctx context.Context, d *day) error {
	if r.abandoned[d.name] {
		return nil
	}
	for _, o := range d.outcomes {
		m := r.markets[o.Market]
		if m == nil || (o.State != "void" && o.Winner == "") {
			continue
		}
		stands, err := settlement.OutcomeOf(ctx, r.db, o.Market)
		if err != nil {
			return err
		}
		if stands != nil && stands.State == o.State && stands.Winner == o.Winner && slices.Equal(stands.OutcomeValues, o.Values) {
			continue
		}
		kind := settlement.KindMarketCorrected
		if o.State == "void" {
			kind = settlement.KindMarketVoided
		}
		note := cmp.Or(o.Note, "As recorded in the archive.")
		if _, err := r.work.Rule(ctx, kind, o.Market, settlement.Ruling{Outcome: o.Winner, Note: note, Actor: "archive"}); err != nil {
			return fmt.Errorf("market %s: %w", o.Market, err)
		}
	}
	return nil
}
