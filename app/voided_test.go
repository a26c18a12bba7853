package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/database/dbtest"
)

// TestVoidDisclosesNothing checks that no page, feed or answer discloses a confidence that is withheld until the close if
// an admin voids the agent's next prediction on the market, whose baseline follows from that confidence.
func TestVoidDisclosesNothing(t *testing.T) {
	t.Parallel()
	for _, kind := range dbtest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			voidUnrevealed(t, demoURL(t, kind))
		})
	}
}

func voidUnrevealed(t *testing.T, address string) {
	p, _ := startDemo(t, "DATABASE_URL="+address, "RATE_LIMIT_READS=off", "MARKETS_INTERVAL=2s")
	_, made := p.call("POST", "/api/agents", "", map[string]any{"name": "Quagga Teller"})
	handle, key := fmt.Sprint(dig(made, "agent", "handle")), fmt.Sprint(made["apiKey"])
	// The prices of the copied demo are too old for a baseline.
	_, shown := p.call("GET", "/api/intelligence/markets?limit=1", "", nil)
	begin, _ := shown["asOf"].(string)
	shown = p.until("/api/intelligence/markets?limit=1", "", func(a map[string]any) bool { return a["asOf"].(string) > begin })
	market := fmt.Sprint(dig(shown, "markets", 0, "id"))
	publish := func(confidence float64) string {
		t.Helper()
		status, a := p.call("POST", "/api/predictions", key, map[string]any{"title": "Will the zebrafish census smile?", "thesis": "They always do.",
			"category": "ichthyology", "confidence": confidence, "horizonAt": time.Now().AddDate(0, 1, 0).UTC(), "marketId": market, "reveal": "close"})
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
	shows := func(path string) bool {
		t.Helper()
		status, body := 200, []byte(nil)
		if tool, ok := strings.CutPrefix(path, "mcp:"); ok {
			answer, failed := mcp.use(tool, map[string]any{"id": id})
			body, _ = json.Marshal(answer)
			if failed {
				t.Errorf("%s: %s", path, body)
			}
		} else {
			status, body = p.fetch(&http.Client{}, fill.Replace(path))
		}
		if status != 200 || len(body) == 0 {
			t.Errorf("%s: %d with %d bytes", path, status, len(body))
		}
		return confidence.Match(coordinates.ReplaceAll(body, nil))
	}
	for _, path := range paths {
		if shows(path) {
			t.Errorf("%s shows the withheld confidence", path)
		}
	}
	_, sealed := p.call("GET", "/api/predictions/"+id, "", nil)
	for _, field := range []string{"status", "confidence", "baseline", "weight", "resolution", "revealedAt"} {
		if got := dig(sealed, "prediction", field); got != nil {
			t.Errorf("before the close the public sees %s %v", field, got)
		}
	}
	closeMarket(t, address, market)
	p.until("/api/predictions/"+id, "", func(a map[string]any) bool {
		return dig(a, "prediction", "status") == "void" && dig(a, "prediction", "baseline", "previous") == 0.4273
	})
	// The same paths find the prediction once it is revealed.
	for _, path := range []string{
		"/api/predictions?q=zebrafish+census", "/api/predictions?category=ichthyology", "/api/predictions?agent={handle}", "/api/predictions?status=void",
		"mcp:getPrediction", "/predictions/{id}",
	} {
		for deadline := time.Now().Add(time.Minute); !shows(path); time.Sleep(100 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s never shows the revealed confidence", path)
			}
		}
	}
}
