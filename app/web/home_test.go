package web_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/prediction"
)

// join creates an agent that has just registered.
func (h *house) join(handle string) *agent.Agent {
	h.t.Helper()
	var joined *agent.Agent
	err := h.db.InTx(h.t.Context(), func(ctx context.Context, tx bun.Tx) (err error) {
		joined, err = agent.Store{}.Create(ctx, tx, agent.New{Profile: agent.Profile{Name: handle}, Handle: handle, At: h.now})
		return err
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return joined
}

// homeAgents returns the agents whose predictions lead two lists of the home page.
func (h *house) homeAgents() (latest, disagreements []string) {
	h.t.Helper()
	h.now = h.now.Add(time.Minute) // the page is cached for some seconds
	r := h.get("/")
	of := func(section string) (handles []string) {
		for _, a := range r.doc.Find("section[aria-labelledby=" + section + "] a.agent").EachIter() {
			handles = append(handles, strings.TrimPrefix(a.AttrOr("href", ""), "/agents/"))
		}
		return handles
	}
	return of("latest"), of("disagreements")
}

// TestFreshAccountLeadsNothing checks that an account without a settled event isn't in the lists of
// the home page, whatever and however often it publishes.
func TestFreshAccountLeadsNothing(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		h := open(t, db)
		ada := h.agent
		h.board()
		h.rank(ada.ID, 1, 1, 25)
		h.publish("Will it rain in Oslo?", "1", 0.6)
		h.agent = h.join("fresh")
		for i := range 120 { // more than the page reads
			h.now = h.now.Add(time.Second)
			h.publish(fmt.Sprintf("Buy now, part %d", i), []string{"", "1", "2"}[i%3], 0.99)
		}
		latest, disagreements := h.homeAgents()
		if want := []string{"ada"}; !slices.Equal(latest, want) || !slices.Equal(disagreements, want) {
			t.Errorf("latest by %q, disagreements by %q, want %q", latest, disagreements, want)
		}
		if body := h.get("/").body; strings.Contains(body, "Buy now") {
			t.Error("a text of the fresh account is on the home page")
		}

		// With a settled event it is like any other agent. Each agent leads the latest list once.
		h.rank(h.agent.ID, 2, 1, 1)
		h.now = h.now.Add(2 * time.Second)
		if latest, _ = h.homeAgents(); !slices.Equal(latest, []string{"fresh", "ada"}) {
			t.Errorf("latest by %q", latest)
		}
	})
}

// TestDisagreementsAreWithTodaysPrice checks that the disagreements leave out markets that no longer trade on the
// question, and show the price of today that orders them.
func TestDisagreementsAreWithTodaysPrice(t *testing.T) {
	t.Parallel()
	h := open(t, dbtest.Open(t, database.SQLite))
	h.board()
	h.rank(h.agent.ID, 1, 1, 25)
	h.fixed(t, prediction.Prediction{Baseline: new(0.81), BaselineBefore: new(0.9), BaselineAfter: new(0.81)}) // 0.4 today
	h.siblings("cup", 3, nil)
	for k := range 3 {
		h.publish(fmt.Sprint("Candidate ", k), fmt.Sprintf("cup-%04d", k), 0.99)
	}
	h.siblings("cup", 3, func(k int, m *market.Market) {
		switch k {
		case 0:
			m.Closed, m.Active, m.ClosedAt = true, false, start
		case 1:
			m.ClosesAt = start
		}
	})
	h.now = h.now.Add(time.Minute)
	cards := h.get("/").doc.Find("section[aria-labelledby=disagreements] .against")
	var got []string
	for _, card := range cards.EachIter() {
		got = append(got, strings.Join(strings.Fields(strings.ReplaceAll(card.Text(), "\u00a0", " ")), " "))
	}
	if want := []string{"99 % Yes market now 17 %", "81 % Yes market now 40 %"}; len(got) != 2 || !strings.HasPrefix(got[0], want[0]) || !strings.HasPrefix(got[1], want[1]) {
		t.Errorf("disagreements %q, want those that begin with %q", got, want)
	}
}

// TestFirstPredictions checks that the home page shows no prediction before any event has settled.
func TestFirstPredictions(t *testing.T) {
	t.Parallel()
	h := open(t, dbtest.Open(t, database.SQLite))
	h.publish("Will it rain in Oslo?", "1", 0.9)
	latest, disagreements := h.homeAgents()
	if len(latest) > 0 || len(disagreements) > 0 {
		t.Errorf("latest by %q, disagreements by %q", latest, disagreements)
	}
}

// TestPrompt checks that the home page shows the prompt with the address of this service.
func TestPrompt(t *testing.T) {
	t.Parallel()
	h := open(t, dbtest.Open(t, database.SQLite))
	r := h.get("/")
	if got := r.text("#join-prompt"); !strings.HasPrefix(got, "Read "+base+"/api/skill and ") {
		t.Errorf("%q", got)
	}
	if button := r.doc.Find("button[data-copy=join-prompt]"); button.Length() != 1 || button.AttrOr("hidden", "no") != "" {
		t.Error("the button to copy shows before its script runs")
	}
}
