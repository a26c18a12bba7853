package leaderboard_test

import (
	"context"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/leaderboard"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/settlement"
)

// TestReferencesAloneReachTheBoards checks that the boards follow the settlement of a market on which no agent has a
// prediction, and a correction of its outcome right after.
func TestReferencesAloneReachTheBoards(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		w.days(w.agent(agent{handle: "one", days: 14}), "sport", "2026-11-01", 30, 1)
		w.market("lonely", "", "chess", nil, .7, .3)
		w.exec("UPDATE markets SET closes_at = ? WHERE id = 'lonely'", start)
		service := settlement.New(settlement.Options{DB: db, Interval: time.Minute, Now: w.clock.now})
		var m market.Market
		observe := func(change func()) {
			t.Helper()
			err := db.NewSelect().Model(&m).Where("id = 'lonely'").Scan(t.Context())
			if err == nil {
				change()
				m.ObservedAt = w.clock.now()
				_, err = db.NewUpdate().Model(&m).WherePK().Exec(t.Context())
			}
			if err == nil {
				err = service.AfterMarkets(context.Background(), []market.Market{m})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		closed := func(prices ...float64) func() {
			return func() {
				m.Closed, m.Active, m.ClosedAt, m.Prices, m.Resolution = true, false, start, prices, "resolved"
			}
		}
		price := market.Price{MarketID: "lonely", ObservedAt: start.Add(-time.Hour), Prices: []float64{.7, .3}}
		if err := (market.Store{}).AddPrices(t.Context(), db, []market.Price{price}); err != nil {
			t.Fatal(err)
		}
		observe(func() {})
		w.tick()
		w.wantBoard(everything, "1 one", "- market")

		chess := leaderboard.Filter{Category: "chess"}
		for _, step := range []struct {
			prices      []float64
			main, chess []string
		}{
			{[]float64{0, 1}, []string{"- fifty", "1 one", "- market"}, []string{"- fifty", "- market"}},
			{[]float64{1, 0}, []string{"1 one", "- market", "- fifty"}, []string{"- market", "- fifty"}},
		} {
			w.clock.move(time.Second)
			observe(closed(step.prices...))
			if !w.tick() {
				t.Errorf("the tick after a settlement at %v built no board", step.prices)
			}
			w.wantBoard(chess, step.chess...)
			w.wantBoard(everything, step.main...)
			const rows = "SELECT * FROM board_rows ORDER BY span, category, position"
			ticked := w.dump(rows)
			if w.tick() {
				t.Error("the same settlement was built twice")
			}
			if err := w.builder.Rebuild(t.Context()); err != nil {
				t.Fatal(err)
			}
			if rebuilt := w.dump(rows); rebuilt != ticked {
				t.Errorf("ticks made\n%s\na rebuild makes\n%s", ticked, rebuilt)
			}
		}
	})
}
