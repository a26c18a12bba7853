package hackernews_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/news"
	"github.com/pulsecast/pulsecast/app/source"
	"github.com/pulsecast/pulsecast/app/source/fetch"
	"github.com/pulsecast/pulsecast/app/source/hackernews"
)

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func start(t *testing.T, answer func(w http.ResponseWriter, frontPage bool)) *hackernews.Client {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		front := q.Get("tags") == "front_page"
		science := q.Get("tags") == "story" && q.Get("query") == "science" && strings.Contains(q.Get("numericFilters"), "created_at_i>1794657600")
		if r.URL.Path != "/api/v1/search" || front == science {
			t.Errorf("asked %s", r.URL)
		}
		answer(w, front)
	}))
	t.Cleanup(s.Close)
	return hackernews.New(hackernews.Config{URL: s.URL + "/", Now: func() time.Time { return now },
		Fetch: fetch.New(fetch.Options{Sleep: func(context.Context, time.Duration) error { return nil }})})
}

func TestMapping(t *testing.T) {
	t.Parallel()
	front, err := os.ReadFile("testdata/front_page.json")
	if err != nil {
		t.Fatal(err)
	}
	got, err := start(t, func(w http.ResponseWriter, frontPage bool) {
		if frontPage {
			_, _ = w.Write(front)
			return
		}
		_, _ = io.WriteString(w, `{"hits":[{"objectID":"102","title":"The science of voles","points":50,"created_at_i":1790000000}]}`)
	}).Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Items) != 3 || got.Source != "hackernews" || got.ObservedAt.IsZero() {
		t.Fatalf("%+v", got)
	}
	for i := range got.Items {
		if len(got.Items[i].Received) != 64 {
			t.Errorf("no hash of the response: %+v", got.Items[i])
		}
		got.Items[i].ObservedAt, got.Items[i].Received = time.Time{}, ""
	}
	if science := got.Items[0]; science.ID != "hn-102" || science.Community != "science" {
		t.Errorf("a story in both searches must be in science: got %+v", science)
	}
	if want := (news.Item{
		ID: "hn-101", Source: "hackernews", Community: "technology", Title: "A ferry timetable in 4 KB", Score: 321, Comments: 45, ScoreKnown: true,
		URL: "https://ferry.example/4kb", Permalink: "https://news.ycombinator.com/item?id=101", Author: "omber", PostedAt: time.Unix(1790000000, 0).UTC(),
	}); got.Items[1] != want {
		t.Errorf("got  %+v\nwant %+v", got.Items[1], want)
	}
	ask := got.Items[2]
	if !ask.SelfPost || ask.URL != ask.Permalink || ask.Summary != "I'd like to know. Thanks & bye." || ask.ScoreKnown || ask.Position != 1 {
		t.Errorf("got %+v", ask)
	}
	for _, reason := range []string{"null", "malformed", "no_id", "no_title", "no_date"} {
		if got.Dropped[reason] != 1 {
			t.Errorf("got dropped %v, want one %s", got.Dropped, reason)
		}
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	well := `{"hits":[{"objectID":"1","title":"T","created_at_i":1790000000}]}`
	for name, c := range map[string]struct {
		status       int
		body, reason string
	}{
		"down": {503, "", "http_503"}, "HTML": {200, "<html>", "parse"}, "no hits": {200, "{}", "parse"}, "empty": {200, `{"hits":[]}`, "empty"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			broken := func(w http.ResponseWriter) {
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			}
			_, err := start(t, func(w http.ResponseWriter, _ bool) { broken(w) }).Read(t.Context())
			if se, ok := errors.AsType[*source.Error](err); !ok || se.Reason != c.reason {
				t.Errorf("got %v, want %s", err, c.reason)
			}
			got, err := start(t, func(w http.ResponseWriter, frontPage bool) {
				if frontPage {
					_, _ = io.WriteString(w, well)
					return
				}
				broken(w)
			}).Read(t.Context())
			if err != nil || len(got.Items) != 1 || (name != "empty" && source.Reason(got.Partial) != c.reason) {
				t.Errorf("one search fails: got %v, %v, %v", got.Items, got.Partial, err)
			}
		})
	}
}

func TestPosts(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if q := r.URL.Query(); r.URL.Path != "/api/v1/search" || q.Get("tags") != "story,(story_101,story_102)" || q.Get("hitsPerPage") != "2" {
			t.Errorf("asked %s", r.URL)
		}
		_, _ = io.WriteString(w, `{"hits":[{"objectID":"102"}]}`)
	}))
	t.Cleanup(s.Close)
	there, deleted, err := hackernews.New(hackernews.Config{URL: s.URL}).Posts(t.Context(), []string{"hn-101", "hn-102"})
	if err != nil || len(deleted) != 0 || !slices.Equal(there, []string{"hn-102"}) {
		t.Errorf("got existing %q, deleted %q, %v", there, deleted, err)
	}
}
