package web_test

import (
	"context"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/leaderboard"
)

// rank adds an agent's row to the main board, with a range around a best guess of 1.5.
func (h *house) rank(agentID uuid.UUID, place int64, half, odds float64) {
	h.t.Helper()
	low, high := int64(1), int64(2)
	row := leaderboard.Row{
		Window: leaderboard.All, AgentID: agentID, Position: []byte{1, byte(place)}, Model: "m-1",
		Rank: &place, RankLow: &low, RankHigh: &high, Skill: 1.2, BestGuess: new(1.5), SkillLow: new(1.5 - half), SkillHigh: new(1.5 + half),
		Odds: &odds, Events: 60,
	}
	if _, err := h.db.NewInsert().Model(&row).Exec(h.t.Context()); err != nil {
		h.t.Fatal(err)
	}
}

// board makes the main board with two ranked agents, one of them proven.
func (h *house) board() {
	h.t.Helper()
	board := leaderboard.Board{Window: leaderboard.All, AsOf: start, Kappa: 100, Sigma2: 100, Mu: .5, Tau: .5, Ranked: 2, Proven: 1}
	if _, err := h.db.NewInsert().Model(&board).Exec(h.t.Context()); err != nil {
		h.t.Fatal(err)
	}
}

func (h *house) words(path, selector string) string {
	h.t.Helper()
	return strings.ReplaceAll(h.get(path).text(selector), "\u00a0", " ")
}

// TestProvenByOdds checks that only the odds decide whether an agent is shown as proven, even if
// its range is above zero.
func TestProvenByOdds(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		h := open(t, db)
		var bob *agent.Agent
		err := db.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) (err error) {
			bob, err = agent.Store{}.Create(ctx, tx, agent.New{Profile: agent.Profile{Name: "Bob"}, Handle: "bob", At: start})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		h.board()
		h.rank(h.agent.ID, 1, 1, 19.99) // this range is above zero
		h.rank(bob.ID, 2, 2, 20)        // this range contains zero
		for _, path := range []string{"/", "/leaderboard"} {
			r := h.get(path)
			if marks := r.doc.Find(".forest-table .badge-proven"); marks.Length() != 1 || marks.Closest("tr").Find("a[href='/agents/bob']").Length() != 1 {
				t.Errorf("%s: %d marks, want that of bob", path, marks.Length())
			}
			if got := h.words(path, ".chance"); got != "Of 2 ranked agents, 1 is proven: odds of at least 20 : 1 against having no edge. If no agent had an edge, luck alone would make fewer than 0.1 of them look proven." {
				t.Errorf("%s: %q", path, got)
			}
		}
		if got := h.words("/leaderboard?model=m-1", ".chance"); !strings.HasPrefix(got, "Of 2 ranked agents of all models, 1 is proven: ") {
			t.Errorf("a part of the board: %q", got)
		}
		if got := h.words("/", "#live-counts, .drawn"); !strings.Contains(got, "1 provenEach bar is the 95 % range of an agent's true edge per event.") {
			t.Errorf("home: %q", got)
		}
		for path, want := range map[string][]string{
			"/agents/ada":           {"Odds against no edge 19 : 1", "Best guess: 1.5 points closer to the truth than the market per event; 95 % range +0.5 to +2.5"},
			"/agents/bob":           {"Odds against no edge 20 : 1 proven: 20 : 1 or more", "95 % range −0.5 to +3.5"},
			"/agents/ada/badge.svg": {"rank 1 (1–2), edge +0.5 to +2.5", "#5c616b"},
			"/agents/bob/badge.svg": {"rank 2 (1–2), edge −0.5 to +3.5, proven", "#1f5fb8"},
			"/agents/bob.atom":      {"<subtitle>Bob. Best guess: 1.5 points", "95 % range −0.5 to +3.5. Odds against having no edge: 20 : 1.</subtitle>"},
			"/compare?a=ada&b=bob":  {"The two agents have no settled events in common"},
			"/method":               {"the 2 ranked agents here"},
		} {
			r := h.get(path)
			got := strings.ReplaceAll(strings.Join(strings.Fields(r.body), " "), "\u00a0", " ")
			if strings.HasPrefix(r.header.Get("Content-Type"), "text/html") {
				got = strings.ReplaceAll(strings.Join(strings.Fields(spaced(r)), " "), "\u00a0", " ")
			}
			for _, words := range want {
				if !strings.Contains(got, words) {
					t.Errorf("%s lacks %q: %.600s", path, words, got)
				}
			}
		}
		for _, path := range []string{"/agents/ada/card.png", "/agents/bob/card.png", "/leaderboard/card.png"} {
			if r := h.get(path); r.status != 200 || r.header.Get("Content-Type") != "image/png" {
				t.Errorf("%s: %d %s", path, r.status, r.header.Get("Content-Type"))
			}
		}
	})
}

// spaced returns a page's text with a space between elements.
func spaced(r reply) string {
	r.doc.Find("dt, dd, p, h2").Each(func(_ int, s *goquery.Selection) { s.AppendHtml(" ") })
	return r.doc.Find("main").Text()
}
