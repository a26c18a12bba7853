package sourcetest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/source/fetch"
	"github.com/pulsecast/pulsecast/app/source/sourcetest"
	"github.com/pulsecast/pulsecast/app/source/upstream"
)

var now = time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)

func start(t *testing.T, s *sourcetest.Server) config.Config {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	cfg := config.Default()
	cfg.PolymarketURL, cfg.PolymarketClobURL, cfg.GDELTURL, cfg.HackerNewsURL = server.URL, server.URL, server.URL, server.URL
	cfg.RedditAuthURL, cfg.RedditAPIURL, cfg.RedditRSSURL = server.URL, server.URL, server.URL
	cfg.RedditClientID, cfg.RedditClientSecret = "id", "secret"
	return cfg
}

// TestClientsReadTheServer checks that the real clients find the records that were set, over several pages.
func TestClientsReadTheServer(t *testing.T) {
	t.Parallel()
	s := sourcetest.New()
	for i := range 250 {
		s.SetMarket(fmt.Sprintf("m%03d", i), map[string]any{"volumeNum": i})
	}
	s.SetMarket("m007", map[string]any{"closed": true})
	cfg := start(t, s)
	client := upstream.Markets(&cfg, nil, time.Now, fetch.Options{})
	top, err := client.Top(t.Context(), 1000)
	if err != nil || len(top.Markets) != 249 || top.Markets[0].ID != "m249" || top.Markets[248].ID != "m000" {
		t.Errorf("got %d markets, %v", len(top.Markets), err)
	}
	named, err := client.ByID(t.Context(), []string{"m007", "m001", "none"})
	if err != nil || len(named.Markets) != 2 || !named.Markets[0].Closed || named.Markets[1].Closed {
		t.Errorf("by id: got %+v, %v", named.Markets, err)
	}
	s.BreakWith(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) })
	if _, err := client.ByID(t.Context(), []string{"m001"}); err == nil {
		t.Error("a broken server answers")
	}
	s.BreakWith(nil)
	if _, err := client.ByID(t.Context(), []string{"m001"}); err != nil {
		t.Error("a repaired server:", err)
	}
}

var files = fstest.MapFS{
	"markets.json": {Data: []byte(`[
		{"id": "1", "question": "Old", "updatedAt": "2026-01-10T10:00:00Z", "endDate": "2026-01-12T12:00:00Z", "closedTime": "2026-01-11 01:02:03+00"},
		{"id": "2", "question": "On 2026-01-10?", "updatedAt": "2026-01-09T10:00:00Z", "endDate": "2026-01-12"}, null, "odd", {"question": "No id"}]`)},
	"later.json": {Data: []byte(`{"id": "1", "question": "New", "updatedAt": "2026-03-01T08:00:00Z", "endDate": "2026-03-05T12:00:00Z"}`)},
	"deep/events.json": {Data: []byte(`{"events": [{"id": "7", "title": "Which one?", "updatedAt": "2026-11-22T08:00:00Z", "tags": [{"slug": "crypto"}],
		"markets": [{"id": "3", "question": "This one?", "outcomes": "[\"Yes\",\"No\"]", "volumeNum": 9}]}]}`)},
	"book.json": {Data: []byte(`{"condition_id": "0xa", "tokens": [{"outcome": "Yes", "winner": true}]}`)},
	"posts.json": {Data: []byte(`[{"kind": "t3", "data": {"id": "p1", "subreddit": "Futurology", "title": "A post", "created_utc": 1500000000.0,
		"author": "ada", "permalink": "/r/Futurology/comments/p1/", "url": "https://a.example/x", "score": 5}}]`)},
	"stories.json":   {Data: []byte(`{"hits": [{"objectID": "5", "title": "A story"}]}`)},
	"PROVENANCE.txt": {Data: []byte("not JSON")},
}

func get(t *testing.T, s http.Handler, path string) (body any) {
	t.Helper()
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
		t.Fatalf("%s: got %d %v", path, w.Code, err)
	}
	return body
}

func TestLoad(t *testing.T) {
	t.Parallel()
	s := sourcetest.New()
	got, err := s.Load(files, now)
	if want := (sourcetest.Contents{Markets: 3, Events: 1, Posts: 2}); err != nil || got != want {
		t.Fatalf("got contents %+v, %v, want %+v", got, err, want)
	}
	for path, want := range map[string]string{
		"/markets?id=1": `[{"id":"1","question":"New","updatedAt":"2026-11-22T08:00:00Z","endDate":"2026-11-26T12:00:00Z"}]`,
		"/markets?id=2": `[{"id":"2","question":"On 2026-01-10?","updatedAt":"2026-11-20T10:00:00Z","endDate":"2026-11-23"}]`,
		"/markets?id=3": `[{"id":"3","question":"This one?","outcomes":"[\"Yes\",\"No\"]","volumeNum":9,
			"events":[{"id":"7","title":"Which one?","updatedAt":"2026-11-22T08:00:00Z"}]}]`,
		"/events/keyset?id=7&id=8": `{"events":[{"id":"7","title":"Which one?","updatedAt":"2026-11-22T08:00:00Z","tags":[{"slug":"crypto"}]}]}`,
		"/markets/0xa":             `{"condition_id":"0xa","tokens":[{"outcome":"Yes","winner":true}]}`,
		"/api/v1/search":           `{"hits":[{"objectID":"5","title":"A story"}]}`,
		"/r/worldnews/hot":         `{"kind":"Listing","data":{"after":null,"children":[]}}`,
	} {
		var expected any
		if err := json.Unmarshal([]byte(want), &expected); err != nil {
			t.Fatal(err)
		}
		if body := get(t, s, path); !reflect.DeepEqual(body, expected) {
			t.Errorf("%s\ngot  %v\nwant %v", path, body, expected)
		}
	}
	if page := fmt.Sprint(get(t, s, "/markets/keyset?include_tag=true&limit=1")); !strings.Contains(page, "slug:crypto") || !strings.Contains(page, "next_cursor:1") {
		t.Errorf("first page with include_tag: got %s", page)
	}
}

// TestNewsOfARecording reads a recording through Reddit's API and through the feeds.
func TestNewsOfARecording(t *testing.T) {
	t.Parallel()
	s := sourcetest.New()
	if _, err := s.Load(files, now); err != nil {
		t.Fatal(err)
	}
	cfg := start(t, s)
	for _, member := range upstream.News(&cfg, nil, time.Now, fetch.Options{})[:1] {
		got, err := member.Source.Read(t.Context())
		if err != nil || len(got.Items) != 1 || got.Items[0].Title != "A post" || got.Items[0].Community != "futurology" {
			t.Fatalf("%s: got %+v, %v", member.Name, got.Items, err)
		}
		if age := now.Sub(got.Items[0].PostedAt); age < 0 || age >= 24*time.Hour || got.Items[0].PostedAt.Unix()%86400 != 1500000000%86400 {
			t.Errorf("%s: got posted at %s", member.Name, got.Items[0].PostedAt)
		}
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/r/futurology/.rss", nil))
	for _, part := range []string{"<title>A post</title>", "<name>/u/ada</name>", "https://a.example/x"} {
		if !strings.Contains(w.Body.String(), part) {
			t.Errorf("the feed has no %s: %s", part, w.Body)
		}
	}
}

func TestLoadNamesTheFileItCannotRead(t *testing.T) {
	t.Parallel()
	_, err := sourcetest.New().Load(fstest.MapFS{"half.json": {Data: []byte(`[{`)}}, now)
	if err == nil || !strings.Contains(err.Error(), "half.json") {
		t.Error(err)
	}
}

// TestLoadTheSmallPayloads checks that the payloads beside the clients are enough to start with.
func TestLoadTheSmallPayloads(t *testing.T) {
	t.Parallel()
	got, err := sourcetest.New().Load(os.DirFS(".."), now)
	if err != nil || got.Markets < 3 || got.Posts < 3 {
		t.Errorf("%+v, %v", got, err)
	}
}
