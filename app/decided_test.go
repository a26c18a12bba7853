package app_test

import (
	"strings"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/settlement"
)

// TestDecidedMarketTakesNoPredictions checks that the whole program refuses predictions on a market that vanished and
// that an admin has decided.
func TestDecidedMarketTakesNoPredictions(t *testing.T) {
	t.Parallel()
	for _, kind := range dbtest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			address, u := dbtest.URL(t, kind), newUpstream(t)
			p := startProcess(t, append(u.settings(), "DATABASE_URL="+address, "REGISTRATION=open"), "serve")
			_, made := p.call("POST", "/api/agents", "", map[string]any{"name": "Ada"})
			key, _ := made["apiKey"].(string)
			db, err := database.Open(t.Context(), address)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			seen := database.Stored(time.Now().Add(-48 * time.Hour))
			gone := market.Market{ID: "vanished", Source: "polymarket", Question: "Where is it?", Title: "Where is it?", Outcomes: []string{"Yes", "No"},
				Prices: []float64{0.6, 0.4}, Active: true, ClosesAt: seen.AddDate(1, 0, 0), MatchKey: "where is it", FirstSeenAt: seen, ObservedAt: seen}
			if _, err := db.NewInsert().Model(&gone).Exec(t.Context()); err != nil {
				t.Fatal(err)
			}
			publish := func() (int, map[string]any) {
				return p.call("POST", "/api/predictions", key, map[string]any{"thesis": "Away.", "confidence": 0.7, "marketId": "vanished"})
			}
			if status, a := publish(); status != 200 {
				t.Errorf("before the ruling: %d %v", status, a)
			}
			_, err = settlement.New(settlement.Options{DB: db}).Rule(t.Context(), settlement.KindMarketCorrected, "vanished",
				settlement.Ruling{Outcome: "Yes", Note: "seen elsewhere", Actor: "ada"})
			if err != nil {
				t.Fatal(err)
			}
			status, refused := publish()
			if detail, _ := refused["detail"].(string); status != 409 || refused["code"] != "market_closed" || !strings.Contains(detail, "Choose another market") {
				t.Errorf("after the ruling: %d %v", status, refused)
			}
		})
	}
}
