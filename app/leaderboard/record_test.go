package leaderboard_test

import (
	"fmt"
	"math"
	"strings"

	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/leaderboard"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/score"
)

// forecast describes one prediction for a test. A y below 0 means open, a q below 0 means no
// baseline. Times are hours before start.
type forecast struct {
	agent   uuid.UUID
	market  string
	outcome int
	p, q, y float64
	hours   float64
	day     string // scheduled close
}

// market stores an open market with the given prices. Its outcomes are Yes and No if outcomes is
// nil.
func (w *world) market(id, event, category string, outcomes []string, prices ...float64) {
	w.t.Helper()
	if outcomes == nil {
		outcomes = []string{"Yes", "No"}
	}
	m := &market.Market{ID: id, Source: "test", Question: "Question " + id, Title: "Title " + id, Category: category,
		Outcomes: outcomes, Prices: prices, EventID: event, MatchKey: id, Active: true,
		FirstSeenAt: start, ObservedAt: start, ClosesAt: start.AddDate(0, 0, 10)}
	if event != "" {
		m.EventTitle = "Event " + event
	}
	if len(prices) > 0 {
		m.Probability = &prices[0]
	}
	if _, err := w.db.NewInsert().Model(m).Exec(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

// record stores predictions with their clusters and days, as settlement would.
func (w *world) record(list ...forecast) {
	w.t.Helper()
	type clusterKey struct {
		agent uuid.UUID
		event string
	}
	type cluster struct {
		category, day            string
		next, settled, disagrees int
		score.Cluster
	}
	clusters := map[clusterKey]*cluster{}
	days := map[[3]string]map[string]int64{}
	add := func(f forecast, category, day, column string, n int64) {
		for _, of := range []string{category, leaderboard.AllCategories} {
			key := [3]string{f.agent.String(), of, day}
			if days[key] == nil {
				days[key] = map[string]int64{}
			}
			days[key][column] += n
		}
	}
	for i, f := range list {
		var m market.Market
		if err := w.db.NewSelect().Model(&m).Where("id = ?", f.market).Scan(w.t.Context()); err != nil {
			w.t.Fatal(err)
		}
		at := start.Add(-dur(f.hours))
		key := clusterKey{f.agent, m.EventKey()}
		c := clusters[key]
		if c == nil {
			c = &cluster{category: m.Category, day: f.day}
			clusters[key] = c
		}
		closes, err := parseDay(f.day)
		if err != nil {
			w.t.Fatal(err)
		}
		p := &prediction.Prediction{ID: database.NewID(at), AgentID: f.agent, Title: fmt.Sprint("forecast ", i), Thesis: "t",
			Confidence: f.p, HorizonAt: closes, Category: m.Category, Evidence: []prediction.Evidence{}, MarketID: m.ID,
			Outcome: m.Outcomes[f.outcome], OutcomeIndex: &f.outcome, EventKey: m.EventKey(), MarketCategory: m.Category, ScheduledCloseAt: closes,
			BaselineState: prediction.Missed, Status: prediction.Open, CreatedAt: at}
		if f.q >= 0 {
			index := c.next
			c.next++
			p.BaselineState, p.Baseline, p.WeightIndex = prediction.Fixed, &f.q, &index
		}
		if f.y >= 0 {
			brier := score.Brier(f.p, f.y)
			p.Status, p.ResolutionValue, p.Brier, p.ResolvedAt = prediction.Resolved, &f.y, &brier, start
			count := func(column string, n float64) { add(f, c.category, c.day, column, int64(math.Round(n))) }
			count("resolved", 1)
			count("resolved_brier", brier*1e8)
			count("observed_squares", f.y*f.y*1e9)
			bin := fmt.Sprintf("b%d_", score.BinOf(f.p))
			count(bin+"count", 1)
			count(bin+"confidence", f.p*1e9)
			count(bin+"observed", f.y*1e9)
			if p.Baseline != nil {
				edge := score.Edge(f.p, f.q, f.y)
				p.Edge = &edge
				c.settled++
				c.Cluster = c.Cluster.Plus(score.Bet(f.p, f.q, f.y, *p.WeightIndex))
				if math.Abs(f.p-f.q) >= 0.03 {
					c.disagrees++
				}
				count("scored", 1)
				count("brier", brier*1e8)
				count("market_brier", score.Brier(f.q, f.y)*1e8)
				count("log_edge", score.LogEdge(f.p, f.q, f.y)*1e6)
			}
		}
		w.add(p)
	}
	for key, c := range clusters {
		w.exec(`INSERT INTO clusters (agent_id, event_key, category, day, next_index, settled, disagreements, value, stake, spread)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, key.agent, key.event, c.category, c.day, c.next, c.settled, c.disagrees, c.C, c.A, c.U)
		if c.settled == 0 {
			continue
		}
		f := forecast{agent: key.agent}
		add(f, c.category, c.day, "clusters", 1)
		add(f, c.category, c.day, "cluster_sum", int64(c.C))
		add(f, c.category, c.day, "cluster_squares", int64(c.C)*int64(c.C))
		add(f, c.category, c.day, "stake", int64(c.A))
		add(f, c.category, c.day, "variance", int64(c.U)*int64(c.U))
		if c.disagrees > 0 {
			add(f, c.category, c.day, "disagreements", 1)
		}
	}
	columns := []string{"clusters", "cluster_sum", "cluster_squares", "stake", "variance", "disagreements", "resolved", "scored",
		"resolved_brier", "brier", "market_brier", "log_edge", "observed_squares"}
	for i := range score.BinCount {
		for _, part := range []string{"count", "confidence", "observed"} {
			columns = append(columns, fmt.Sprintf("b%d_%s", i, part))
		}
	}
	for key, d := range days {
		values := []any{key[0], key[1], key[2]}
		for i, c := range columns {
			if key[1] == leaderboard.AllCategories && i > 1 {
				values = append(values, nil)
			} else {
				values = append(values, d[c])
			}
		}
		w.exec("INSERT INTO agent_days (agent_id, category, day, "+strings.Join(columns, ", ")+
			") VALUES (?, ?, ?"+strings.Repeat(", ?", len(columns))+")", values...)
	}
}
