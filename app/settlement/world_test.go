package settlement

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/prediction"
)

var start = time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)

// world is a database with markets, prices and predictions, and a clock.
type world struct {
	t       testing.TB
	db      *database.DB
	clock   time.Time
	markets map[string]*market.Market
	serial  uint64
}

func newWorld(t testing.TB, db *database.DB) *world {
	return &world{t: t, db: db, clock: start, markets: map[string]*market.Market{}}
}

// service returns a Service as one worker of the world.
func (w *world) service(chunk int) *Service {
	s := New(Options{DB: w.db, Interval: time.Minute, MinLiquidity: 1000, Now: func() time.Time { return w.clock }})
	if chunk > 0 {
		s.chunk, s.listed = chunk, 2*chunk
	}
	return s
}

// perm returns the numbers from 0 to n − 1 in a random order, and logs the seed of the order.
func (w *world) perm(n int) []int {
	w.t.Helper()
	seed := rand.Uint64()
	w.t.Logf("order of seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0)).Perm(n)
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// id returns a version 7 id for a moment. It is the same in every run.
func (w *world) id(at time.Time) uuid.UUID {
	w.serial++
	id := database.NewID(at)
	binary.BigEndian.PutUint64(id[8:], w.serial|1<<63)
	return id
}

func (w *world) agent(n int) uuid.UUID {
	id := uuid.UUID{0: 1, 6: 0x70, 8: 0x80, 15: byte(n), 14: byte(n >> 8)}
	_, err := w.db.ExecContext(context.Background(), "INSERT INTO agents (id, handle, name, kind, status, sample, created_at) VALUES (?, ?, ?, 'agent', 'active', FALSE, ?) ON CONFLICT DO NOTHING",
		id, fmt.Sprint("agent-", n), "A", start)
	w.must(err)
	return id
}

// market adds an open market. Its outcomes default to Yes and No.
func (w *world) market(id, event, category string, closes time.Time, outcomes ...string) *market.Market {
	if outcomes == nil {
		outcomes = []string{"Yes", "No"}
	}
	m := &market.Market{ID: id, Source: "test", Question: "Q" + id, Title: "Q" + id, Category: category, Outcomes: outcomes,
		EventID: event, ClosesAt: closes, Active: true, MatchKey: "q" + id, FirstSeenAt: w.clock, ObservedAt: w.clock}
	w.markets[id] = m
	_, err := w.db.NewInsert().Model(m).Exec(context.Background())
	w.must(err)
	return m
}

// observe stores a reading of markets as ingest does. Open markets also get prices.
func (w *world) observe(ms ...*market.Market) []market.Market {
	var observed []market.Market
	for _, m := range ms {
		m.ObservedAt = w.clock
		_, err := w.db.NewUpdate().Model(m).WherePK().Exec(context.Background())
		w.must(err)
		if !m.Closed && m.Prices != nil {
			w.must(market.Store{}.AddPrices(context.Background(), w.db, []market.Price{
				{MarketID: m.ID, ObservedAt: w.clock, Prices: m.Prices, BestBid: m.BestBid, BestAsk: m.BestAsk, Liquidity: m.Liquidity}}))
		}
		observed = append(observed, *m)
	}
	return observed
}

// tick observes markets and calls AfterMarkets.
func (w *world) tick(s *Service, ms ...*market.Market) {
	w.t.Helper()
	w.must(s.AfterMarkets(context.Background(), w.observe(ms...)))
}

// publish stores a prediction as publishing does.
func (w *world) publish(agent uuid.UUID, m *market.Market, outcome int, p float64) uuid.UUID {
	w.t.Helper()
	at := database.Stored(w.clock)
	x := prediction.Prediction{ID: w.id(at), AgentID: agent, Title: "t", Thesis: "t", Confidence: p, HorizonAt: at.Add(48 * time.Hour),
		Category: "general", Evidence: []prediction.Evidence{}, BaselineState: prediction.Unlinked, Status: prediction.Open, CreatedAt: at}
	if m != nil {
		x.MarketID, x.Outcome, x.OutcomeIndex = m.ID, m.Outcomes[outcome], &outcome
		x.EventKey, x.MarketCategory, x.ScheduledCloseAt, x.BaselineState = m.EventKey(), m.Category, m.ClosesAt, prediction.Pending
	}
	w.must(w.db.InTx(context.Background(), func(ctx context.Context, tx bun.Tx) error { return prediction.Store{}.Insert(ctx, tx, &x) }))
	return x.ID
}

// experience gives each agent five settled events, so that it counts in consensus.
func (w *world) experience(s *Service, agents ...uuid.UUID) {
	w.t.Helper()
	var ms []*market.Market
	for i := range ConsensusEvents {
		m := w.market(fmt.Sprint(9000+i), "", "x", start)
		m.Prices = []float64{.5, .5}
		ms = append(ms, m)
	}
	w.tick(s, ms...)
	w.clock = w.clock.Add(time.Second)
	for _, m := range ms {
		for _, id := range agents {
			w.publish(id, m, 0, .6)
		}
	}
	w.clock = w.clock.Add(2 * time.Minute)
	w.tick(s, ms...)
	for _, m := range ms {
		closeWith(m, w.clock, 1, 0)
	}
	w.tick(s, ms...)
}

func (w *world) exec(sql string) {
	w.t.Helper()
	_, err := w.db.ExecContext(context.Background(), sql)
	w.must(err)
}

func (w *world) prediction(id uuid.UUID) prediction.Prediction {
	w.t.Helper()
	p := prediction.Prediction{ID: id}
	w.must(w.db.NewSelect().Model(&p).WherePK().Scan(context.Background()))
	return p
}

func (w *world) ledger(id uuid.UUID) string {
	w.t.Helper()
	var entries []Entry
	w.must(w.db.NewSelect().Model(&entries).Where("s.prediction_id = ?", id).Order("s.seq").Scan(context.Background()))
	var b strings.Builder
	for _, e := range entries {
		fmt.Fprintf(&b, "%d %s %g %s", e.Seq, e.Kind, e.Value, e.Outcome)
		if e.Edge != nil {
			fmt.Fprintf(&b, " %g", e.Edge.Float())
		}
		b.WriteString("\n")
	}
	return b.String()
}

func closeWith(m *market.Market, at time.Time, prices ...float64) {
	m.Closed, m.Active, m.ClosedAt, m.Prices, m.Resolution = true, false, at, prices, "resolved"
}

func reopen(m *market.Market, prices ...float64) {
	m.Closed, m.Active, m.ClosedAt, m.Prices, m.Resolution = false, true, time.Time{}, prices, ""
}

// sums returns all running sums as text.
func (w *world) sums() string {
	w.t.Helper()
	var lines []string
	err := w.db.InTx(context.Background(), func(ctx context.Context, tx bun.Tx) error {
		var agents []uuid.UUID
		if err := tx.NewSelect().TableExpr("agents").Column("id").Scan(ctx, &agents); err != nil {
			return err
		}
		s, err := loadSums(ctx, tx, agents)
		if err != nil {
			return err
		}
		for key, c := range s.clusters {
			lines = append(lines, fmt.Sprintf("cluster %s %s: %s", key.agent, key.event, c))
		}
		for key, row := range s.days {
			if text := dayString(row); text != "" {
				lines = append(lines, fmt.Sprintf("day %s %s %s: %s", key.agent, key.Category, key.Day, text))
			}
		}
		for id, tally := range s.tallies {
			lines = append(lines, fmt.Sprintf("tally %s: %s", id, tallyString(tally)))
		}
		return nil
	})
	w.must(err)
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// rebuilt fails the test if a rebuild finds a difference.
func (w *world) rebuilt() {
	w.t.Helper()
	report, err := w.service(0).Rebuild(context.Background(), false)
	w.must(err)
	for _, d := range report.Differences {
		w.t.Error(d)
	}
	w.countsAsLedger()
}

// countsAsLedger checks that the scores of each resolved prediction count on the same day and in the same category as its
// latest ledger entry, and, with a baseline, as the agent's events.
func (w *world) countsAsLedger() {
	w.t.Helper()
	var wrong []string
	err := w.db.NewRaw(`SELECT CAST(p.id AS TEXT) || ': ' || COALESCE(p.day, '') || ' ' || COALESCE(p.score_category, '')
			FROM prediction_records AS p
			JOIN score_entries AS e ON e.agent_id = p.agent_id AND e.prediction_id = p.id
				AND e.seq = (SELECT MAX(l.seq) FROM score_entries AS l WHERE l.agent_id = p.agent_id AND l.prediction_id = p.id)
			LEFT JOIN clusters AS c ON c.agent_id = p.agent_id AND c.event_key = p.event_key AND p.baseline IS NOT NULL
			WHERE p.status = 'resolved' AND (p.day, p.score_category) <> (e.day, e.category)
				OR p.status = 'resolved' AND c.event_key IS NOT NULL AND (p.day, p.score_category) <> (COALESCE(c.day, c.settled_day), c.category)
				OR p.status = 'resolved' AND (p.day IS NULL OR p.score_category IS NULL)
				OR p.status <> 'resolved' AND (p.day IS NOT NULL OR p.score_category IS NOT NULL)`).Scan(w.t.Context(), &wrong)
	if w.must(err); len(wrong) > 0 {
		w.t.Errorf("scores that don't count as in the ledger: %v", wrong)
	}
}

// populatedMarkets is the number of markets that populate returns.
const populatedMarkets = 12

func populatedMarket(i int) string { return fmt.Sprint(100 + i) }

// copyTo returns a populated world that goes on in a copy of the database, and the markets that populate returned.
func (w *world) copyTo(t testing.TB, db *database.DB) (*world, []*market.Market) {
	c := &world{t: t, db: db, clock: w.clock, serial: w.serial, markets: map[string]*market.Market{}}
	for id, m := range w.markets {
		own := *m
		c.markets[id] = &own
	}
	ms := make([]*market.Market, populatedMarkets)
	for i := range ms {
		ms[i] = c.markets[populatedMarket(i)]
	}
	return c, ms
}

// populate simulates ten minutes of trading and publishing, the same for the same seed. It leaves
// every market open and every baseline decided.
func populate(w *world, s *Service, seed uint64) []*market.Market {
	r := rand.New(rand.NewPCG(seed, 11))
	w.clock = start.Add(-time.Hour)
	w.experience(s, w.agent(1), w.agent(2), w.agent(3), w.agent(4), w.agent(5), w.agent(6), w.agent(7))
	w.clock = start
	var ms []*market.Market
	for i := range populatedMarkets {
		event, category, closes := "", []string{"politics", "sports", ""}[i%3], start.Add(time.Duration(i%4*24)*time.Hour)
		if i < 6 {
			event = fmt.Sprint("e", i/3)
		}
		if i%5 == 4 {
			closes = time.Time{}
		}
		outcomes := []string{"Yes", "No"}
		if i%4 == 3 {
			outcomes = []string{"Red", "Green", "Blue"}
		}
		ms = append(ms, w.market(populatedMarket(i), event, category, closes, outcomes...))
	}
	for range 10 {
		for range 12 {
			m := ms[r.IntN(len(ms))]
			w.clock = w.clock.Add(time.Duration(1+r.IntN(4)) * time.Second)
			w.publish(w.agent(1+r.IntN(7)), m, r.IntN(len(m.Outcomes)), float64(r.IntN(10_001))/10_000)
		}
		if r.IntN(2) == 0 {
			w.publish(w.agent(1+r.IntN(7)), nil, 0, float64(r.IntN(101))/100)
		}
		w.clock = w.clock.Truncate(time.Minute).Add(time.Minute)
		var seen []*market.Market
		for _, m := range ms {
			m.Prices = make([]float64, len(m.Outcomes))
			for k := range m.Prices {
				m.Prices[k] = float64(1+r.IntN(999)) / 1000
			}
			if r.IntN(6) > 0 { // leaves an occasional gap
				seen = append(seen, m)
			}
		}
		w.tick(s, seen...)
	}
	w.clock = w.clock.Add(17 * time.Minute) // past the time limit for a price
	w.must(s.FixBaselines(context.Background()))
	return ms
}

// settleAs closes market i with an outcome that is the same in every run.
func settleAs(w *world, ms []*market.Market, i int) {
	m, at := ms[i], start.Add(9*time.Minute+30*time.Second)
	prices := make([]float64, len(m.Outcomes))
	switch i % 6 {
	case 0:
		prices[0] = .9999992
	case 1, 3:
		prices[len(prices)-1] = 1
	case 2:
		m.Scalar = true
		prices[0], prices[1] = .3333333333, .6666666667
	case 4:
		prices[0], prices[1] = .5, .5
	case 5:
		prices[0] = 1
		at = time.Time{}
	}
	closeWith(m, at, prices...)
}
