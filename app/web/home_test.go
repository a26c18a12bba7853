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
