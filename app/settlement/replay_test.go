package settlement

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/source/polymarket"
)

// upstream serves recorded payloads: Gamma's by market id, the order book's by condition id. alter
// changes Gamma's payloads before they are sent.
func upstream(t *testing.T, alter func(string) string) *polymarket.Client {
	t.Helper()
	dir := os.Getenv("UPSTREAM_SAMPLES")
	if dir == "" {
		t.Skip("set UPSTREAM_SAMPLES to the folder of recorded upstream payloads to replay them")
	}
	read := func(name string) string {
		body, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(body)
	}
	gamma := map[string]string{}
	for id, name := range map[string]string{"1460332": "1", "1812085": "2", "1878152": "5", "1557558": "7"} {
		gamma[id] = alter(read("gamma-market-single-" + name + ".json"))
	}
	books := map[string]string{
		"0x8ccc3f4951ff02c1d34b87988752b4444ad17228732780a6cf22afefe8478bb6": read("clob-market-single-1.json"),
		"0xd57eed0d44f5b8ca54925d8d6ff440b146b3e6e071da18136ee3ee572d34479e": read("clob-market-single-2.json"),
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if id, ok := strings.CutPrefix(r.URL.Path, "/markets/"); ok {
			if body := books[id]; body != "" {
				_, _ = w.Write([]byte(body))
				return
			}
			http.NotFound(w, r)
			return
		}
		var found []string
		for _, id := range r.URL.Query()["id"] {
			body := gamma[id]
			closed := strings.Contains(body, `"closed": true,`) || strings.Contains(body, `"closed":true`)
			if body != "" && closed == (r.URL.Query().Get("closed") == "true") {
				found = append(found, body)
			}
		}
		list := "[" + strings.Join(found, ",") + "]"
		if strings.HasSuffix(r.URL.Path, "/keyset") {
			list = `{"markets":` + list + `}`
		}
		_, _ = w.Write([]byte(list))
	}))
	t.Cleanup(server.Close)
	return polymarket.New(polymarket.Config{GammaURL: server.URL, ClobURL: server.URL})
}

// TestRecordedSettlements checks that the recorded markets settle with their real outcomes: by
// their prices, and by the recorded order books if the prices are made unclear.
func TestRecordedSettlements(t *testing.T) {
	t.Parallel()
	unclear := strings.NewReplacer(`"[\"0\", \"1\"]"`, `"[\"0.4\", \"0.6\"]"`, `"[\"1\", \"0\"]"`, `"[\"0.6\", \"0.4\"]"`,
		`"umaResolutionStatus": "proposed"`, `"umaResolutionStatus": "resolved"`, `"enableOrderBook": true`, `"enableOrderBook": true, "umaResolutionStatus": "resolved"`)
	for name, c := range map[string]struct {
		alter func(string) string
		want  map[string]string // by market id: the winner, or "" for a market that stays open
	}{
		"as recorded":        {func(s string) string { return s }, map[string]string{"1460332": "No", "1812085": "Yes", "1878152": "FaZe", "1557558": ""}},
		"by the order books": {unclear.Replace, map[string]string{"1460332": "No", "1812085": "Yes", "1878152": "", "1557558": ""}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dbtest.Each(t, func(t *testing.T, db *database.DB) {
				client := upstream(t, c.alter)
				w := newWorld(t, db)
				s := w.service(0)
				s.winner = client.Winner
				got, err := client.ByID(t.Context(), []string{"1460332", "1812085", "1878152", "1557558"})
				if err != nil || len(got.Markets) != 4 {
					t.Fatalf("read %d markets: %v", len(got.Markets), err)
				}
				// The agent predicts in March 2026, while all four markets are open.
				before := make([]market.Market, len(got.Markets))
				for i, m := range got.Markets {
					reopen(&m, .5, .5)
					before[i] = m
				}
				w.clock = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
				observe := func(markets []market.Market) {
					t.Helper()
					for i := range markets {
						markets[i].ObservedAt = w.clock
					}
					w.must(db.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) error {
						return market.Store{}.Observe(ctx, tx, markets)
					}))
					w.must(s.AfterMarkets(t.Context(), markets))
				}
				observe(before)
				w.clock = w.clock.Add(time.Second)
				ids := map[string]prediction.Prediction{}
				for i := range before {
					ids[before[i].ID] = w.prediction(w.publish(w.agent(1), &before[i], 0, .7))
				}
				w.clock = w.clock.Add(2 * time.Minute)
				observe(before)
				w.clock = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
				observe(got.Markets)
				for id, winner := range c.want {
					p := w.prediction(ids[id].ID)
					if winner == "" {
						if p.Status != prediction.Open || p.BaselineState != prediction.Fixed {
							t.Errorf("market %s: %s, %s", id, p.Status, p.BaselineState)
						}
						continue
					}
					y := map[bool]float64{true: 1}[winner == p.Outcome]
					edge := map[bool]float64{true: 16, false: -24}[y == 1]
					if p.Status != prediction.Resolved || p.ResolutionOutcome != winner || *p.ResolutionValue != y || p.Edge.Float() != edge {
						t.Errorf("market %s: %s %q %s, edge %v", id, p.Status, p.ResolutionOutcome, show(p.ResolutionValue), p.Edge)
					}
				}
				w.rebuilt()
			})
		})
	}
}
