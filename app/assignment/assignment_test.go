package assignment_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/assignment"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/problem"
)

var (
	start = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	store assignment.Store
)

// listed returns a suitable open market, which a test can make unsuitable.
func listed(id, category string, liquidity, probability float64, ends time.Duration) market.Market {
	return market.Market{ID: id, Source: "test", Question: "Will " + id + "?", Title: id, Category: category,
		Outcomes: []string{"Yes", "No"}, Prices: []float64{probability, 1 - probability}, Probability: &probability,
		Liquidity: &liquidity, ClosesAt: start.Add(ends), Active: true, MatchKey: id, FirstSeenAt: start, ObservedAt: start}
}

func insert(t *testing.T, db *database.DB, markets ...market.Market) {
	t.Helper()
	if _, err := db.NewInsert().Model(&markets).Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func choose(t *testing.T, db *database.DB, at time.Time) int {
	t.Helper()
	n, err := store.ChooseDaily(t.Context(), db, at, start, floor)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func list(t *testing.T, db *database.DB, agent uuid.UUID, at time.Time) []assignment.Listed {
	t.Helper()
	l, _, err := store.List(t.Context(), db.Reader, assignment.Filter{Limit: 100, AgentID: agent}, at)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

const days = 24 * time.Hour

// floor is the least liquidity of an assignment in these tests.
const floor = 1

// TestChooseOneOfAnEvent checks that while a market of an event is assigned, none of its siblings is chosen,
// neither on this day nor on the next.
func TestChooseOneOfAnEvent(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		var markets []market.Market
		for i := range 5 {
			m := listed(fmt.Sprint("sibling", i), "sport", float64(10+i), 0.5, 9*days)
			bid, ask := 0.475, 0.525
			m.EventID, m.BestBid, m.BestAsk = "event", &bid, &ask
			markets = append(markets, m)
		}
		insert(t, db, append(markets, listed("alone", "sport", 5, 0.5, 9*days))...)
		if n := choose(t, db, start); n != 2 {
			t.Errorf("the first day: got %d, want 2", n)
		}
		if n := choose(t, db, start.Add(days)); n != 0 {
			t.Errorf("the next day: got %d, want 0", n)
		}
		if n := choose(t, db, start.Add(2*days)); n != 2 {
			t.Errorf("the day after: got %d, want 2", n)
		}
	})
}

func TestChooseOnlySuitable(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		if n := choose(t, db, start); n != 0 {
			t.Errorf("without markets: got %d, want 0", n)
		}
		spoil := func(m market.Market, change func(*market.Market)) market.Market { change(&m); return m }
		good := func(id string) market.Market { return listed(id, "sport", 10, 0.5, 9*days) }
		insert(t, db,
			listed("low-bound", "sport", 1, 0.05, days), listed("high-bound", "", 1, 0.95, 90*days),
			listed("unlikely", "sport", 9, 0.049, 9*days), listed("sure", "sport", 9, 0.951, 9*days),
			listed("too-soon", "sport", 9, 0.5, days-time.Second), listed("too-late", "sport", 9, 0.5, 90*days+time.Second),
			listed("illiquid", "sport", 0, 0.5, 9*days), listed("thin", "sport", 0.99, 0.5, 9*days),
			spoil(good("wide"), func(m *market.Market) { bid, ask := 0.47, 0.5201; m.BestBid, m.BestAsk = &bid, &ask }),
			spoil(good("unseen"), func(m *market.Market) { m.ObservedAt = start.Add(-time.Second) }),
			spoil(good("closed"), func(m *market.Market) { m.Closed = true }),
			spoil(good("inactive"), func(m *market.Market) { m.Active = false }),
			spoil(good("disputed"), func(m *market.Market) { m.Resolution = "disputed" }),
			spoil(good("unknown"), func(m *market.Market) { m.Probability, m.Liquidity = nil, nil }),
			spoil(good("endless"), func(m *market.Market) { m.ClosesAt = time.Time{} }))
		if n := choose(t, db, start); n != 2 {
			t.Errorf("chose %d, want 2", n)
		}
		got := list(t, db, uuid.Nil, start)
		if len(got) != 2 || got[0].MarketID != "low-bound" || got[1].MarketID != "high-bound" {
			t.Fatalf("got %+v", got)
		}
		a := got[0]
		if a.Day != "2026-11-21" || a.Outcome != "Yes" || a.Title != "Will low-bound?" || a.Market == nil ||
			!a.DueAt.Equal(start.Add(days)) || !strings.Contains(a.Instructions, `marketId "low-bound"`) {
			t.Errorf("got assignment %+v", a)
		}
		if b := got[1]; b.Category != "other" || !b.DueAt.Equal(time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)) {
			t.Errorf("got assignment %+v", b)
		}
	})
}

func TestChooseSpreads(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		var markets []market.Market
		for i := range 40 { // one category is far more liquid than the others
			markets = append(markets, listed(fmt.Sprintf("politics-%02d", i), "politics", 1e6-float64(i), 0.5, 20*days))
		}
		for i := range 8 {
			soon := listed(fmt.Sprintf("soon-%d", i), "sport", 50-float64(i), 0.5, 2*days)
			later := listed(fmt.Sprintf("crypto-%d", i), "crypto", 40-float64(i), 0.5, 30*days)
			if i < 3 {
				soon.EventID, later.EventID = "final", "coin"
			}
			markets = append(markets, soon, later)
		}
		insert(t, db, markets...)
		if n := choose(t, db, start); n != 12 {
			t.Errorf("chose %d, want 12", n)
		}
		soon, events, categories := 0, map[string]int{}, map[string]int{}
		for _, a := range list(t, db, uuid.Nil, start) {
			if !a.Market.ClosesAt.After(start.Add(3 * days)) {
				soon++
			}
			events[a.Market.EventKey()]++
			categories[a.Category]++
		}
		if soon < 5 {
			t.Errorf("got %d that end within 72 h, want at least 5", soon)
		}
		for event, n := range events {
			if n > 1 {
				t.Errorf("got %d of event %s, want 1", n, event)
			}
		}
		if categories["politics"] < 3 || categories["crypto"] < 2 {
			t.Errorf("got categories %v", categories)
		}
	})
}

func TestChosenOnceADay(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		for i := range 60 {
			insert(t, db, listed(fmt.Sprintf("m%02d", i), "sport", 100-float64(i), 0.5, 20*days))
		}
		var nodes sync.WaitGroup
		var mu sync.Mutex
		total := 0
		for range 6 {
			nodes.Go(func() {
				n, err := store.ChooseDaily(t.Context(), db, start, start, floor)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				total += n
				mu.Unlock()
			})
		}
		nodes.Wait()
		if total != 12 {
			t.Errorf("six nodes added %d, want 12 in all", total)
		}
		first := list(t, db, uuid.Nil, start)
		insert(t, db, listed("better", "politics", 1e9, 0.5, 20*days))
		if n := choose(t, db, start.Add(13*time.Hour)); n != 0 || len(list(t, db, uuid.Nil, start.Add(13*time.Hour))) != len(first) {
			t.Errorf("a second choice on the same day added %d, want 0", n)
		}
		tomorrow := start.Add(days)
		if n := choose(t, db, tomorrow); n != 12 {
			t.Errorf("the next day has %d, want 12", n)
		}
		both := list(t, db, uuid.Nil, tomorrow)
		seen := map[string]bool{}
		for _, a := range both {
			if seen[a.MarketID] {
				t.Errorf("market %s was chosen again while it was open", a.MarketID)
			}
			seen[a.MarketID] = true
		}
		if len(both) != 24 || !seen["better"] {
			t.Errorf("%d open on the next day, want 24 with the best new one", len(both))
		}
		if after := list(t, db, uuid.Nil, start.Add(2*days)); len(after) != 12 {
			t.Errorf("%d open after the first day's are due, want 12", len(after))
		}
	})
}

// TestChosenAfterClockAhead checks that a choice for a later day, made while a clock was ahead, doesn't keep out those of
// the days until then.
func TestChosenAfterClockAhead(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		for i := range 60 {
			insert(t, db, listed(fmt.Sprintf("m%02d", i), "sport", 100-float64(i), 0.5, 60*days))
		}
		for _, step := range []struct {
			at   time.Time
			want int
		}{{start.Add(30 * days), 12}, {start, 12}, {start, 0}, {start.Add(days), 12}} {
			if n := choose(t, db, step.at); n != step.want {
				t.Errorf("%s: added %d, want %d", step.at, n, step.want)
			}
		}
		// Shortly before midnight, another node whose clock is a little ahead has chosen for the next day.
		midnight := start.Add(3 * days).Truncate(days)
		if n := choose(t, db, midnight); n != 12 {
			t.Errorf("added %d, want 12", n)
		}
		if n := choose(t, db, midnight.Add(-time.Minute)); n != 0 {
			t.Errorf("added %d for a day that is over for another node", n)
		}
	})
}

func TestClosing(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		insert(t, db, listed("a", "sport", 3, 0.5, 20*days), listed("b", "sport", 2, 0.5, 20*days), listed("c", "sport", 1, 0.5, 30*time.Hour))
		choose(t, db, start)
		if _, err := db.ExecContext(t.Context(), "UPDATE markets SET closed = ? WHERE id = 'a'", true); err != nil {
			t.Fatal(err)
		}
		if got := list(t, db, uuid.Nil, start); len(got) != 2 || got[0].MarketID != "c" {
			t.Errorf("got open assignments %+v", got)
		}
		for _, step := range []struct {
			after time.Duration
			want  int64
		}{{0, 1}, {0, 0}, {30 * time.Hour, 1}, {2 * days, 1}} {
			if n, err := store.CloseDue(t.Context(), db, start.Add(step.after)); err != nil || n != step.want {
				t.Errorf("after %v: got %d closed, %v; want %d", step.after, n, err, step.want)
			}
		}
	})
}

func register(t *testing.T, db *database.DB, id uuid.UUID) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), `INSERT INTO agents (id, handle, name, kind, status, sample, created_at)
		VALUES (?, ?, 'n', 'agent', 'active', ?, ?)`, id, id.String(), false, start); err != nil {
		t.Fatal(err)
	}
}

func publish(t *testing.T, db *database.DB, agent uuid.UUID, market, title string, at time.Time) {
	t.Helper()
	p := &prediction.Prediction{ID: database.NewID(at), AgentID: agent, Title: title, Thesis: "t", HorizonAt: at, Category: "c",
		Evidence: []prediction.Evidence{}, MarketID: market, BaselineState: prediction.Pending, Status: prediction.Open, CreatedAt: at}
	if err := prediction.Add(t.Context(), db, p); err != nil {
		t.Fatal(err)
	}
}

func TestCountsAndDone(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		insert(t, db, listed("a", "sport", 3, 0.5, 20*days), listed("b", "sport", 2, 0.5, 20*days))
		choose(t, db, start)
		if _, err := create(t, db, assignment.Draft{Title: "Will it rain?", DueAt: start.Add(9 * days)}, start); err != nil {
			t.Fatal(err)
		}
		me, other := uuid.New(), uuid.New()
		for _, id := range []uuid.UUID{me, other} {
			register(t, db, id)
		}
		publish(t, db, me, "a", "x", start.Add(time.Minute))
		publish(t, db, other, "a", "x", start.Add(time.Minute))
		publish(t, db, me, "b", "x", start.Add(-time.Minute)) // before the assignment opened
		publish(t, db, me, "", "WILL it rain?", start.Add(time.Minute))
		want := map[string][2]string{"Will a?": {"2 true", "2 true"}, "Will b?": {"1 false", "1 false"}, "Will it rain?": {"0 true", "0 false"}}
		for i, agent := range []uuid.UUID{me, other} {
			for _, a := range list(t, db, agent, start.Add(time.Hour)) {
				if got := fmt.Sprint(a.Consensus.Predictions, " ", a.Done); got != want[a.Title][i] {
					t.Errorf("agent %d, %s: got %s, want %s", i, a.Title, got, want[a.Title][i])
				}
			}
		}
	})
}

// TestDoneRows checks that an agent's earlier predictions on an assigned market aren't read. It needs row counts, which
// only Postgres gives.
func TestDoneRows(t *testing.T) {
	t.Parallel()
	db := dbtest.OpenPlain(t, database.Postgres)
	insert(t, db, listed("a", "sport", 3, 0.5, 20*days))
	choose(t, db, start)
	me := uuid.New()
	register(t, db, me)
	const earlier = 300
	for i := range earlier {
		publish(t, db, me, "a", "x", start.Add(time.Duration(i-earlier)*time.Minute))
	}
	open := list(t, db, uuid.Nil, start.Add(time.Hour))
	for _, done := range []bool{false, true} {
		if done {
			publish(t, db, me, "a", "x", start.Add(time.Minute))
		}
		explained := dbtest.Explain(t, db, func(db *database.DB) {
			if err := store.MarkDone(t.Context(), db.Reader, open, me); err != nil {
				t.Fatal(err)
			}
		})
		if len(open) != 1 || open[0].Done != done {
			t.Errorf("got %+v, want one assignment with done %t", open, done)
		}
		if n := dbtest.TouchedRows(explained); n > 10 {
			t.Errorf("done %t: read %d rows after %d earlier predictions, want at most 10", done, n, earlier)
		}
	}
}

func TestWrittenByAdmin(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		over := listed("over", "sport", 1, 0.5, 5*days)
		over.Closed = true
		teams := listed("teams", "sport", 1, 0.5, 5*days)
		teams.Outcomes = []string{"Red", "Blue"}
		insert(t, db, listed("open", "sport", 1, 0.5, 5*days), over, teams)
		due := start.Add(2 * days)
		for name, c := range map[string]struct {
			draft assignment.Draft
			field string
		}{
			"nothing":           {assignment.Draft{DueAt: due}, "title"},
			"no due":            {assignment.Draft{Title: "t"}, "dueAt"},
			"due in the past":   {assignment.Draft{Title: "t", DueAt: start}, "dueAt"},
			"due before open":   {assignment.Draft{Title: "t", OpensAt: due, DueAt: due}, "dueAt"},
			"due after market":  {assignment.Draft{MarketID: "open", DueAt: start.Add(6 * days)}, "dueAt"},
			"unknown market":    {assignment.Draft{MarketID: "nope", Title: "t", DueAt: due}, "marketId"},
			"closed market":     {assignment.Draft{MarketID: "over", DueAt: due}, "marketId"},
			"unknown outcome":   {assignment.Draft{MarketID: "teams", Outcome: "Green", DueAt: due}, "outcome"},
			"no outcome":        {assignment.Draft{MarketID: "teams", DueAt: due}, "outcome"},
			"outcome alone":     {assignment.Draft{Title: "t", Outcome: "Yes", DueAt: due}, "outcome"},
			"long title":        {assignment.Draft{Title: strings.Repeat("x", 301), DueAt: due}, "title"},
			"control character": {assignment.Draft{Title: "a\x00b", DueAt: due}, "title"},
			"long category":     {assignment.Draft{Title: "t", Category: strings.Repeat("x", 65), DueAt: due}, "category"},
		} {
			_, err := create(t, db, c.draft, start)
			if p := problem.As(err); err == nil || p.Status != 422 || p.Fields[0].Field != c.field {
				t.Errorf("%s: got %v, want a refusal of %s", name, err, c.field)
			}
		}
		if got := list(t, db, uuid.Nil, start); len(got) != 0 {
			t.Fatalf("refused drafts left %+v", got)
		}

		a, err := create(t, db, assignment.Draft{MarketID: "teams", Outcome: "blue", Category: " Finals ", DueAt: due}, start)
		if err != nil || a.Outcome != "Blue" || a.Title != "Will teams?" || a.Category != "finals" || a.Day != "" {
			t.Fatalf("got created %+v, %v", a, err)
		}
		if _, err := update(t, db, a.ID, assignment.Draft{Title: "Who wins?", Instructions: "Look\ntwice.", DueAt: due.Add(days)}, start); err != nil {
			t.Fatal(err)
		}
		got, err := store.ByID(t.Context(), db, a.ID)
		if err != nil || got.Title != "Who wins?" || got.Instructions != "Look\ntwice." || got.MarketID != "" || !got.DueAt.Equal(due.Add(days)) || !got.OpensAt.Equal(start) {
			t.Errorf("got updated %+v, %v", got, err)
		}
		if err := closeNow(t, db, a.ID); err != nil {
			t.Fatal(err)
		}
		_, updated := update(t, db, a.ID, assignment.Draft{Title: "t", DueAt: due}, start)
		for name, c := range map[string]struct {
			err  error
			code string
		}{
			"closing again":         {closeNow(t, db, a.ID), "assignment_closed"},
			"updating a closed one": {updated, "assignment_closed"},
			"closing nothing":       {closeNow(t, db, uuid.New()), "not_found"},
		} {
			if c.err == nil || problem.As(c.err).Code != c.code {
				t.Errorf("%s: got %v, want %s", name, c.err, c.code)
			}
		}
		if all, err := store.All(t.Context(), db, 10); err != nil || len(all) != 1 || all[0].Status != assignment.Closed {
			t.Errorf("got all assignments %+v, %v", all, err)
		}
	})
}

// TestAllBeginsWithOpen checks that an open assignment is listed, however many were opened and closed
// since.
func TestAllBeginsWithOpen(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		for i := range 8 {
			opens := start.Add(time.Duration(i) * time.Hour)
			d := assignment.Draft{Title: fmt.Sprint("closed ", i), OpensAt: opens, DueAt: opens.Add(days)}
			if i < 2 {
				d.Title, d.DueAt = fmt.Sprint("open ", i), start.Add(time.Duration(30-i)*days)
			}
			if _, err := create(t, db, d, start); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := store.CloseDue(t.Context(), db, start.Add(9*days)); err != nil {
			t.Fatal(err)
		}
		for limit, want := range map[int]string{1: "open 1", 4: "open 1, open 0, closed 7, closed 6", 100: "open 1, open 0, closed 7, closed 6, closed 5, closed 4, closed 3, closed 2"} {
			all, err := store.All(t.Context(), db.Reader, limit)
			var got []string
			for _, a := range all {
				got = append(got, a.Title)
			}
			if err != nil || strings.Join(got, ", ") != want {
				t.Errorf("limit %d: got %q, %v; want %s", limit, got, err, want)
			}
		}
	})
}

// create, update and closeNow call the store's methods, each in a separate transaction.
func create(t *testing.T, db *database.DB, d assignment.Draft, now time.Time) (a *assignment.Assignment, err error) {
	err = db.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) error {
		a, err = assignment.Store{}.Create(ctx, tx, d, now)
		return err
	})
	return a, err
}

func update(t *testing.T, db *database.DB, id uuid.UUID, d assignment.Draft, now time.Time) (a *assignment.Assignment, err error) {
	err = db.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) error {
		a, err = assignment.Store{}.Update(ctx, tx, id, d, now)
		return err
	})
	return a, err
}

func closeNow(t *testing.T, db *database.DB, id uuid.UUID) error {
	return db.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) error { return assignment.Store{}.Close(ctx, tx, id) })
}
