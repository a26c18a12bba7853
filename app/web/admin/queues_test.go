package admin_test

import (
	"context"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/metrics"
	"github.com/pulsecast/pulsecast/app/monitor"
	"github.com/pulsecast/pulsecast/app/prediction"
)

// TestEveryPlaceCountsTheSameQueue checks that the list, the overview, the system page and the
// metrics agree on how many markets wait and how many predictions are due. A closed market and a
// vanished one wait. A sample market doesn't.
func TestEveryPlaceCountsTheSameQueue(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *database.DB) {
		h := open(t, db)
		h.wait("sample", true, true)
		h.wait("vanished", false, false)
		h.add(prediction.Prediction{HorizonAt: start.Add(-time.Hour), BaselineState: prediction.Unlinked, Sample: true})
		const markets, due = 2, 1

		b := h.signedIn("eve")
		list := b.get("/admin/settlement")
		if got := list.doc.Find("section[aria-labelledby=markets] tbody tr").Length(); got != markets {
			t.Errorf("the list shows %d markets, want %d", got, markets)
		}
		if got := list.doc.Find("section[aria-labelledby=due] tbody tr").Length(); got != due {
			t.Errorf("the list shows %d due predictions, want %d", got, due)
		}
		overview := b.get("/admin").text("main")
		for _, want := range []string{"2 markets do not settle", "1 prediction is due", "Wait for a ruling3"} {
			if !strings.Contains(overview, want) {
				t.Errorf("the overview does not say %q:\n%s", want, overview)
			}
		}
		system := b.get("/admin/system")
		for href, want := range map[string]string{"/admin/settlement#markets": "2", "/admin/settlement#due": "1"} {
			if got := system.text(`tr:has(a[href="` + href + `"]) td.num`); got != want {
				t.Errorf("the system page counts %q of %s, want %s", got, href, want)
			}
		}
		scraped := h.scrape()
		for kind, want := range map[string]float64{"market": markets, "admin": due} {
			if got := scraped(`pulsecast_settlement_queue{kind="` + kind + `"}`); got != want {
				t.Errorf("the metrics count %v of %s, want %v", got, kind, want)
			}
		}
		if got, want := scraped(`pulsecast_settlement_lag_seconds{kind="market"}`), (48 * time.Hour).Seconds(); got != want {
			t.Errorf("the oldest market waits for %v seconds, want %v", got, want)
		}
	})
}

// TestCutQueueSaysSo checks that a queue with more than the page lists says that there are more.
func TestCutQueueSaysSo(t *testing.T) {
	t.Parallel()
	h := open(t, openSQLite(t))
	b := h.signedIn("eve")
	const cut = "These are the first 100."
	for _, c := range []struct {
		reports int
		more    bool
	}{{100, false}, {101, true}} {
		for i := range c.reports {
			h.exec(`INSERT INTO reports (id, prediction_id, author_id, reader, kind, text, status, answer, created_at)
				VALUES (?, ?, ?, ?, 'spam', '', 'open', '', ?) ON CONFLICT DO NOTHING`, uuid.New(), h.due.ID, h.agent.ID, strconv.Itoa(i), start)
		}
		list := b.get("/admin/settlement").doc.Find("section[aria-labelledby=reports]")
		if n := list.Find("li").Length(); n != 100 || strings.Contains(list.Text(), cut) != c.more {
			t.Errorf("%d reports: listed %d, says that there are more: %t", c.reports, n, strings.Contains(list.Text(), cut))
		}
	}
}

// wait adds a market with an open prediction, last seen two days ago.
func (h *house) wait(id string, sample, closed bool) {
	h.t.Helper()
	m := market.Market{ID: id, Source: "x", Question: id, Title: id, Outcomes: []string{"Yes", "No"}, Prices: []float64{0.5, 0.5},
		Active: !closed, Closed: closed, ObservedAt: start.Add(-48 * time.Hour), Sample: sample}
	h.tx(func(ctx context.Context, tx bun.Tx) error { return market.Store{}.Observe(ctx, tx, []market.Market{m}) })
	h.add(prediction.Prediction{MarketID: id, HorizonAt: start.Add(time.Hour), BaselineState: prediction.Fixed, Sample: sample})
}

func (h *house) add(p prediction.Prediction) {
	h.t.Helper()
	p.ID, p.AgentID, p.Status, p.CreatedAt = database.NewID(start), h.agent.ID, prediction.Open, start.Add(-49*time.Hour)
	if err := prediction.Add(h.t.Context(), h.db, &p); err != nil {
		h.t.Fatal(err)
	}
}

// scrape reads the metrics once and returns a function that finds a value by its full name.
func (h *house) scrape() func(name string) float64 {
	h.t.Helper()
	m := metrics.New(metrics.Options{DB: h.db, Now: func() time.Time { return h.now }, Monitor: h.monitor(), Usage: h.usage.Waiting})
	if err := m.Listen("127.0.0.1:0"); err != nil {
		h.t.Fatal(err)
	}
	m.Start()
	defer m.Stop(context.Background())
	res, err := http.Get("http://" + m.Addr() + "/metrics")
	if err != nil {
		h.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	return func(name string) float64 {
		found := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + ` (\S+)$`).FindSubmatch(body)
		if found == nil {
			h.t.Errorf("no metric %s", name)
			return -1
		}
		value, err := strconv.ParseFloat(string(found[1]), 64)
		if err != nil {
			h.t.Error(err)
		}
		return value
	}
}

// TestOverviewNamesWhatAlertsName checks that the overview doesn't say that all is well while an alert about the disk or
// about baselines fires.
func TestOverviewNamesWhatAlertsName(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *database.DB) {
		h := open(t, db)
		h.now = h.onMarket.CreatedAt.Add(time.Minute)
		b := h.signedIn("eve")
		concerns := func() string { return b.get("/admin").text(".concerns") }
		const full, late = "The disk of the database is almost full", "Predictions wait too long for their baseline"
		if text := concerns(); strings.Contains(text, full) || strings.Contains(text, late) {
			t.Errorf("without a problem, the overview says %s", text)
		}
		h.disk = monitor.Disk{Free: 1 << 20, Size: 1 << 40}
		h.now = h.onMarket.CreatedAt.Add(monitor.BaselinesLate + time.Second)
		if text := concerns(); !strings.Contains(text, full) || !strings.Contains(text, late) {
			t.Errorf("the overview says %s", text)
		}
	})
}
