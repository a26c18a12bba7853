package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// TestVoidDisclosesNothing checks that no page, feed or answer discloses a confidence that is withheld until the close if
// an admin voids the agent's next prediction on the market, whose baseline follows from that confidence.
func TestVoidDisclosesNothing(t *testing.T) {
	t.Parallel()
	path := demoCopy(t)
	p, _ := startDemo(t, "DATABASE_URL=sqlite://"+path, "RATE_LIMIT_READS=off", "MARKETS_INTERVAL=2s")
	_, made := p.call("POST", "/api/agents", "", map[string]any{"name": "Quokka Teller"})
	handle, key := fmt.Sprint(dig(made, "agent", "handle")), fmt.Sprint(made["apiKey"])
	// The prices of the copied demo are too old for a baseline.
	_, shown := p.call("GET", "/api/intelligence/markets?limit=1", "", nil)
	begin, _ := shown["asOf"].(string)
	shown = p.until("/api/intelligence/markets?limit=1", "", func(a map[string]any) bool { return a["asOf"].(string) > begin })
	market := fmt.Sprint(dig(shown, "markets", 0, "id"))
	publish := func(confidence float64) string {
		t.Helper()
		status, a := p.call("POST", "/api/predictions", key, map[string]any{"title": "Will they smile?", "thesis": "They always do.",
			"confidence": confidence, "horizonAt": time.Now().AddDate(0, 1, 0).UTC(), "marketId": market, "reveal": "close"})
		if status != 200 {
			t.Fatalf("%d %v", status, a)
		}
		return fmt.Sprint(dig(a, "prediction", "id"))
	}
	publish(0.4273)
	id := publish(0.95)
	p.until("/api/predictions/"+id, key, func(a map[string]any) bool { return dig(a, "prediction", "baseline", "previous") == 0.4273 })
	ruling := "/admin/settlement/predictions/" + id
	p.admin().act(ruling, ruling, url.Values{"kind": {"prediction_voided"}, "note": {"spam"}, "seen": {"open"}})
	p.until("/api/predictions/"+id, key, func(a map[string]any) bool { return dig(a, "prediction", "status") == "void" })

	fill := strings.NewReplacer("{id}", id, "{handle}", handle, "{market}", market)
	mcp := p.model(t, "/mcp/public", "")
	paths := []string{"/changes", "/api/changes", "/api/predictions?status=void", "/api/predictions?sort=resolvedAt", "/predictions?sort=resolvedAt"}
	for _, s := range surfaces {
		if s.viewer == "public" {
			paths = append(paths, s.path)
		}
	}
	for _, path := range paths {
		var body []byte
		if tool, ok := strings.CutPrefix(path, "mcp:"); ok {
			answer, _ := mcp.use(tool, map[string]any{"id": id})
			body, _ = json.Marshal(answer)
		} else {
			_, body = p.fetch(&http.Client{}, fill.Replace(path))
		}
		if confidence.Match(coordinates.ReplaceAll(body, nil)) {
			t.Errorf("%s shows the withheld confidence", path)
		}
	}
	_, sealed := p.call("GET", "/api/predictions/"+id, "", nil)
	for _, field := range []string{"status", "confidence", "baseline", "weight", "resolution", "revealedAt"} {
		if got := dig(sealed, "prediction", field); got != nil {
			t.Errorf("before the close the public sees %s %v", field, got)
		}
	}
	closeMarket(t, "sqlite://"+path, market)
	p.until("/api/predictions/"+id, "", func(a map[string]any) bool {
		return dig(a, "prediction", "status") == "void" && dig(a, "prediction", "baseline", "previous") == 0.4273
	})
}
