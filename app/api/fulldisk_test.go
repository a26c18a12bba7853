package api_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestFullDisk checks what happens when SQLite can't grow. Publishing is refused as unavailable with
// Retry-After, health says degraded, and reading still works. Publishing works again once there is room.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	s := start(t, backends[0])
	key := s.register(t, "Ada")
	var pages int
	if err := s.DB.NewRaw("PRAGMA page_count").Scan(t.Context(), &pages); err != nil {
		t.Fatal(err)
	}
	limit := func(pages int) {
		t.Helper()
		if _, err := s.DB.ExecContext(t.Context(), fmt.Sprintf("PRAGMA max_page_count = %d", pages)); err != nil {
			t.Fatal(err)
		}
	}
	databaseIs := func(want bool) {
		t.Helper()
		for deadline := time.Now().Add(20 * time.Second); ; {
			health := s.do(t, call{path: "/api/health"})
			database, _ := health.json["database"].(map[string]any)
			if health.status == 200 && database["ok"] == want {
				if !want && health.json["status"] != "degraded" {
					t.Errorf("status %v", health.json["status"])
				}
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("health says %v, want %t", database, want)
			}
		}
	}
	publish := func() answer {
		return s.do(t, call{method: "POST", path: "/api/predictions", bearer: key, body: map[string]any{
			"title": "Will it fit?", "thesis": strings.Repeat("long ", 2000), "confidence": 0.5, "horizonAt": time.Now().AddDate(0, 1, 0).UTC(),
		}})
	}
	limit(pages)
	databaseIs(true)
	refused := publish()
	for tries := 0; refused.status == 200 && tries < 50; tries++ { // uses up the free pages
		refused = publish()
	}
	if refused.status != 503 || refused.json["code"] != "unavailable" || refused.header.Get("Retry-After") == "" {
		t.Fatalf("%d %v", refused.status, refused.json)
	}
	databaseIs(false)
	if list := s.do(t, call{path: "/api/predictions"}); list.status != 200 {
		t.Errorf("reading: %d", list.status)
	}
	limit(1 << 20)
	databaseIs(true)
	if published := publish(); published.status != 200 {
		t.Errorf("with room: %d %v", published.status, published.json)
	}
}
