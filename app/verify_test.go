package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/score"
	"github.com/pulsecast/pulsecast/app/settlement"
)

// TestVerify recomputes the demo's scores and boards from its public API, with the command and with
// the Python file. It checks that both notice a single changed number.
func TestVerify(t *testing.T) {
	t.Parallel()
	address := demoURL(t, database.SQLite)
	decideLate(t, address)
	p, _ := startDemo(t, "DATABASE_URL="+address, "RATE_LIMIT_READS=off")
	p.until("/api/leaderboard?category="+lateCategory, "", func(a map[string]any) bool { return a["asOf"] != nil })
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Fatal("python3 is needed; install it with: apt-get install python3")
	}
	verifiers := map[string]func(base string) *exec.Cmd{
		"verify.py": func(base string) *exec.Cmd {
			return exec.CommandContext(t.Context(), python, "-B", "../static/clients/verify.py", base)
		},
		"pulsecast verify": func(base string) *exec.Cmd { return command(t, nil, "verify", base) },
	}
	for _, c := range []struct {
		name, finds, says string
		tamper            func() func(r *http.Request, answer map[string]any) // for one verification
	}{
		{name: "as published"},
		{name: "an edge", finds: "edge", tamper: always(func(answer map[string]any) {
			list, _ := answer["predictions"].([]any)
			for _, one := range list {
				if scores, _ := one.(map[string]any)["scores"].(map[string]any); scores != nil && scores["edge"] != nil {
					scores["edge"] = scores["edge"].(float64) + 0.0001
				}
			}
		})},
		{name: "a day", finds: "day", tamper: always(func(answer map[string]any) {
			list, _ := answer["predictions"].([]any)
			for _, one := range list {
				if scores, _ := one.(map[string]any)["scores"].(map[string]any); scores != nil {
					scores["day"] = "2026-01-01"
				}
			}
		})},
		{name: "a range", finds: "skillHigh", tamper: always(func(answer map[string]any) {
			list, _ := answer["leaderboard"].([]any)
			for _, one := range list {
				if row := one.(map[string]any); row["skillHigh"] != nil {
					row["skillHigh"] = row["skillHigh"].(float64) + 0.000001
				}
			}
		})},
		{name: "a settlement during the first reading", tamper: settlingLate(func(reading int) int {
			if reading == 1 {
				return 1
			}
			return 0
		})},
		{name: "another settlement during each reading", says: "second of two readings", tamper: settlingLate(func(reading int) int { return reading })},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for what, verify := range verifiers {
				base := p.base
				if c.tamper != nil {
					base = tampering(t, p.base, c.tamper())
				}
				out, err := verify(base).CombinedOutput()
				checkVerified(t, what, c.finds, string(out), err)
				if !strings.Contains(string(out), c.says) {
					t.Errorf("%s doesn't say %q:\n%s", what, c.says, out)
				}
			}
		})
	}
}

// always changes every answer in the same way.
func always(tamper func(answer map[string]any)) func() func(r *http.Request, answer map[string]any) {
	return func() func(r *http.Request, answer map[string]any) {
		return func(_ *http.Request, answer map[string]any) { tamper(answer) }
	}
}

// settlingLate shows one of the settled predictions as open, as if it settled after its page was read and before the
// boards are. late is the number of this prediction in a reading of all predictions. Both count from 1.
func settlingLate(late func(reading int) int) func() func(r *http.Request, answer map[string]any) {
	return func() func(r *http.Request, answer map[string]any) {
		reading, seen, today := 0, 0, time.Now().UTC().Format(time.DateOnly)
		return func(r *http.Request, answer map[string]any) {
			list, _ := answer["predictions"].([]any)
			if list != nil && !r.URL.Query().Has("cursor") {
				reading, seen = reading+1, 0
			}
			for _, one := range list {
				p := one.(map[string]any)
				scores, _ := p["scores"].(map[string]any)
				if p["weight"] != 1.0 || scores == nil || scores["edge"].(float64) < 1 || scores["day"].(string) >= today {
					continue // it counts little on the boards, or not yet
				}
				if seen++; seen == late(reading) {
					p["status"], p["resolution"], p["scores"] = "open", nil, nil
				}
			}
		}
	}
}

// lateCategory is the category of the market of decideLate.
const lateCategory = "lighthouses"

// decideLate adds an agent with a prediction on a market without an end date. The market closed 33 days ago, and an admin
// decided it ten days ago, so the event counts in the last 30 days.
func decideLate(t *testing.T, address string) {
	t.Helper()
	db, err := database.Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	now := database.Now(time.Now())
	published := now.AddDate(0, 0, -34)
	m := market.Market{ID: "undated", Source: "polymarket", Question: "Was it lit?", Title: "Was it lit?", Outcomes: []string{"Yes", "No"}, Category: lateCategory,
		Closed: true, ClosedAt: now.AddDate(0, 0, -33), MatchKey: "was it lit", FirstSeenAt: published, ObservedAt: now}
	a := agent.Agent{ID: database.NewID(published), Handle: "keeper", Profile: agent.Profile{Name: "Keeper"}, Kind: agent.Ordinary, Status: agent.Active,
		Visibility: agent.Public, CreatedAt: published}
	yes := 0
	made := prediction.Prediction{ID: database.NewID(published), AgentID: a.ID, Title: "Was it lit?", Thesis: "It was dark.", Confidence: 0.7, HorizonAt: now, Category: "general",
		Evidence: []prediction.Evidence{}, MarketID: m.ID, Outcome: "Yes", OutcomeIndex: &yes, EventKey: m.EventKey(), MarketCategory: m.Category,
		BaselineState: prediction.Pending, Status: prediction.Open, CreatedAt: published}
	err = db.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) error {
		if _, err := tx.NewInsert().Model(&m).Exec(ctx); err != nil {
			return err
		}
		err := market.Store{}.AddPrices(ctx, tx, []market.Price{
			{MarketID: m.ID, ObservedAt: published.Add(-30 * time.Second), Prices: []float64{.6, .4}},
			{MarketID: m.ID, ObservedAt: published.Add(3 * time.Minute), Prices: []float64{.6, .4}},
		})
		if err != nil {
			return err
		}
		if err := agent.Restore(ctx, tx, []agent.Agent{a}); err != nil {
			return err
		}
		return prediction.Store{}.Insert(ctx, tx, &made)
	})
	if err != nil {
		t.Fatal(err)
	}
	s := settlement.New(settlement.Options{DB: db, Interval: time.Minute, Now: func() time.Time { return now.AddDate(0, 0, -10) }})
	_, err = s.Rule(t.Context(), settlement.KindMarketCorrected, m.ID, settlement.Ruling{Outcome: "Yes", Note: "The log says so.", Actor: "ada"})
	if err != nil {
		t.Fatal(err)
	}
}

// checkVerified expects no difference, or differences that name the changed number.
func checkVerified(t *testing.T, what, finds, out string, err error) {
	t.Helper()
	clean := strings.Contains(out, " 0 differences")
	if finds == "" && (err != nil || !clean) || finds != "" && (err == nil || clean || !strings.Contains(out, finds)) {
		t.Errorf("%s, with %q changed: %v\n%s", what, finds, err, out)
	}
	if strings.Contains(out, "Recomputed 0 ") || strings.Contains(out, "and 0 rows") {
		t.Errorf("%s recomputed nothing:\n%s", what, out)
	}
}

// tampering serves the answers of another server after changing them.
func tampering(t *testing.T, base string, tamper func(r *http.Request, answer map[string]any)) string {
	t.Helper()
	var mu sync.Mutex
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		req, err := http.NewRequestWithContext(r.Context(), http.MethodGet, base+r.URL.RequestURI(), nil)
		if err != nil {
			t.Error(err)
			return
		}
		req.Header.Set("User-Agent", r.UserAgent())
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Error(err)
			return
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		var answer map[string]any
		if err == nil {
			err = json.NewDecoder(bytes.NewReader(body)).Decode(&answer)
		}
		if err != nil {
			t.Error(err)
			return
		}
		mu.Lock()
		tamper(r, answer)
		mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// TestVerifyRebuiltBoard checks that neither verification compares a board that is rebuilt between two of its pages.
func TestVerifyRebuiltBoard(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Fatal("python3 is needed; install it with: apt-get install python3")
	}
	const page = `{"ok":true,"asOf":%q,"prior":{"mu":0.5,"tau":0.5,"kappa":100},"nextCursor":%s,"leaderboard":[
		{"rank":%d,"rankLow":1,"rankHigh":2,"provisional":false,"reference":false,"reason":null,"agent":{"id":"a","handle":"a"},"skill":1,
		"bestGuess":1,"skillLow":0,"skillHigh":2,"odds":1,"proven":false,"events":30}]}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/api/predictions":
			fmt.Fprint(w, `{"ok":true,"predictions":[],"nextCursor":null}`)
		case r.URL.Query().Has("cursor"):
			fmt.Fprintf(w, page, "2026-11-22T00:00:01Z", "null", 2)
		default:
			fmt.Fprintf(w, page, "2026-11-22T00:00:00Z", `"next"`, 1)
		}
	}))
	t.Cleanup(server.Close)
	for what, cmd := range map[string]*exec.Cmd{
		"verify.py":        exec.CommandContext(t.Context(), python, "-B", "../static/clients/verify.py", server.URL),
		"pulsecast verify": command(t, nil, "verify", server.URL),
	} {
		out, err := cmd.CombinedOutput()
		if err != nil || !bytes.Contains(out, []byte(" 0 differences")) || !bytes.Contains(out, []byte("rebuilt meanwhile: 30d")) {
			t.Errorf("%s: %v\n%s", what, err, out)
		}
	}
}

// TestVerifyPrevious checks that both verifications know the agent's previous confidence: a confidence in the other
// one of two outcomes counts as its complement, unless the source has renamed the outcome. With more outcomes only the
// same one counts.
func TestVerifyPrevious(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Fatal("python3 is needed; install it with: apt-get install python3")
	}
	// made is the nth prediction of the agent, on an outcome and its place. price is the market's.
	made := func(n int, confidence float64, outcome string, place int, baseline, price float64, previous string) string {
		const prediction = `{"id":"%d","confidence":%v,"status":"open","weight":%v,"agent":{"id":"a","handle":"a"},"salt":null,"hash":null,
			"resolution":null,"scores":null,
			"market":{"id":"m","outcome":%q,"outcomeIndex":%d,"event":null,"category":"sports","scheduledCloseAt":"2026-12-01T00:00:00Z"},
			"baseline":{"probability":%v,"before":%[7]v,"after":%[7]v,"beforeBid":null,"beforeAsk":null,"afterBid":null,"afterAsk":null,
				"medianBid":null,"medianAsk":null,"previous":%[8]s}}`
		return fmt.Sprintf(prediction, n, confidence, score.Weight(n-1), outcome, place, baseline, price, previous)
	}
	first, repeat := made(1, .7, "Yes", 0, .6, .6, "null"), made(3, .7, "Yes", 0, .7, .6, "0.7")
	for name, c := range map[string]struct {
		outcomes      string // of the market now
		second, third string
		finds         string
	}{
		"the other of two":            {`"Yes","No"`, made(2, .3, "No", 1, .3, .4, "0.3"), repeat, ""},
		"the other of two, forgotten": {`"Yes","No"`, made(2, .3, "No", 1, .4, .4, "null"), repeat, "previous"},
		"one of three":                {`"Yes","No","Neither"`, made(2, .3, "No", 1, .4, .4, "null"), repeat, ""},
		"one of three, another":       {`"Yes","No","Neither"`, made(2, .3, "No", 1, .3, .4, "0.3"), repeat, "previous"},
		"renamed":                     {`"Up","Down"`, made(2, .7, "Up", 0, .7, .6, "0.7"), made(3, .3, "Down", 1, .3, .4, "0.3"), ""},
		"renamed, complemented":       {`"Up","Down"`, made(2, .7, "Up", 0, .6, .6, "0.3"), made(3, .3, "Down", 1, .3, .4, "0.3"), "previous"},
		"changed places":              {`"No","Yes"`, made(2, .3, "No", 0, .3, .4, "0.3"), made(3, .7, "Yes", 1, .7, .6, "0.7"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case "/api/predictions":
					fmt.Fprintf(w, `{"ok":true,"predictions":[%s,%s,%s],"nextCursor":null}`, c.third, c.second, first)
				case "/api/intelligence/markets/m":
					fmt.Fprintf(w, `{"ok":true,"market":{"outcomes":[%s]}}`, c.outcomes)
				default:
					fmt.Fprint(w, `{"ok":true,"asOf":null,"leaderboard":[],"nextCursor":null}`)
				}
			}))
			t.Cleanup(server.Close)
			script, err := exec.CommandContext(t.Context(), python, "-B", "../static/clients/verify.py", server.URL).CombinedOutput()
			checkPrevious(t, "verify.py", c.finds, string(script), err)
			own, err := command(t, nil, "verify", server.URL).CombinedOutput()
			checkPrevious(t, "pulsecast verify", c.finds, string(own), err)
		})
	}
}

// checkPrevious expects no difference, or exactly one that names what it finds.
func checkPrevious(t *testing.T, what, finds, out string, err error) {
	t.Helper()
	want := " 0 differences"
	if finds != "" {
		want = " 1 difference"
	}
	if (err == nil) != (finds == "") || !strings.Contains(out, want) || !strings.Contains(out, finds) {
		t.Errorf("%s: %v, want%s with %q\n%s", what, err, want, finds, out)
	}
}
