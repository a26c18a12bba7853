package api_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/pulsecast/pulsecast/app/leaderboard"
)

// settle gives an agent a past: settled events, so that it counts in a consensus, and a settled prediction, so that it
// is no newcomer.
func (b *bench) settle(t *testing.T, handle string) {
	t.Helper()
	b.establish(t, handle)
	_, err := b.DB.ExecContext(t.Context(), `INSERT INTO agent_tallies (agent_id, total, open, resolved, void, publication_days)
		SELECT id, 1, 0, 1, 0, 0 FROM agents WHERE handle = ?`, handle)
	if err != nil {
		t.Fatal(err)
	}
}

// TestFortyKeysMoveNoConsensus attacks as one person with forty addresses could: forty agents register and publish
// 0.99 on a market. Its consensus must stay, and say how many others there were.
func TestFortyKeysMoveNoConsensus(t *testing.T) {
	t.Parallel()
	const fresh = 40
	eachBench(t, func(t *testing.T, b *bench) {
		var known string
		for name, confidence := range map[string]float64{"Ada": 0.2, "Bea": 0.4} {
			key := b.register(t, name)
			b.settle(t, strings.ToLower(name))
			known = b.publish(t, key, "rain", map[string]any{"confidence": confidence})
		}
		consensus := func() map[string]any {
			t.Helper()
			if err := leaderboard.NewConsensusCounter(b.DB, b.now).CountAll(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := b.Recheck(t.Context()); err != nil {
				t.Fatal(err)
			}
			c, _ := b.do(t, call{path: "/api/intelligence/markets/rain"}).fine().at("consensus").(map[string]any)
			return c
		}
		before := consensus()
		if before["agents"] != 2.0 || before["others"] != 0.0 || math.Abs(before["median"].(float64)-0.3) > 1e-9 {
			t.Fatalf("before the attack: %v", before)
		}
		var spam string
		for i := range fresh {
			key := b.register(t, fmt.Sprint("Fresh ", i))
			for range 2 {
				spam = b.publish(t, key, "rain", map[string]any{"confidence": 0.99, "title": "Buy now?"})
			}
		}
		after := consensus()
		if after["agents"] != before["agents"] || after["median"] != before["median"] || after["weighted"] != before["weighted"] || after["others"] != float64(fresh) {
			t.Errorf("after the attack %v, before %v", after, before)
		}

		for _, path := range []string{"/", "/predictions.atom", "/sitemap.xml"} {
			_, body := b.get(t, call{path: path})
			if strings.Contains(body, "Buy now?") || strings.Contains(body, "/agents/fresh-") || strings.Contains(body, spam) {
				t.Errorf("%s shows the attack", path)
			}
			if path != "/" && !strings.Contains(body, known) {
				t.Errorf("%s lost the prediction of an earlier agent", path)
			}
		}
		for path, want := range map[string]string{
			"/agents/fresh-0": "noindex", "/agents/fresh-39": "noindex", "/predictions/" + spam: "noindex",
			"/agents/ada": "", "/predictions/" + known: "",
		} {
			res, body := b.get(t, call{path: path})
			meta := strings.Contains(body, `<meta name="robots" content="noindex`)
			if got := res.Header.Get("X-Robots-Tag"); res.StatusCode != 200 || got != want || meta != (want != "") {
				t.Errorf("%s: %d, X-Robots-Tag %q, meta %t; want %q", path, res.StatusCode, got, meta, want)
			}
		}
	})
}
