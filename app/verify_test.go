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
	"slices"
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
		// Of an agent without a rank, no other row depends on it.
		{name: "a missing row", finds: "no row", tamper: always(func(answer map[string]any) {
			if list, ok := answer["leaderboard"].([]any); ok {
				answer["leaderboard"] = slices.DeleteFunc(list, func(one any) bool {
					return one.(map[string]any)["agent"].(map[string]any)["handle"] == "keeper"
				})
			}
		})},
		{name: "every rank", finds: "provisional", tamper: always(func(answer map[string]any) {
			list, _ := answer["leaderboard"].([]any)
			for _, one := range list {
				if row := one.(map[string]any); row["rank"] != nil {
					row["provisional"], row["reason"], row["rank"], row["rankLow"], row["rankHigh"] = true, "Not ranked yet.", nil, nil, nil
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
			base := func() string {
				if c.tamper == nil {
					return p.base
				}
				return tampering(t, p.base, c.tamper())
			}
			verifyTwice(t, base, func(what, out string, err error) {
				checkVerified(t, what, c.finds, out, err)
				if !strings.Contains(out, c.says) {
					t.Errorf("%s doesn't say %q:\n%s", what, c.says, out)
				}
			})
		})
	}
}

// verifyTwice runs both verifiers at once, because each waits between its two readings. It checks what they print.
func verifyTwice(t *testing.T, base func() string, check func(what, out string, err error)) {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Fatal("python3 is needed; install it with: apt-get install python3")
	}
	var both sync.WaitGroup
	for what, cmd := range map[string]*exec.Cmd{
		"verify.py":        exec.CommandContext(t.Context(), python, "-B", "../static/clients/verify.py", base()),
		"pulsecast verify": command(t, nil, "verify", base()),
	} {
		both.Go(func() {
			out, err := cmd.CombinedOutput()
			check(what, string(out), err)
		})
	}
	both.Wait()
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
	now := database.Stored(time.Now())
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
	verifyTwice(t, func() string { return server.URL }, func(what, out string, err error) {
		if err != nil || !strings.Contains(out, " 0 differences") || !strings.Contains(out, "rebuilt meanwhile: 30d") {
			t.Errorf("%s: %v\n%s", what, err, out)
		}
	})
}

// TestVerifyPrevious checks that both verifications know the agent's previous confidence: a confidence in the other
// one of two outcomes counts as its complement, unless the source has renamed the outcome. With more outcomes only the
// same one counts.
func TestVerifyPrevious(t *testing.T) {
	t.Parallel()
	// made is the nth prediction of the agent, on an outcome and its place. price is the market's.
	made := func(n int, confidence float64, outcome string, place int, baseline, price float64, previous string) string {
		const prediction = `{"id":"%d","confidence":%v,"status":"open","weight":%v,"agent":{"id":"a","handle":"a"},"salt":null,"hash":null,
			"createdAt":"2026-11-20T12:00:00Z","resolution":null,"scores":null,
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
			verifyTwice(t, func() string { return server.URL }, func(what, out string, err error) { checkPrevious(t, what, c.finds, out, err) })
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

// TestVerifyRanked checks that both verifiers find agents that are missing on a board, and agents that are ranked or
// provisional by mistake. Where the public data leaves this open, they must report nothing.
func TestVerifyRanked(t *testing.T) {
	t.Parallel()
	type ranking struct {
		status   string // of the agent's profile, "" if there is none
		row      string // "ranked", "provisional" or ""
		p        float64
		need     string
		withheld int // the second prediction was published that many days before the board
		unbuilt  bool
		finds    string
	}
	const one, far = `{"events":1,"days":2,"disagreements":1}`, .63
	for name, c := range map[string]ranking{
		"ranked":                               {"active", "ranked", far, one, 2, false, ""},
		"called provisional":                   {"active", "provisional", far, one, 2, false, "provisional"},
		"no row":                               {"active", "", far, one, 2, false, "no row"},
		"no row, never built":                  {"active", "", far, one, 2, true, "no row"},
		"no row, disabled":                     {"disabled", "", far, one, 2, false, ""},
		"no row, closed":                       {"closed", "", far, one, 2, false, ""},
		"no row, no profile":                   {"", "", far, one, 2, false, ""},
		"too few events":                       {"active", "provisional", far, `{"events":2,"days":2,"disagreements":1}`, 2, false, ""},
		"too few events, ranked":               {"active", "ranked", far, `{"events":2,"days":2,"disagreements":1}`, 2, false, "provisional"},
		"too close to the market":              {"active", "provisional", far - .0001, one, 2, false, ""},
		"too close to the market, ranked":      {"active", "ranked", far - .0001, one, 2, false, "provisional"},
		"too few days":                         {"active", "provisional", far, `{"events":1,"days":3,"disagreements":1}`, 2, false, ""},
		"too few days, ranked":                 {"active", "ranked", far, `{"events":1,"days":3,"disagreements":1}`, 2, false, "provisional"},
		"the last day is the board's":          {"active", "ranked", far, one, 0, false, ""},
		"the last day is after the board's":    {"active", "provisional", far, one, -1, false, ""},
		"twice on one day, called ranked":      {"active", "ranked", far, one, 5, false, "provisional"},
		"twice on one day, called by its lack": {"active", "provisional", far, one, 5, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asOf := time.Now().UTC().AddDate(0, 0, -3)
			day := func(before int) string { return asOf.AddDate(0, 0, -before).Format(time.DateOnly) }
			const q = .6
			settled := fmt.Sprintf(`{"id":"1","confidence":%v,"status":"resolved","weight":1,"agent":{"id":"a","handle":"ada"},"salt":null,"hash":null,
				"createdAt":"%[2]sT12:00:00Z","resolution":{"value":1},"scores":{"brier":%[3]v,"edge":%[4]v,"logEdge":%[5]v,"day":"%[6]s"},
				"market":{"id":"m","outcome":"Yes","outcomeIndex":0,"event":null,"category":"sports","scheduledCloseAt":"%[6]sT00:00:00Z"},
				"baseline":{"probability":%[7]v,"before":%[7]v,"after":%[7]v,"beforeBid":null,"beforeAsk":null,"afterBid":null,"afterAsk":null,
				"medianBid":null,"medianAsk":null,"previous":null}}`,
				c.p, day(5), score.Brier(c.p, 1), score.Edge(c.p, q, 1).Float(), score.LogEdge(c.p, q, 1), day(4), q)
			withheld := fmt.Sprintf(`{"id":"2","confidence":null,"status":null,"weight":null,"agent":{"id":"a","handle":"ada"},"salt":null,"hash":"00",
				"createdAt":"%sT12:00:00Z","resolution":null,"scores":null,"baseline":null,
				"market":{"id":"n","outcome":"Yes","outcomeIndex":0,"event":null,"category":"sports","scheduledCloseAt":null}}`, day(c.withheld))
			var s score.Sums
			bet := score.Bet(c.p, q, 1, 0)
			s.Add(bet)
			s.Days.Add(1, bet.C)
			p, _ := s.Posterior(score.SharePrior{Mu: .5, Tau: .5})
			odds, _ := s.Odds()
			row := fmt.Sprintf(`{"reference":false,"proven":false,"agent":{"id":"a","handle":"ada"},"events":1,"skill":%v,"bestGuess":%v,"skillLow":%v,"skillHigh":%v,"odds":%v,`,
				s.Skill(100), p.BestGuess, p.Low, p.High, odds)
			switch c.row {
			case "ranked":
				row += `"rank":1,"rankLow":1,"rankHigh":1,"provisional":false,"reason":null}`
			case "provisional":
				row += `"rank":null,"rankLow":null,"rankHigh":null,"provisional":true,"reason":"Not ranked yet."}`
			default:
				row = ""
			}
			built := asOf.Format(`"2006-01-02T15:04:05Z"`)
			if c.unbuilt {
				built = "null"
			}
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.URL.Path == "/api/predictions":
					fmt.Fprintf(w, `{"ok":true,"predictions":[%s,%s],"nextCursor":null}`, withheld, settled)
				case r.URL.Path == "/api/leaderboard":
					fmt.Fprintf(w, `{"ok":true,"asOf":%s,"prior":{"mu":0.5,"tau":0.5,"kappa":100},"need":%s,"leaderboard":[%s],"nextCursor":null}`, built, c.need, row)
				case r.URL.Path == "/api/agents/ada" && c.status != "":
					fmt.Fprintf(w, `{"ok":true,"agent":{"id":"a","handle":"ada","status":%q}}`, c.status)
				default:
					http.NotFound(w, r)
				}
			}))
			t.Cleanup(server.Close)
			verifyTwice(t, func() string { return server.URL }, func(what, out string, err error) {
				if clean := strings.Contains(out, " 0 differences"); clean != (c.finds == "") || clean != (err == nil) || !strings.Contains(out, c.finds) {
					t.Errorf("%s: %v, want a difference with %q\n%s", what, err, c.finds, out)
				}
			})
		})
	}
}

// bothFind runs both verifiers. Each must report exactly one difference for each text in finds, which contains it.
func bothFind(t *testing.T, base string, finds ...string) {
	t.Helper()
	verifyTwice(t, func() string { return base }, func(what, text string, err error) {
		if !strings.Contains(text, fmt.Sprintf(" %d differences", len(finds))) || (err == nil) != (len(finds) == 0) {
			t.Errorf("%s: %v, want %d differences\n%s", what, err, len(finds), text)
		}
		for _, says := range finds {
			if strings.Count(text, says) != 1 {
				t.Errorf("%s says %d times %q, want once\n%s", what, strings.Count(text, says), says, text)
			}
		}
	})
}

// TestVerifyOutcomes checks that both verifiers compare how far an outcome happened over all predictions on a market, and
// find a prediction that was left open when the others settled.
func TestVerifyOutcomes(t *testing.T) {
	t.Parallel()
	type made struct {
		outcome, status string
		y               float64
		age             time.Duration
	}
	const day = 24 * time.Hour
	resolved := func(outcome string, y float64) made { return made{outcome, "resolved", y, day} }
	open := func(outcome string) made { return made{outcome, "open", 0, day} }
	yesNo := []string{"Yes", "No"}
	var answers []string
	var finds []string
	markets := map[string][]string{}
	for i, c := range []struct {
		outcomes    []string // of the market now
		predictions [2]made
		finds       string // with the number of the case
	}{
		{yesNo, [2]made{resolved("Yes", 1), resolved("Yes", 1)}, ""},
		{yesNo, [2]made{resolved("Yes", 1), resolved("Yes", 0)}, "prediction %d-1"},
		{yesNo, [2]made{resolved("Yes", 1), resolved("No", 0)}, ""},
		{yesNo, [2]made{resolved("Yes", 1), resolved("No", 1)}, "market m%d:"},
		{yesNo, [2]made{resolved("Yes", .5), resolved("No", .5)}, ""},
		{yesNo, [2]made{resolved("Yes", .34), resolved("No", .67)}, ""}, // rounded
		{yesNo, [2]made{resolved("Yes", .33), resolved("No", .66)}, ""},
		{yesNo, [2]made{resolved("Yes", .3), resolved("No", .68)}, "market m%d:"},
		{[]string{"A", "B", "C"}, [2]made{resolved("A", 0), resolved("B", 0)}, ""},
		{[]string{"Up", "Down"}, [2]made{resolved("Yes", 1), resolved("Up", 1)}, ""}, // renamed
		{yesNo, [2]made{resolved("Yes", 1), open("No")}, "prediction %d-1"},
		{[]string{"Up", "Down"}, [2]made{resolved("Yes", 1), open("Yes")}, "prediction %d-1"},
		{[]string{"Up", "Down"}, [2]made{resolved("Up", 1), open("Yes")}, ""}, // may wait for an admin
		{yesNo, [2]made{resolved("Yes", 1), {"No", "open", 0, time.Minute}}, ""},
		{yesNo, [2]made{{"Yes", "void", 0, day}, open("No")}, ""},
		{yesNo, [2]made{open("Yes"), open("No")}, ""}, // as after reopening
	} {
		markets[fmt.Sprintf("m%d", i)] = c.outcomes
		for k, p := range c.predictions {
			resolution, scores := "null", "null"
			switch p.status {
			case "resolved":
				resolution = fmt.Sprintf(`{"value":%v}`, p.y)
				scores = fmt.Sprintf(`{"brier":%v,"edge":null,"logEdge":null,"day":"2026-11-20"}`, score.Brier(.5, p.y))
			case "void":
				resolution = `{"value":null}`
			}
			answers = append(answers, fmt.Sprintf(`{"id":"%d-%d","confidence":0.5,"status":%q,"weight":null,"agent":{"id":"a","handle":"a"},
				"salt":null,"hash":null,"createdAt":%q,"resolution":%s,"scores":%s,"baseline":null,
				"market":{"id":"m%d","outcome":%q,"outcomeIndex":0,"event":null,"category":"sports","scheduledCloseAt":null}}`,
				i, k, p.status, time.Now().UTC().Add(-p.age).Format(time.RFC3339), resolution, scores, i, p.outcome))
		}
		if c.finds != "" {
			finds = append(finds, fmt.Sprintf(c.finds, i))
		}
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, isMarket := strings.CutPrefix(r.URL.Path, "/api/intelligence/markets/")
		switch {
		case r.URL.Path == "/api/predictions":
			fmt.Fprintf(w, `{"ok":true,"predictions":[%s],"nextCursor":null}`, strings.Join(answers, ","))
		case isMarket:
			fmt.Fprintf(w, `{"ok":true,"market":{"outcomes":["%s"]}}`, strings.Join(markets[id], `","`))
		default:
			fmt.Fprint(w, `{"ok":true,"asOf":null,"leaderboard":[],"nextCursor":null}`)
		}
	}))
	t.Cleanup(server.Close)
	bothFind(t, server.URL, finds...)
}

// TestVerifyPriors checks that both verifiers find a prior that is out of bounds or not the same on the boards of a day.
func TestVerifyPriors(t *testing.T) {
	t.Parallel()
	type board struct {
		day            int // of November
		kappa, mu, tau float64
	}
	for name, c := range map[string]struct {
		boards map[string]board
		finds  []string
	}{
		"as published": {map[string]board{"30d": {21, 30, 0, 1}, "90d": {21, 30, 0, 1}, "365d": {22, 500, .5, .5}, "all": {22, 500, .5, .5}}, nil},
		"another kappa": {map[string]board{"30d": {21, 100, .5, .5}, "90d": {21, 101, .5, .5}, "365d": {22, 29.9, .5, .5}, "all": {23, 501, .5, .5}},
			[]string{"90d: ", "365d: ", "all: "}},
		"another mu": {map[string]board{"30d": {21, 100, .5, .5}, "90d": {21, 100, .4, .5}, "365d": {22, 100, -.1, .5}, "all": {23, 100, .51, .5}},
			[]string{"90d: ", "365d: ", "all: "}},
		"another tau": {map[string]board{"30d": {21, 100, .5, .5}, "90d": {21, 100, .5, .6}, "365d": {22, 100, .5, .49}, "all": {23, 100, .5, 1.1}},
			[]string{"90d: ", "365d: ", "all: "}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				b := c.boards[r.URL.Query().Get("window")]
				fmt.Fprintf(w, `{"ok":true,"asOf":"2026-11-%dT00:00:00Z","prior":{"kappa":%v,"mu":%v,"tau":%v},"predictions":[],"leaderboard":[],"nextCursor":null}`,
					b.day, b.kappa, b.mu, b.tau)
			}))
			t.Cleanup(server.Close)
			bothFind(t, server.URL, c.finds...)
		})
	}
}

// TestVerifyRanksOfOthers checks that both verifiers find a rank on a row that has none.
func TestVerifyRanksOfOthers(t *testing.T) {
	t.Parallel()
	const row = `{"rank":%s,"rankLow":%s,"rankHigh":%s,"reason":%s,"provisional":%t,"reference":%t,"agent":{"id":"a","handle":%q},
		"skill":0,"bestGuess":null,"skillLow":null,"skillHigh":null,"odds":null,"proven":false,"events":0}`
	const lacks, over = `"Not ranked yet."`, `"Not ranked."`
	rows := []string{
		fmt.Sprintf(row, "null", "null", "null", lacks, true, false, "provisional"),
		fmt.Sprintf(row, "1", "null", "null", lacks, true, false, "provisional-ranked"),
		fmt.Sprintf(row, "null", "null", "null", over, false, false, "over"),
		fmt.Sprintf(row, "1", "1", "1", over, false, false, "over-ranked"),
		fmt.Sprintf(row, "null", "null", "1", over, false, false, "over-high"),
		fmt.Sprintf(row, "null", "null", "null", "null", false, true, "reference"),
		fmt.Sprintf(row, "1", "1", "1", "null", false, true, "reference-ranked"),
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		list := ""
		if r.URL.Query().Get("window") == "all" {
			list = strings.Join(rows, ",")
		}
		fmt.Fprintf(w, `{"ok":true,"asOf":"2026-11-22T00:00:00Z","prior":{"kappa":100,"mu":0.5,"tau":0.5},"predictions":[],"leaderboard":[%s],"nextCursor":null}`, list)
	}))
	t.Cleanup(server.Close)
	bothFind(t, server.URL, "provisional-ranked", "over-ranked", "over-high", "reference-ranked")
}
