package app_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// useReplay replays the days that an installation publishes. It needs only the installation's
// address.
func useReplay(t *testing.T, p *process) {
	p.until("/api/data", "", func(answer map[string]any) bool { return dig(answer, "days", 1) != nil })
	r := startProcess(t, nil, "replay", "--archive", p.base, "--addr", "127.0.0.1:0", "--log-format", "off")
	status, made := r.call("POST", "", "", map[string]any{"name": "Replayed"})
	if status != http.StatusOK {
		t.Fatalf("make a run: %d %v\n%s", status, made, r.out)
	}
	from, err := time.Parse(time.RFC3339, made["from"].(string))
	if err != nil {
		t.Fatal(err)
	}
	key, _ := made["agentKey"].(string)
	world := strings.TrimPrefix(strings.Replace(made["baseUrl"].(string), "{T}", from.Add(12*time.Hour).Format(time.RFC3339), 1), r.base)
	status, markets := r.call("GET", world+"/api/intelligence/markets?limit=5", "", nil)
	id, _ := dig(markets, "markets", 0, "id").(string)
	if status != http.StatusOK || id == "" {
		t.Fatalf("markets: %d %v\n%s", status, markets, r.out)
	}
	status, feed := r.call("GET", world+"/api/intelligence/news?limit=5", "", nil)
	if title, _ := dig(feed, "news", 0, "title").(string); status != http.StatusOK || title == "" {
		t.Errorf("news: %d %v", status, feed)
	}
	status, said := r.call("POST", world+"/api/predictions", key, map[string]any{"marketId": id, "confidence": 0.6, "thesis": "Because."})
	if status != http.StatusOK {
		t.Errorf("publish: %d %v", status, said)
	}
	report := strings.TrimPrefix(made["reportUrl"].(string), r.base)
	status, shown := r.call("GET", report, made["operatorToken"].(string), nil)
	if total, _ := dig(shown, "predictions", "total").(float64); status != http.StatusOK || total != 1 {
		t.Errorf("report: %d %v", status, shown)
	}
	open := worldBytes(t, r)
	if code := r.stop(syscall.SIGINT); code != 0 {
		t.Errorf("a stop exits with %d:\n%s", code, r.out)
	}
	kept := worldBytes(t, r)
	t.Logf("the world has %d bytes while it is open, and %d afterwards", open, kept)
	if kept == 0 || kept >= open {
		t.Errorf("the kept world has %d bytes, while it was open %d", kept, open)
	}
	// A backtest reads the same archive by the same address.
	out, err := command(t, nil, "backtest", "--archive", p.base, "--plan", "1").Output()
	var plan struct{ Pairs []any }
	if err != nil || json.Unmarshal(out, &plan) != nil {
		t.Errorf("backtest --plan 1: %v\n%s", err, out)
	}
}

// worldBytes adds up the files of the worlds of a replay.
func worldBytes(t *testing.T, r *process) (n int64) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(r.cmd.Dir, "data/replay/runs/*/worlds/*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		n += info.Size()
	}
	return n
}
