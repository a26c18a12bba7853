package web_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/static"
)

// TestServiceWorker checks that the service worker stores exactly the files that the offline page
// loads.
func TestServiceWorker(t *testing.T) {
	t.Parallel()
	h := open(t, dbtest.Open(t, database.SQLite))
	r := h.get("/sw.js")
	if r.status != 200 || r.header.Get("Cache-Control") != "no-cache" || !strings.HasPrefix(r.header.Get("Content-Type"), "text/javascript") {
		t.Fatalf("%d %v", r.status, r.header)
	}
	first, _, _ := strings.Cut(r.body, ";\n")
	var kept struct {
		Cache, Page string
		Files       []string
	}
	if err := json.Unmarshal([]byte(strings.TrimPrefix(first, "const release = ")), &kept); err != nil {
		t.Fatalf("%v: %s", err, first)
	}
	page := h.get(kept.Page)
	if page.status != 200 || page.text("h1") != "No connection" || page.doc.Find(`meta[name=robots][content=noindex]`).Length() != 1 {
		t.Errorf("%s: %d %s", kept.Page, page.status, page.text("main"))
	}
	loaded := map[string]bool{}
	for _, attribute := range []string{"src", "href"} {
		for _, node := range page.doc.Find("head [" + attribute + "]").EachIter() {
			loaded[node.AttrOr(attribute, "")] = true
		}
	}
	for _, path := range kept.Files {
		if _, ok := static.Find(path); !ok || !loaded[path] {
			t.Errorf("stores %s, which the page doesn't load", path)
		}
		delete(loaded, path)
	}
	if len(loaded) > 0 || !strings.HasPrefix(kept.Cache, "offline-") {
		t.Errorf("the cache name %q doesn't depend on %v", kept.Cache, loaded)
	}
	if again := open(t, dbtest.Open(t, database.SQLite)).get("/sw.js"); again.body != r.body {
		t.Error("the same release has another service worker")
	}
}
