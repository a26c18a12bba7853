package prediction_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/cursor"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/news"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/problem"
)

var start = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// author is an agent with a publisher, a few markets and a clock that tests can move.
type author struct {
	*prediction.Publisher
	db    *database.DB
	agent agent.Agent
	mu    sync.Mutex
	at    time.Time
}

func (d *author) now() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.at
}

func (d *author) wait(by time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.at = d.at.Add(by)
}

func open(t *testing.T, db *database.DB) *author {
	t.Helper()
	return openAs(t, db, "Ada")
}

func openAs(t *testing.T, db *database.DB, name string) *author {
	t.Helper()
	d := &author{db: db, at: start}
	d.Publisher = prediction.NewPublisher(db, d.now, 3*time.Minute, "https://pulse.example")
	markets := []market.Market{
		yesNo("1", "Will it rain in Oslo?"), yesNo("2", "Will it snow in Oslo?"), yesNo("3", "Who wins?"),
		yesNo("4", "Twice asked?"), yesNo("5", "Twice asked?"), yesNo("6", "Is it over?"), yesNo("decided", "Is it known?"),
		yesNo("growth", "Will growth be >3%?"), yesNo("frost", "Will it be -1°C?"), yesNo("thaw", "Will it be 1°C?"),
	}
	markets[2].Outcomes = []string{"Reds", "Blues"}
	markets[1].EventID, markets[0].EventID = "weather", "weather"
	markets[5].Closed, markets[5].Active = true, false
	item := news.Item{ID: "n1", Source: "reddit", Community: "science", Title: "A study", URL: "https://example.org/study",
		Permalink: "https://example.org/r/1", PostedAt: start, ObservedAt: start}
	err := db.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) error {
		made, err := agent.Store{}.Create(ctx, tx, agent.New{Profile: agent.Profile{Name: name, Model: "m-1"}, At: start})
		if err != nil {
			return err
		}
		d.agent = *made
		return errors.Join(market.Store{}.Observe(ctx, tx, markets), news.Store{}.Observe(ctx, tx, []news.Item{item}))
	})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func yesNo(id, question string) market.Market {
	return market.Market{
		ID: id, Source: "polymarket", Question: question, Title: question, Outcomes: []string{"Yes", "No"},
		Prices: []float64{0.41, 0.59}, Active: true, URL: "https://polymarket.example/event/" + id,
		ClosesAt: start.AddDate(0, 1, 0), MatchKey: market.QuestionKey(question), FirstSeenAt: start, ObservedAt: start,
	}
}

func draft(change func(*prediction.Draft)) prediction.Draft {
	p, at := 0.9, start.AddDate(0, 2, 0)
	d := prediction.Draft{Title: "Will the sun rise?", Thesis: "It always did.", Confidence: &p, HorizonAt: &at, Category: "general"}
	if change != nil {
		change(&d)
	}
	return d
}

// publish checks the draft as the edge does, and publishes it.
func (d *author) publish(t *testing.T, dr prediction.Draft, change ...func(*prediction.Submission)) (got prediction.Receipt, answer string, err error) {
	t.Helper()
	if wrong := dr.Check(d.now()); len(wrong) > 0 {
		return got, "", problem.InvalidPrediction(wrong...)
	}
	s := prediction.Submission{Agent: d.agent, Draft: dr, Render: func(r prediction.Receipt) ([]byte, error) {
		got = r
		return []byte(r.Record.ID.String()), nil
	}}
	for _, c := range change {
		c(&s)
	}
	body, err := d.Publish(t.Context(), s)
	return got, string(body), err
}

func (d *author) stored(t *testing.T) int {
	t.Helper()
	n, err := d.db.NewSelect().Model((*prediction.Prediction)(nil)).Where("p.agent_id = ?", d.agent.ID).Count(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return int(n)
}

// TestPublishUsesTheStoredProfile checks that a prediction takes the model that its agent declares now, even if the
// caller's copy of the agent is older. A prediction can't be changed later.
func TestPublishUsesTheStoredProfile(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		d := open(t, db)
		if _, err := db.ExecContext(t.Context(), "UPDATE agents SET name = 'Ada L.', model = 'm-2' WHERE id = ?", d.agent.ID); err != nil {
			t.Fatal(err)
		}
		r, _, err := d.publish(t, draft(nil))
		if err != nil || r.Record.Model != "m-2" || r.Record.Agent.Name != "Ada L." {
			t.Errorf("got the model %q of %q, %v", r.Record.Model, r.Record.Agent.Name, err)
		}
	})
}

func TestPublishLinks(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name            string
		change          func(*prediction.Draft)
		market, outcome string
		readAs, warning string // substrings
		code, field     string
	}{
		{name: "unlinked", readAs: `90 % that the answer to "Will the sun rise?" is yes`, warning: "never be ranked"},
		{name: "by id, Yes by default", change: func(d *prediction.Draft) { d.MarketID = "1" }, market: "1", outcome: "Yes",
			readAs: "90 % that Yes; the market says 41 %", warning: "Far from the market"},
		{name: "other outcome, any letter case", change: func(d *prediction.Draft) { d.MarketID, d.Outcome = "1", "no" }, market: "1", outcome: "No",
			readAs: "90 % that No; the market says 59 %"},
		{name: "by title, ignoring case and punctuation", change: func(d *prediction.Draft) { d.Title = "WILL it rain, in Oslo" }, market: "1", outcome: "Yes", warning: "Linked to market 1"},
		{name: "by title, with other spaces around its signs", change: func(d *prediction.Draft) { d.Title = "Will growth be > 3 %" }, market: "growth", outcome: "Yes", warning: "Linked to market growth"},
		{name: "title that asks the opposite", change: func(d *prediction.Draft) { d.Title = "Will growth be <3%?" }, warning: "Not linked to a market"},
		{name: "title that another market asks without the sign", change: func(d *prediction.Draft) { d.Title = "Will it be −1°C?" }, market: "frost", outcome: "Yes", warning: "Linked to market frost"},
		{name: "title asked twice", change: func(d *prediction.Draft) { d.Title = "Twice asked?" }, warning: "2 open markets ask this question"},
		{name: "title without Yes", change: func(d *prediction.Draft) { d.Title = "Who wins?" }, warning: `"Reds", "Blues"`},
		{name: "title of a closed market", change: func(d *prediction.Draft) { d.Title = "Is it over?" }, warning: "Not linked"},
		{name: "id without Yes", change: func(d *prediction.Draft) { d.MarketID = "3" }, code: "invalid_prediction", field: "outcome"},
		{name: "named outcome", change: func(d *prediction.Draft) { d.MarketID, d.Outcome = "3", "Blues" }, market: "3", outcome: "Blues"},
		{name: "unknown outcome", change: func(d *prediction.Draft) { d.MarketID, d.Outcome = "1", "Maybe" }, code: "invalid_prediction", field: "outcome"},
		{name: "outcome without market", change: func(d *prediction.Draft) { d.Outcome = "Yes" }, code: "invalid_prediction", field: "outcome"},
		{name: "unknown market", change: func(d *prediction.Draft) { d.MarketID = "nope" }, code: "invalid_prediction", field: "marketId"},
		{name: "closed market", change: func(d *prediction.Draft) { d.MarketID = "6" }, code: "market_closed"},
		{name: "decided market", change: func(d *prediction.Draft) { d.MarketID = "decided" }, code: "market_closed"},
		{name: "title of a decided market", change: func(d *prediction.Draft) { d.Title = "Is it known?" }, warning: "an admin has decided its outcome"},
		{name: "horizon before the market's close", change: func(d *prediction.Draft) {
			at := start.AddDate(0, 0, 2)
			d.MarketID, d.HorizonAt = "1", &at
		}, market: "1", outcome: "Yes", warning: "The market decides, not horizonAt"},
	}
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				d := openAs(t, db, c.name)
				d.DecidedWhileOpen = func(context.Context, bun.IDB, []market.Market) (map[string]bool, error) {
					return map[string]bool{"decided": true}, nil
				}
				got, _, err := d.publish(t, draft(c.change))
				if c.code != "" {
					p := problem.As(err)
					if p.Code != c.code || (c.field != "" && (len(p.Fields) != 1 || p.Fields[0].Field != c.field)) || d.stored(t) != 0 {
						t.Fatalf("got %v with %d stored", err, d.stored(t))
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				all := strings.Join(got.Warnings, "\n")
				if got.Record.MarketID != c.market || got.Record.Outcome != c.outcome || !strings.Contains(got.ReadAs, c.readAs) || !strings.Contains(all, c.warning) {
					t.Fatalf("got market %q, outcome %q, read as %q, warnings %q", got.Record.MarketID, got.Record.Outcome, got.ReadAs, all)
				}
				if d.stored(t) != 1 {
					t.Fatalf("%d predictions are stored", d.stored(t))
				}
			})
		}
	})
}

func TestPublishStoresWhatItAnswers(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		d := open(t, db)
		got, _, err := d.publish(t, draft(func(dr *prediction.Draft) {
			dr.MarketID, dr.Category = "1", "  Weather "
			dr.Evidence = []prediction.Evidence{
				{Title: "market", URL: "https://polymarket.example/event/1"}, {Title: "own page", URL: "https://pulse.example/markets/2"},
				{Title: "news", URL: "https://example.org/study/"}, {Title: "else", URL: "https://example.org/else"},
			}
		}))
		if err != nil {
			t.Fatal(err)
		}
		read, err := prediction.Store{}.ByID(t.Context(), db.Reader, got.Record.ID)
		if err != nil || read == nil {
			t.Fatalf("read back: got %v, %v", read, err)
		}
		want := []string{"market 1", "market 2", "news n1", " "}
		for i, e := range read.Evidence {
			if signal := e.SignalKind + " " + e.SignalID; signal != want[i] {
				t.Errorf("evidence %d cites %q, want %q", i, signal, want[i])
			}
		}
		if read.Category != "weather" || read.Model != "m-1" || read.Agent.Handle != "ada" || read.Market.ID != "1" ||
			read.EventKey != "e:weather" || read.BaselineState != prediction.Pending || read.Status != prediction.Open ||
			!read.CreatedAt.Equal(start) || !read.ScheduledCloseAt.Equal(start.AddDate(0, 1, 0)) || *read.OutcomeIndex != 0 {
			t.Errorf("read back: got %+v", read)
		}
	})
}

func TestAdviceOnTheBook(t *testing.T) {
	t.Parallel()
	const (
		thin, unknown, bare = "Too little liquidity: this market reports 999 US dollars. Below 1000", "liquidity is unknown", "No order book"
		inside              = "Inside the market's book"
	)
	for name, c := range map[string]struct {
		bid, ask, liquidity float64 // negative means unknown
		outcome             string
		p                   float64
		readAs              string
		warnings            []string // substrings, in order
	}{
		"tight and liquid":                      {.40, .42, 1000, "Yes", .6, "60 % that Yes; the market says 41 % (bid 0.4, ask 0.42)", nil},
		"second outcome":                        {.40, .42, 1000, "No", .8, "80 % that No; the market says 59 % (bid 0.58, ask 0.6)", nil},
		"inside the spread":                     {.20, .62, 1000, "Yes", .6, "(bid 0.2, ask 0.62)", []string{inside}},
		"empty book":                            {0, 1, 1000, "Yes", .99, "(bid 0, ask 1)", []string{inside}},
		"far from the price, not from the book": {.20, .62, 1000, "Yes", .9, "90 % that Yes", nil},
		"no book":                               {-1, -1, 1000, "Yes", .6, "the market says 41 %", []string{bare}},
		"too little liquidity":                  {.40, .42, 999.9, "Yes", .6, "60 % that Yes", []string{thin}},
		"unknown liquidity":                     {.40, .42, -1, "Yes", .6, "60 % that Yes", []string{unknown}},
		"neither known":                         {-1, -1, -1, "Yes", .6, "60 % that Yes", []string{bare, unknown}},
		"far from the market, without a book, with little liquidity": {-1, -1, 999, "Yes", .9, "90 % that Yes", []string{"Far from the market", bare, thin}},
		"far from a known book":  {.40, .42, 1000, "Yes", .9, "90 % that Yes", []string{"the market says 41 % (bid 0.4, ask 0.42)"}},
		"at the ask of the book": {.40, .42, 1000, "Yes", .42, "42 % that Yes", []string{inside}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := open(t, dbtest.Open(t, dbtest.Kinds[0]))
			d.MinLiquidity = 1000
			m := yesNo("7", "Will it hail in Oslo?")
			for value, at := range map[*float64]**float64{&c.bid: &m.BestBid, &c.ask: &m.BestAsk, &c.liquidity: &m.Liquidity} {
				if *value >= 0 {
					*at = value
				}
			}
			err := d.db.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) error {
				return market.Store{}.Observe(ctx, tx, []market.Market{m})
			})
			if err != nil {
				t.Fatal(err)
			}
			got, _, err := d.publish(t, draft(func(dr *prediction.Draft) { dr.MarketID, dr.Outcome, dr.Confidence = "7", c.outcome, &c.p }))
			if err != nil || !strings.Contains(got.ReadAs, c.readAs) || len(got.Warnings) != len(c.warnings) {
				t.Fatalf("got %v, read as %q, warnings %q", err, got.ReadAs, got.Warnings)
			}
			for i, want := range c.warnings {
				if !strings.Contains(got.Warnings[i], want) {
					t.Errorf("got warning %q, want %q", got.Warnings[i], want)
				}
			}
		})
	}
}

func TestRepeatIsWeighed(t *testing.T) {
	t.Parallel()
	const (
		second = "A repeat: if this prediction gets a baseline, it is your 2nd on this event and weighs 1/2 of the first."
		third  = "A repeat: if this prediction gets a baseline, it is your 3rd on this event and weighs 1/4 of the first."
		unless = " If an earlier one gets no baseline, this one weighs more."
		again  = "A confidence between the market's view and your previous one on this market earns nothing."
	)
	cases := map[string]struct {
		earlier []string // the markets, with the outcome if it isn't Yes, and the state of each baseline
		next    string
		want    []string
	}{
		"first":                            {nil, "1", nil},
		"same market":                      {[]string{"1 pending"}, "1", []string{second + unless, again}},
		"other outcome of two":             {[]string{"1/No fixed"}, "1", []string{second, again}},
		"sibling":                          {[]string{"1 pending"}, "2", []string{second + unless}},
		"sibling with a baseline":          {[]string{"1 fixed"}, "2", []string{second}},
		"both":                             {[]string{"1 fixed", "2 pending"}, "1", []string{third + unless, again}},
		"another event":                    {[]string{"1 fixed"}, "3/Reds", nil},
		"without a baseline":               {[]string{"1 missed", "1 illiquid", "1 missed", "1 missed", "1 missed"}, "1", []string{again}},
		"sibling without a baseline":       {[]string{"1 missed"}, "2", nil},
		"with and without a baseline":      {[]string{"1 missed", "1 fixed", "2 missed", "1 illiquid"}, "2", []string{second, again}},
		"another outcome of three":         {[]string{"race/Ann fixed"}, "race/Bob", []string{second}},
		"same outcome of three":            {[]string{"race/Ann fixed", "race/Bob missed"}, "race/Ann", []string{second, again}},
		"a baseline too many to look back": {append([]string{"1 fixed"}, slices.Repeat([]string{"1 missed"}, 32)...), "2", []string{"A repeat: each of your earlier predictions on this event with a baseline halves the weight of this one."}},
	}
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		for name, c := range cases {
			t.Run(name, func(t *testing.T) {
				d := openAs(t, db, name)
				race := yesNo("race", "Who leads?")
				race.Outcomes, race.Prices = []string{"Ann", "Bob", "Cy"}, nil
				err := db.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) error {
					return market.Store{}.Observe(ctx, tx, []market.Market{race})
				})
				if err != nil {
					t.Fatal(err)
				}
				publish := func(on string) prediction.Receipt {
					t.Helper()
					d.wait(time.Second)
					got, _, err := d.publish(t, draft(func(dr *prediction.Draft) { dr.MarketID, dr.Outcome, _ = strings.Cut(on, "/") }))
					if err != nil {
						t.Fatal(err)
					}
					return got
				}
				weighed := int64(0)
				for _, earlier := range c.earlier {
					on, state, _ := strings.Cut(earlier, " ")
					made := publish(on).Record
					decided := prediction.Baseline{AgentID: made.AgentID, ID: made.ID, State: prediction.BaselineState(state)}
					if decided.State == prediction.Pending {
						continue
					}
					if decided.State == prediction.Fixed {
						decided.WeightIndex = new(weighed)
						weighed++
					}
					err := db.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) error {
						return prediction.FixBaselines(ctx, tx, []prediction.Baseline{decided})
					})
					if err != nil {
						t.Fatal(err)
					}
				}
				got := slices.DeleteFunc(publish(c.next).Warnings, func(s string) bool {
					return !strings.Contains(s, "repeat") && !strings.Contains(s, "previous")
				})
				if !slices.Equal(got, c.want) {
					t.Errorf("got warnings %q, want %q", got, c.want)
				}
			})
		}
	})
}

// TestEventOfAnAgentStays checks that a market which the source moves to another event keeps its event for an agent that
// published on it before. For other agents it has the new one.
func TestEventOfAnAgentStays(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		d := open(t, db)
		publish := func() prediction.Receipt {
			t.Helper()
			d.wait(time.Second)
			got, _, err := d.publish(t, draft(func(dr *prediction.Draft) { dr.MarketID = "1" }))
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		first := publish()
		moved := yesNo("1", "Will it rain in Oslo?")
		moved.EventID, moved.ObservedAt = "climate", d.now()
		err := db.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) error {
			return market.Store{}.Observe(ctx, tx, []market.Market{moved})
		})
		if err != nil {
			t.Fatal(err)
		}
		second := publish()
		if first.Record.EventKey != "e:weather" || second.Record.EventKey != "e:weather" || !strings.Contains(strings.Join(second.Warnings, " "), "your 2nd on this event") {
			t.Errorf("got the events %q and then %q, with warnings %q", first.Record.EventKey, second.Record.EventKey, second.Warnings)
		}
		d.agent = d.newAgent(t, "Bob")
		if got := publish().Record.EventKey; got != "e:climate" {
			t.Errorf("another agent: got the event %q", got)
		}
	})
}

// TestManyRepeats checks that a warning doesn't number a prediction if its number isn't known.
func TestManyRepeats(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		d := open(t, db)
		for i := range 35 {
			got, _, err := d.publish(t, draft(func(dr *prediction.Draft) { dr.MarketID = "1" }))
			want := map[int]string{
				31: "if this prediction gets a baseline, it is your 32nd on this event and weighs less than a millionth",
				32: "each of your earlier predictions on this event with a baseline halves",
				34: "each of your earlier predictions on this event with a baseline halves",
			}[i]
			if err != nil || !strings.Contains(strings.Join(got.Warnings, " "), want) {
				t.Errorf("prediction %d: got warnings %q, %v; want %q", i+1, got.Warnings, err, want)
			}
		}
	})
}

func TestDryRunStoresNothing(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		d := open(t, db)
		got, answer, err := d.publish(t, draft(nil), func(s *prediction.Submission) { s.DryRun, s.IdempotencyKey = true, "k" })
		if err != nil || answer == "" || got.ReadAs == "" || d.stored(t) != 0 {
			t.Fatalf("dry run: got %q, %v with %d stored", answer, err, d.stored(t))
		}
	})
}

func TestIdempotency(t *testing.T) {
	t.Parallel()
	key := func(key, body string) func(*prediction.Submission) {
		return func(s *prediction.Submission) { s.IdempotencyKey, s.BodyHash = key, sha256.Sum256([]byte(body)) }
	}
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		d := open(t, db)
		_, first, err := d.publish(t, draft(nil), key("k", "a"))
		if err != nil {
			t.Fatal(err)
		}
		if _, again, err := d.publish(t, draft(nil), key("k", "a")); err != nil || again != first || d.stored(t) != 1 {
			t.Fatalf("repeat: got %q after %q, %v with %d stored", again, first, err, d.stored(t))
		}
		if _, _, err := d.publish(t, draft(nil), key("k", "b")); problem.As(err).Code != "idempotency_mismatch" {
			t.Fatalf("repeat with another body: got %v", err)
		}
		if _, other, err := d.publish(t, draft(nil), key("k2", "a")); err != nil || other == first {
			t.Fatalf("same body with another key: got %q, %v", other, err)
		}
		closed := draft(func(dr *prediction.Draft) { dr.MarketID = "6" })
		if _, _, err := d.publish(t, closed, key("k3", "c")); problem.As(err).Code != "market_closed" {
			t.Fatal(err)
		}
		if _, _, err := d.publish(t, draft(nil), key("k3", "d")); err != nil {
			t.Fatalf("a refused request kept its key: %v", err)
		}
		d.wait(24 * time.Hour)
		if _, later, err := d.publish(t, draft(nil), key("k", "b")); err != nil || later == first {
			t.Fatalf("repeat after a day: got %q, %v", later, err)
		}
	})
}

// TestFailedRequestKeepsNoKey checks that a request that fails stores neither a prediction nor its key. The
// same key works at once.
func TestFailedRequestKeepsNoKey(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		d := open(t, db)
		use := func(s *prediction.Submission) { s.IdempotencyKey = "k" }
		crash := errors.New("crash")
		_, _, err := d.publish(t, draft(nil), use, func(s *prediction.Submission) {
			s.Render = func(prediction.Receipt) ([]byte, error) { return nil, crash }
		})
		if !errors.Is(err, crash) || d.stored(t) != 0 {
			t.Fatalf("got %v with %d stored", err, d.stored(t))
		}
		if _, _, err := d.publish(t, draft(nil), use); err != nil || d.stored(t) != 1 {
			t.Fatalf("second try: got %v with %d stored", err, d.stored(t))
		}
	})
}

// TestRepeatWaitsForTheFirstAnswer runs on Postgres, where another node handles the first request with a key
// and its transaction is still open. The repeat gets that answer once it is committed. If that takes too long,
// the repeat is refused with 503. If the first request fails, the repeat is published.
func TestRepeatWaitsForTheFirstAnswer(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.Postgres)
	for _, c := range []struct {
		name   string
		body   string
		wait   time.Duration
		end    func(bun.Tx) error
		answer string // empty if the repeat has its own answer
		code   string
		stored int
	}{
		{name: "committed", body: "a", wait: time.Minute, end: bun.Tx.Commit, answer: "first"},
		{name: "another body", body: "b", wait: time.Minute, end: bun.Tx.Commit, code: "idempotency_mismatch"},
		{name: "failed", body: "a", wait: time.Minute, end: bun.Tx.Rollback, stored: 1},
		{name: "too slow", body: "a", wait: 50 * time.Millisecond, code: "unavailable"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := openAs(t, db, c.name)
			d.HeldWait(c.wait)
			first, err := db.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer first.Rollback()
			d.holdTally(t, first)
			body := sha256.Sum256([]byte("a"))
			if _, err := first.ExecContext(t.Context(), "INSERT INTO idempotency_keys (agent_id, key, body_hash, response, created_at) VALUES (?, 'k', ?, ?, ?)",
				d.agent.ID, body[:], []byte("first"), start); err != nil {
				t.Fatal(err)
			}
			var answer string
			done := make(chan struct{})
			go func() {
				defer close(done)
				_, answer, err = d.publish(t, draft(nil), func(s *prediction.Submission) {
					s.IdempotencyKey, s.BodyHash = "k", sha256.Sum256([]byte(c.body))
				})
			}()
			if c.end != nil {
				d.untilHeld(t, 1)
				if err := c.end(first); err != nil {
					t.Fatal(err)
				}
			}
			<-done
			code := ""
			if err != nil {
				code = problem.As(err).Code
			}
			if code != c.code || d.stored(t) != c.stored || (c.answer != "" && answer != c.answer) {
				t.Errorf("got %q, %v, %d stored", answer, err, d.stored(t))
			}
			if c.code == "unavailable" && problem.As(err).RetryAfter <= 0 {
				t.Error("no Retry-After")
			}
		})
	}
}

// holdTally locks the row that every transaction locks before it publishes for the agent.
func (d *author) holdTally(t *testing.T, tx bun.Tx) {
	t.Helper()
	for _, statement := range []string{
		"INSERT INTO agent_tallies (agent_id, total, open, resolved, void, publication_days) VALUES (?, 0, 0, 0, 0, 0) ON CONFLICT DO NOTHING",
		"SELECT 1 FROM agent_tallies WHERE agent_id = ? FOR NO KEY UPDATE",
	} {
		var on bun.IDB = tx
		if strings.HasPrefix(statement, "INSERT") {
			on = d.db
		}
		if _, err := on.ExecContext(t.Context(), statement, d.agent.ID); err != nil {
			t.Fatal(err)
		}
	}
}

// untilHeld returns once n submissions wait for another transaction.
func (d *author) untilHeld(t *testing.T, n int) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); d.Held() < n; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("%d submissions wait, want %d", d.Held(), n)
		}
	}
}

func TestConcurrentSameKeyPublishesOnce(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		d := open(t, db)
		var wg sync.WaitGroup
		errs, answers := make([]error, 8), make([]string, 8)
		for i := range errs {
			wg.Go(func() {
				_, answers[i], errs[i] = d.publish(t, draft(nil), func(s *prediction.Submission) { s.IdempotencyKey = "k" })
			})
		}
		wg.Wait()
		for i, err := range errs {
			if err != nil || answers[i] != answers[0] {
				t.Errorf("got %q after %q, %v", answers[i], answers[0], err)
			}
		}
		if d.stored(t) != 1 {
			t.Errorf("%d predictions are stored", d.stored(t))
		}
	})
}

func TestConcurrentRefusalsWithOneKey(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		d := open(t, db)
		wrong := draft(func(dr *prediction.Draft) { dr.MarketID = "nope" })
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				for range 20 {
					_, _, err := d.publish(t, wrong, func(s *prediction.Submission) { s.IdempotencyKey = "k" })
					if err == nil || problem.As(err).Code != "invalid_prediction" {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
	})
}

// Both databases must split text into words the same way: at every character that is neither letter nor digit.
func TestWordsAreFoundWithTheirSigns(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		d := open(t, db)
		thesis := "COVID-19 in the U.S.: see https://news.example.org/health/cases?id=7, up +12.5 %; a@b.example, foo_bar, GPT-5's view, हिन्दी, 東京 " + strings.Repeat("x", 3000)
		if _, _, err := d.publish(t, draft(func(dr *prediction.Draft) { dr.Thesis = thesis })); err != nil {
			t.Fatal(err)
		}
		for _, words := range []string{
			"COVID-19", "covid", "19", "U.S.", "https://news.example.org/health", "health", "cases", "12.5", "5 12",
			"a@b.example", "foo_bar", "bar", "GPT-5's", "gpt", "हिन्दी", "東京", "sun rise",
		} {
			list, _, err := prediction.Store{}.List(t.Context(), db.Reader, prediction.Filter{Words: words, Limit: 5})
			if err != nil || len(list) != 1 {
				t.Errorf("search for %q: found %d, %v", words, len(list), err)
			}
		}
	})
}

func TestListPagesThroughEverything(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		d := open(t, db)
		for i := range 7 {
			d.wait(time.Second)
			_, _, err := d.publish(t, draft(func(dr *prediction.Draft) {
				dr.Title = fmt.Sprintf("Number %d of the Zürich series", i)
				if i%2 == 0 {
					dr.MarketID, dr.Category = "1", "odd"
				}
			}))
			if err != nil {
				t.Fatal(err)
			}
		}
		_, err := db.ExecContext(t.Context(), "UPDATE results SET edge = 5, resolved_at = created_at, status = 'resolved' WHERE id IN (SELECT id FROM predictions WHERE category = 'odd')")
		if err != nil {
			t.Fatal(err)
		}
		cases := []struct {
			name   string
			filter prediction.Filter
			want   int
		}{
			{"all", prediction.Filter{}, 7},
			{"agent", prediction.Filter{AgentID: d.agent.ID}, 7},
			{"another agent", prediction.Filter{AgentID: database.NewID(start)}, 0},
			{"category", prediction.Filter{Category: "odd"}, 4},
			{"market", prediction.Filter{MarketID: "1"}, 4},
			{"open", prediction.Filter{Status: prediction.Open}, 3},
			{"open, by agent", prediction.Filter{Status: prediction.Open, AgentID: d.agent.ID}, 3},
			{"resolved, in a category", prediction.Filter{Status: prediction.Resolved, Category: "odd"}, 4},
			{"by resolution", prediction.Filter{Sort: prediction.ByResolvedAt}, 4},
			{"by edge, all edges equal", prediction.Filter{Sort: prediction.ByEdge}, 4},
			{"words in any case", prediction.Filter{Words: "ALWAYS zürich"}, 7},
			{"a rarer word", prediction.Filter{Words: "zürich 3"}, 1},
			{"no word", prediction.Filter{Words: "zürich nowhere"}, 0},
			{"only signs", prediction.Filter{Words: `"*' -`}, 0},
		}
		ends := slices.Clone(cases)
		for i := range ends { // every page ends after its first prediction
			ends[i].name, ends[i].filter.MaxText = ends[i].name+", little text", 1
		}
		for _, c := range append(cases, ends...) {
			c.filter.Limit = 2
			last, seen := "~", 0 // all these lists are in order of publication
			for pages := 0; ; pages++ {
				list, next, err := prediction.Store{}.List(t.Context(), db.Reader, c.filter)
				if most := 2 - min(c.filter.MaxText, 1); err != nil || len(list) > most || pages > 10/most {
					t.Fatalf("%s: got %d items on page %d, %v", c.name, len(list), pages, err)
				}
				for _, r := range list {
					if id := r.ID.String(); id >= last {
						t.Errorf("%s: got %s after %s, want a lower id", c.name, id, last)
					} else {
						last = id
					}
					seen++
				}
				if c.filter.Cursor = next; next == "" {
					break
				}
			}
			if seen != c.want {
				t.Errorf("%s: got %d predictions, want %d", c.name, seen, c.want)
			}
		}
		forged := func(at string) string { return cursor.Encode("resolvedAt", at, database.NewID(start).String()) }
		for _, bad := range []prediction.Filter{
			{Cursor: "x"}, {Cursor: "!!"}, {Cursor: "WyJlZGdlIiwiMCIsIngiXQ"},
			{Sort: prediction.ByResolvedAt, Cursor: forged("-9223372036854775808")},
			{Sort: prediction.ByResolvedAt, Cursor: forged("9223372036854775807")},
			{Sort: prediction.ByResolvedAt, Cursor: forged("-62135596800000001")},
		} {
			bad.Limit = 1
			if _, _, err := (prediction.Store{}).List(t.Context(), db.Reader, bad); problem.As(err).Code != "invalid_parameter" {
				t.Errorf("cursor %q: got %v", bad.Cursor, err)
			}
		}
	})
}

// TestCursorPast checks that the cursor after n predictions is the start of the same page that List would
// reach.
func TestCursorPast(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		d := open(t, db)
		for range 5 {
			d.wait(time.Second)
			if _, _, err := d.publish(t, draft(nil)); err != nil {
				t.Fatal(err)
			}
		}
		_, want, err := prediction.Store{}.List(t.Context(), db.Reader, prediction.Filter{AgentID: d.agent.ID, Limit: 2})
		_, got, past := prediction.Store{}.CursorPast(t.Context(), db.Reader, d.agent.ID, "", 2)
		if err != nil || past != nil || got != want || got == "" {
			t.Errorf("got cursor %q, want %q (%v, %v)", got, want, err, past)
		}
		for n, more := range map[int]bool{4: true, 5: false, 6: false} {
			if last, got, err := (prediction.Store{}).CursorPast(t.Context(), db.Reader, d.agent.ID, "", n); err != nil || (got != "") != more || (last == uuid.Nil) == more {
				t.Errorf("past %d of 5: got %q, %v", n, got, err)
			}
		}
		first := got
		if _, got, err := (prediction.Store{}).CursorPast(t.Context(), db.Reader, d.agent.ID, first, 2); err != nil || got == "" || got == want {
			t.Errorf("past 2 from the cursor: got %q, %v", got, err)
		}
		for n, want := range map[int]int{2: 2, 3: 3, 9: 3} {
			if count, err := (prediction.Store{}).CountUpTo(t.Context(), db.Reader, d.agent.ID, first, n); err != nil || count != want {
				t.Errorf("%d of at most %d from the cursor, want %d: %v", count, n, want, err)
			}
		}
	})
}

// TestTryWrite checks that a node notices a database that refuses writes, even if nobody publishes.
func TestTryWrite(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		now := start
		p := prediction.NewPublisher(db, func() time.Time { return now }, time.Hour, "https://pulse.example")
		exec := func(statement string) {
			t.Helper()
			if _, err := db.ExecContext(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		}
		for _, step := range []struct {
			does string // a statement
			wait time.Duration
			ok   bool
		}{
			{ok: true},
			{does: "ALTER TABLE settings RENAME TO lost", ok: true}, // it was tested a moment ago
			{wait: 5 * time.Minute},
			{}, // again at once
			{does: "ALTER TABLE lost RENAME TO settings", ok: true},
		} {
			if step.does != "" {
				exec(step.does)
			}
			now = now.Add(step.wait)
			if err := p.TryWrite(t.Context()); (err == nil) != step.ok {
				t.Errorf("after %+v: %v", step, err)
			}
		}
	})
}
