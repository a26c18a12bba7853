package replay

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

type shownMarkets struct {
	Markets []struct {
		ID     string  `json:"id"`
		Volume float64 `json:"volume"`
		EndAt  string  `json:"endDate"`
	} `json:"markets"`
	AsOf  time.Time `json:"asOf"`
	Stale bool      `json:"stale"`
}

type publishedAnswer struct {
	Prediction struct {
		ID        string    `json:"id"`
		URL       string    `json:"url"`
		CreatedAt time.Time `json:"createdAt"`
	} `json:"prediction"`
	ReadAs string `json:"readAs"`
}

func TestWorld(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tape := recordedArchive(t)
	c, stop := serve(t, tape, dir)
	run := c.makeRun(`{"name":"Alpha"}`)
	at := firstDay.Add(60*time.Hour + time.Minute)
	world := prefix(run.Run, writeMoment(at))
	list := read[shownMarkets](c, "GET", world+"/api/intelligence/markets?limit=100", "", "")
	if len(list.Markets) != recordedMarkets-2 || list.Stale || !list.AsOf.Equal(at.Truncate(readEvery)) {
		t.Errorf("got %d markets as of %s, stale %t", len(list.Markets), list.AsOf, list.Stale)
	}
	body := `{"marketId":"m105","confidence":0.8,"thesis":"Because."}`
	first := read[publishedAnswer](c, "POST", world+"/api/predictions", *run.AgentKey, body)
	again := read[publishedAnswer](c, "POST", world+"/api/predictions", *run.AgentKey, body)
	if first != again || !first.Prediction.CreatedAt.Equal(at) || !strings.HasPrefix(first.Prediction.URL, c.base+world+"/predictions/") {
		t.Errorf("published %+v, then %+v", first, again)
	}
	other := read[publishedAnswer](c, "POST", world+"/api/predictions", *run.AgentKey, body, "Idempotency-Key", "k")
	if other.Prediction.ID == first.Prediction.ID {
		t.Error("another idempotency key gave the same prediction")
	}
	if status, text := c.call("GET", world+"/api/predictions", "", ""); status != http.StatusOK || strings.Count(text, `"createdAt"`) != 2 {
		t.Errorf("list: got status %d, %s", status, text)
	}
	if status, text := c.call("GET", world+"/api/health", "", ""); status != http.StatusOK || !strings.Contains(text, `"database":{"ok":true`) {
		t.Errorf("health: got status %d, %s", status, text)
	}
	if status, page := c.call("GET", world+"/predictions", "", ""); status != http.StatusOK || strings.Contains(page, ` href="/markets`) || !strings.Contains(page, ` href="`+world+`/markets`) {
		t.Errorf("page: %d", status)
	}
	stop()
	c, _ = serve(t, tape, dir)
	kept := read[publishedAnswer](c, "POST", strings.Replace(world, c.base, "", 1)+"/api/predictions", *run.AgentKey, body)
	if kept.Prediction.ID != first.Prediction.ID {
		t.Errorf("after a restart: got id %s, want %s", kept.Prediction.ID, first.Prediction.ID)
	}
}

// TestWorldFiles checks that reading at many moments leaves no files, and that a run may publish at
// a limited number of moments.
func TestWorldFiles(t *testing.T) {
	t.Parallel()
	dir, tape := t.TempDir(), recordedArchive(t)
	c, stop := serve(t, tape, dir)
	run := c.makeRun(`{"name":"Alpha"}`)
	noon := firstDay.Add(60 * time.Hour)
	address := func(i int) string {
		return strings.TrimPrefix(prefix(run.Run, writeMoment(noon.Add(time.Duration(i)*time.Minute))), c.base) + "/api/intelligence/markets"
	}
	for i := range openWorlds + 4 {
		read[shownMarkets](c, "GET", address(i), "", "")
	}
	published := prefix(run.Run, writeMoment(noon)) + "/api/predictions"
	read[publishedAnswer](c, "POST", published, *run.AgentKey, `{"marketId":"m105","confidence":0.8,"thesis":"Because."}`)
	shown := read[shownMarkets](c, "GET", address(0), "", "")
	said := func(path string) string {
		_, text := c.call("GET", path, "", "")
		return strings.ReplaceAll(text, c.base, "")
	}
	newsAt := strings.Replace(address(0), "/markets", "/news", 1)
	detail, posts := said(address(0)+"/m105"), said(newsAt)
	worlds := filepath.Join(dir, "runs", run.Run, "worlds")
	full := sizeOf(t, worlds)
	stop()
	files, err := os.ReadDir(worlds)
	if err != nil || len(files) != 1 || !strings.HasSuffix(files[0].Name(), ".db") {
		t.Errorf("files left: %v (error %v), want one", files, err)
	}
	empty, err := os.Stat(filepath.Join(dir, "template.db"))
	if err != nil {
		t.Fatal(err)
	}
	// A kept world is hardly larger than an empty database, however much was observed.
	if n := sizeOf(t, worlds); n > empty.Size()+128<<10 || n > full {
		t.Errorf("the kept world has %d bytes, an empty one %d; while open they had %d", n, empty.Size(), full)
	}
	for i := range maxWorlds {
		if err := os.WriteFile(filepath.Join(worlds, fmt.Sprintf("%d.db", i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, _ = serve(t, tape, dir)
	if status, text := c.call("GET", address(1), "", ""); status != http.StatusUnprocessableEntity || !strings.Contains(text, "Make another run") {
		t.Errorf("a world beyond the limit: got status %d, %s", status, text)
	}
	again := read[shownMarkets](c, "GET", address(0), "", "")
	if len(again.Markets) != len(shown.Markets) || !again.AsOf.Equal(shown.AsOf) || !strings.Contains(detail, "Because.") {
		t.Errorf("a kept world shows %d markets as of %s, before it was closed %d as of %s", len(again.Markets), again.AsOf, len(shown.Markets), shown.AsOf)
	}
	if said(address(0)+"/m105") != detail || said(newsAt) != posts {
		t.Error("a kept world shows another market or other news than before it was closed")
	}
}

// sizeOf adds up the files of a folder, in bytes.
func sizeOf(t *testing.T, dir string) (n int64) {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		info, err := f.Info()
		if err != nil {
			t.Fatal(err)
		}
		n += info.Size()
	}
	return n
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	c, _ := serve(t, recordedArchive(t), t.TempDir())
	run := c.makeRun(`{"name":"Alpha","from":"2031-11-02T00:00:00Z","to":"2031-11-07T00:00:00Z"}`)
	bound := c.makeRun(`{"name":"Beta","bound":true}`)
	if bound.AgentKey != nil {
		t.Error("a bound run has a key for all moments")
	}
	noon := "2031-11-03T12:00:00Z"
	key := read[struct{ AgentKey, BaseURL string }](c, "POST", "/r/"+bound.Run+"/keys", bound.OperatorToken, `{"at":"`+noon+`"}`)
	if status, text := c.call("GET", key.BaseURL+"/api/stats", key.AgentKey, ""); status != http.StatusOK {
		t.Errorf("a bound key at its moment: got status %d, %s", status, text)
	}
	markets := "/api/intelligence/markets"
	for _, x := range []struct {
		path, key string
		status    int
		says      string
	}{
		{prefix(run.Run, "yesterday") + markets, "", 400, "RFC 3339"},
		{prefix(run.Run, "2031-11-03T12:00:00+01:00") + markets, "", 400, "UTC"},
		{prefix(run.Run, "2031-11-01T12:00:00Z") + markets, "", 400, "the span of this run"},
		{prefix(run.Run, "2031-11-07T00:00:00Z") + markets, "", 400, "archive"},
		{prefix("nosuchrun", noon) + markets, "", 404, "There is no run"},
		{prefix(bound.Run, noon) + markets, "", 401, "every request needs"},
		{prefix(bound.Run, "2031-11-03T13:00:00Z") + markets, key.AgentKey, 401, "is for 2031-11-03T12:00:00Z only"},
		{prefix(bound.Run, noon) + "/api/stats", *run.AgentKey, 401, "invalid_credentials"},
		{prefix(bound.Run, "2031-11-05T12:00:00Z") + "/markets/m105", "anything", 401, "not a key of the run"},
		{prefix(bound.Run, "2031-11-05T12:00:00Z") + "/markets/m105", *run.AgentKey, 401, "not a key of the run"},
		{"/r/" + run.Run + "/report", "", 401, "operatorToken"},
		{"/r/" + run.Run + "/report", *run.AgentKey, 401, "operator token"},
		{"/r/" + run.Run + "/report", bound.OperatorToken, 401, "operator token"},
		{prefix(run.Run, noon) + "/api/nothing", "", 404, "nothing at this path"},
		{"/r/" + run.Run + "/at", "", 404, "nothing at this"},
	} {
		status, text := c.call("GET", x.path, x.key, "")
		if status != x.status || !strings.Contains(text, x.says) || !strings.Contains(text, `"code"`) {
			t.Errorf("GET %s: got status %d, %s; want %d with %q", x.path, status, text, x.status, x.says)
		}
	}
	for body, says := range map[string]string{
		`{`: "one JSON object", `{"name":"A","nam":1}`: "nam", `{"name":""}`: "name", `{"name":"A1b","openWeb":"maybe"}`: "openWeb",
		`{"name":"Abc","from":"2031-10-01T00:00:00Z"}`: "from", `{"name":"Abc","to":"soon"}`: "RFC 3339", `{"name":"Abc","filter":{"category":"x"}}`: "filter.category",
		`{"name":"Abc","pairs":[{"market":"m1","at":"2032-01-01T00:00:00Z"}]}`: "pairs[0]",
	} {
		if status, text := c.call("POST", "/r", "", body); status/100 != 4 || !strings.Contains(text, says) {
			t.Errorf("POST /r %s: got status %d, %s; want text %q", body, status, text, says)
		}
	}
}

func BenchmarkWorld(b *testing.B) {
	c, _ := serve(b, recordedArchive(b), b.TempDir())
	run := c.makeRun(`{"name":"Alpha"}`)
	for i := range b.N {
		at := firstDay.Add(60*time.Hour + time.Duration(i)*time.Second)
		if status, text := c.call("GET", prefix(run.Run, writeMoment(at))+"/api/intelligence/markets", "", ""); status != 200 {
			b.Fatal(fmt.Sprint(status, text))
		}
	}
}
