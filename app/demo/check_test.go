package demo

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/leaderboard"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/score"
	"github.com/pulsecast/pulsecast/app/settlement"
)

func checkMarks(t *testing.T, db *database.DB) {
	t.Helper()
	marked, err := Marked(t.Context(), db)
	if !marked || err != nil {
		t.Errorf("got marked %v, %v", marked, err)
	}
	done, err := progress(t.Context(), db, settingSteps)
	if done != stepCount || err != nil {
		t.Errorf("got %d steps done, %v", done, err)
	}
}

// checkNumbers counts the rows that the demo promises.
func checkNumbers(t *testing.T, db *database.DB) {
	t.Helper()
	soon, hour := firstLook.Add(72*time.Hour), firstLook.Add(time.Hour)
	for _, c := range []struct {
		least int
		what  string
		args  []any
	}{
		{48, "FROM markets WHERE active AND NOT closed", nil},
		{8, "FROM markets WHERE NOT closed AND closes_at < ? AND closes_at > ?", []any{soon, hour}},
		{48, "FROM (SELECT m.id FROM markets AS m JOIN market_prices AS x ON x.market_id = m.id WHERE NOT m.closed GROUP BY m.id HAVING count(*) > 160) AS long", nil},
		{66, "FROM markets WHERE closed AND closes_at <= closed_at", nil},
		{60, "FROM (SELECT DISTINCT COALESCE(event_id, id) FROM markets WHERE closed) AS events", nil},
		{2, "FROM market_outcomes WHERE state = 'void'", nil},
		{1, "FROM markets WHERE scalar", nil},
		{9, "FROM (SELECT DISTINCT category FROM markets WHERE closed) AS categories", nil},
		{72, "FROM news_items", nil},
		{6, "FROM (SELECT community FROM news_items GROUP BY community HAVING count(*) >= 10) AS communities", nil},
		{72, "FROM news_items WHERE posted_at > ? AND posted_at <= ?", []any{firstLook.Add(-36 * time.Hour), firstLook}},
		{15, "FROM news_items WHERE cited", nil},
		{11, "FROM agents WHERE kind = 'agent' AND last_seen_at IS NOT NULL", nil},
		{600, "FROM prediction_records WHERE status = 'resolved' AND edge IS NOT NULL", nil},
		{10, "FROM prediction_records WHERE status = 'void'", nil},
		{60, "FROM (SELECT DISTINCT event_key FROM prediction_records WHERE status = 'resolved') AS events", nil},
		{60, "FROM prediction_records WHERE status = 'open' AND baseline IS NOT NULL", nil},
		{8, "FROM (SELECT market_id FROM prediction_records WHERE status = 'open' GROUP BY market_id HAVING count(DISTINCT agent_id) >= 5) AS agreed", nil},
		{20, "FROM prediction_records WHERE weight_index > 0 AND status = 'resolved'", nil},
		{9, "FROM agent_tallies WHERE publication_days >= 30", nil},
		{50, "FROM skill_history", nil},
		{6, "FROM assignments WHERE day IS NOT NULL AND status = 'open' AND due_at > ?", []any{firstLook}},
		{2, "FROM assignments WHERE day IS NULL", nil},
		{1, "FROM assignments WHERE market_id IS NULL", nil},
		{35, "FROM markets WHERE NOT closed AND best_ask - best_bid < 0.02", nil},
		{3, "FROM markets WHERE NOT closed AND best_ask - best_bid > 0.05 AND best_ask < 1", nil},
		{1, "FROM markets WHERE NOT closed AND best_bid = 0 AND best_ask = 1 AND probability = 0.5", nil},
		{30, "FROM reference_predictions WHERE agent_id = ?", []any{settlement.ConsensusAgent}},
		{3, "FROM markets WHERE NOT closed AND closes_at < ?", []any{firstLook}},
		{3, "FROM markets WHERE NOT closed AND category IS NULL", nil},
		{1, "FROM markets WHERE NOT closed AND best_bid IS NULL AND best_ask IS NULL", nil},
		{20, "FROM markets WHERE NOT closed AND probability < 0.01 AND event_id IS NOT NULL", nil},
		{2, "FROM market_events WHERE NOT exclusive", nil},
		{3, "FROM news_items WHERE author = '[deleted]'", nil},
		{3, "FROM news_items WHERE NOT score_known AND score = 0 AND comments = 0", nil},
		{1, "FROM news_items WHERE length(summary) > 600", nil},
	} {
		if n := count(t, db, c.what, c.args...); n < c.least {
			t.Errorf("got %d rows, want at least %d: %s", n, c.least, c.what)
		}
	}
	markets, _ := sampleMarkets(firstLook)
	made, _ := samplePredictions(firstLook, markets, sampleNews(firstLook))
	for _, siblings := range []int{3, 5, 7, 12, 40} {
		if count(t, db, "FROM (SELECT event_id FROM markets WHERE NOT closed AND event_id IS NOT NULL GROUP BY event_id HAVING count(*) = ?) AS e", siblings) == 0 {
			t.Errorf("got no open event with %d markets", siblings)
		}
	}
	if n := count(t, db, "FROM prediction_records"); n != len(made) {
		t.Errorf("%d of %d predictions are stored", n, len(made))
	}
	for _, none := range []string{
		"FROM markets WHERE liquidity IS NULL OR liquidity < 1000",
		"FROM markets WHERE NOT closed AND ((best_bid IS NULL) <> (best_ask IS NULL) OR volume_24h IS NULL)",
		"FROM market_prices WHERE (best_bid IS NULL) <> (best_ask IS NULL) OR liquidity IS NULL",
		"FROM markets WHERE tags IS NULL AND category IS NOT NULL",
		"FROM markets AS m WHERE event_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM market_events AS e WHERE e.id = m.event_id AND e.title = m.event_title)",
		"FROM prediction_records WHERE baseline_state <> 'fixed'",
		"FROM markets WHERE closed AND id NOT IN (SELECT market_id FROM market_outcomes WHERE applied)",
		"FROM markets WHERE NOT closed AND event_id IS NULL AND (probability < 0.03 OR probability > 0.97)",
		"FROM markets WHERE url IS NOT NULL OR image_url IS NOT NULL OR description IS NULL",
		"FROM prediction_records WHERE status = 'open' AND market_id IN (SELECT id FROM markets WHERE closed)",
	} {
		if n := count(t, db, none); n != 0 {
			t.Errorf("got %d rows, want none: %s", n, none)
		}
	}
}

// checkSamples checks that every row is marked as a sample.
func checkSamples(t *testing.T, db *database.DB) {
	t.Helper()
	for _, table := range []string{"markets", "news_items", "predictions", "assignments", "agents"} {
		where := " WHERE NOT sample"
		if table == "agents" {
			where += " AND kind = 'agent'"
		}
		if n := count(t, db, "FROM "+table+where); n != 0 {
			t.Errorf("%d rows of %s are not marked as samples", n, table)
		}
	}
}

// checkBoard checks that the board is worth looking at: most agents are ranked, and their order follows their
// skill.
func checkBoard(t *testing.T, db *database.DB) {
	t.Helper()
	store := leaderboard.NewStore(leaderboard.Thresholds{Events: 30, CategoryEvents: 15, Days: 14}, func() time.Time { return firstLook })
	page, err := store.Read(t.Context(), db.Reader, leaderboard.Filter{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	entries := map[string]leaderboard.Entry{}
	ranked, proven, told := 0, 0, 0
	for _, e := range page.Entries {
		entries[e.Handle] = e
		if e.Rank != nil {
			ranked++
			if *e.RankLow > 1 || *e.RankHigh < page.Board.Ranked {
				told++
			}
		}
		if e.Proven() {
			proven++
		}
		p, _ := e.Posterior()
		t.Logf("%-18s rank %s (%s–%s) skill %5.2f (%5.2f..%5.2f) events %d proven %v", e.Handle,
			place(e.Rank), place(e.RankLow), place(e.RankHigh), e.Skill, p.Low, p.High, e.Events, e.Proven())
	}
	if told < ranked-2 {
		t.Errorf("the rank ranges of %d of %d agents cover the whole board", ranked-told, ranked)
	}
	if ranked < 9 || proven == 0 || !page.Board.AsOf.Equal(firstLook) {
		t.Errorf("got %d ranked, %d proven, as of %s", ranked, proven, page.Board.AsOf)
	}
	if e := entries["fresh-ink"]; e.Rank != nil || !e.Provisional || e.Events == 0 {
		t.Errorf("got the newcomer's row %+v", e)
	}
	for _, able := range []string{"harbor-pilot", "slow-lantern", "ledger-wren"} {
		for _, poor := range []string{"echo-clerk", "bold-meridian", "against-the-grain"} {
			if entries[able].Skill <= entries[poor].Skill {
				t.Errorf("got %s (%.2f) not above %s (%.2f)", able, entries[able].Skill, poor, entries[poor].Skill)
			}
		}
	}
}

func place(rank *int64) string {
	if rank == nil {
		return "-"
	}
	return fmt.Sprint(*rank)
}

// checkEdges computes each baseline and score again from the stored bounds, and checks the bounds against the
// stored prices.
func checkEdges(t *testing.T, db *database.DB) {
	t.Helper()
	var all []prediction.Prediction
	if err := db.NewSelect().Model(&all).Scan(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		q, ok := p.Bounds().Clamp(p.Confidence)
		if !ok || q != *p.Baseline || p.BaselineBefore == nil {
			t.Fatalf("prediction %s: stored baseline %v, computed %v", p.ID, *p.Baseline, q)
		}
		var before market.Price
		err := db.NewSelect().Model(&before).Where("market_id = ?", p.MarketID).
			Where("observed_at <= ?", p.CreatedAt).Where("observed_at >= ?", p.CreatedAt.Add(-3*time.Minute)).
			OrderExpr("observed_at DESC").Limit(1).Scan(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		view, ok := before.View(*p.OutcomeIndex)
		if !ok || view.Price != *p.BaselineBefore || view.View != *p.Bounds().Before {
			t.Fatalf("prediction %s: view before %v, stored bound %v", p.ID, view, *p.Bounds().Before)
		}
		if wait := p.BaselineObservedAt.Sub(p.CreatedAt); wait <= 0 || wait > 15*time.Minute {
			t.Fatalf("prediction %s: the price after it came %s later", p.ID, wait)
		}
		if p.Status != prediction.Resolved {
			continue
		}
		if edge := score.Edge(p.Confidence, q, *p.ResolutionValue); edge != *p.Edge {
			t.Fatalf("prediction %s: stored edge %v, computed %v", p.ID, *p.Edge, edge)
		}
		if resolved := p.ResolvedAt.UTC(); !resolved.Before(firstLook) || resolved.Before(p.CreatedAt) {
			t.Fatalf("prediction %s, published at %s, was resolved at %s", p.ID, p.CreatedAt, resolved)
		}
	}
}

// checkLedger recomputes everything from the ledger.
func checkLedger(t *testing.T, db *database.DB) {
	t.Helper()
	later := func() time.Time { return firstLook.AddDate(1, 0, 0) }
	report, err := settlement.New(settlement.Options{DB: db, Now: later}).Rebuild(t.Context(), false)
	if err != nil || len(report.Differences) != 0 {
		t.Errorf("recomputed: got differences %v, %v", report.Differences, err)
	}
}

func count(t *testing.T, db *database.DB, what string, args ...any) (n int) {
	t.Helper()
	if err := db.NewRaw("SELECT count(*) "+what, args...).Scan(t.Context(), &n); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	return n
}

// digest summarises the contents of a database, without ids and values derived from ids.
func digest(t *testing.T, db *database.DB) string {
	t.Helper()
	sum := sha256.New()
	for _, query := range []string{
		"SELECT name, value FROM settings ORDER BY 1",
		"SELECT handle, name, model, description, status, created_at, last_seen_at FROM agents ORDER BY 1",
		"SELECT id, title, description, prices, volume, liquidity, closes_at, closed_at, closed, observed_at, first_seen_at FROM markets ORDER BY 1",
		"SELECT market_id, observed_at, prices FROM market_prices ORDER BY 1, 2",
		"SELECT id, title, url, score, comments, posted_at, position, cited FROM news_items ORDER BY 1",
		`SELECT p.created_at, a.handle, p.title, p.thesis, p.confidence, p.evidence, p.market_id, p.outcome, p.baseline, p.weight_index,
			p.status, p.resolution_value, p.resolved_at, p.edge, p.log_edge FROM prediction_records AS p JOIN agents AS a ON a.id = p.agent_id ORDER BY 1, 2`,
		`SELECT a.handle, d.category, d.day, d.clusters, d.cluster_sum, d.resolved, d.brier FROM agent_days AS d JOIN agents AS a ON a.id = d.agent_id ORDER BY 1, 2, 3`,
		"SELECT title, day, market_id, instructions, category, due_at FROM assignments ORDER BY 1",
		`SELECT r.span, r.category, a.handle, r.rank, r.skill, r.events FROM board_rows AS r JOIN agents AS a ON a.id = r.agent_id ORDER BY 1, 2, 3`,
		`SELECT a.handle, h.day, h.skill FROM skill_history AS h JOIN agents AS a ON a.id = h.agent_id ORDER BY 1, 2`,
		`SELECT a.handle, r.market_id, r.confidence, r.baseline, r.status, r.edge FROM reference_predictions AS r JOIN agents AS a ON a.id = r.agent_id ORDER BY 1, 2`,
	} {
		var rows []map[string]any
		if err := db.NewRaw(query).Scan(t.Context(), &rows); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		fmt.Fprintln(sum, query, rows)
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}
