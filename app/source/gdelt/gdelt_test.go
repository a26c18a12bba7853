package gdelt_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/news"
	"github.com/pulsecast/pulsecast/app/source"
	"github.com/pulsecast/pulsecast/app/source/fetch"
	"github.com/pulsecast/pulsecast/app/source/gdelt"
)

// upstream stands in for GDELT. Its clock moves only while the client sleeps.
type upstream struct {
	client *gdelt.Client

	mu    sync.Mutex
	now   time.Time
	slept []time.Duration
	asked []string // communities in the order of requests, found by words
}

// words map a word of each query to its community.
var words = map[string]string{
	"ceasefire": "worldnews", "semiconductor": "technology", "astronomers": "science", "robotics": "futurology",
	"parliament": "politics", "inflation": "economics",
}

func start(t *testing.T, answer func(w http.ResponseWriter, community string)) *upstream {
	t.Helper()
	u := &upstream{now: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if r.URL.Path != "/api/v2/doc/doc" || q.Get("mode") != "ArtList" || q.Get("format") != "json" || q.Get("maxrecords") != "50" ||
			q.Get("timespan") != "1d" || !strings.HasSuffix(q.Get("query"), ") sourcelang:english") || r.UserAgent() == "" {
			t.Errorf("asked %s", r.URL)
		}
		for word, community := range words {
			if strings.Contains(q.Get("query"), word) {
				u.mu.Lock()
				u.asked = append(u.asked, community)
				u.mu.Unlock()
				answer(w, community)
				return
			}
		}
		t.Errorf("no community has the query %q", q.Get("query"))
	}))
	t.Cleanup(s.Close)
	u.client = gdelt.New(gdelt.Config{
		URL: s.URL + "/", Fetch: fetch.New(fetch.Options{UserAgent: "test"}),
		Now: func() time.Time { u.mu.Lock(); defer u.mu.Unlock(); return u.now },
		Sleep: func(_ context.Context, d time.Duration) error {
			u.mu.Lock()
			defer u.mu.Unlock()
			u.slept, u.now = append(u.slept, d), u.now.Add(d)
			return nil
		},
	})
	return u
}

func TestMapping(t *testing.T) {
	t.Parallel()
	// The file isn't named .json because it isn't valid JSON, like some of GDELT's responses.
	list, err := os.ReadFile("testdata/artlist.txt")
	if err != nil {
		t.Fatal(err)
	}
	u := start(t, func(w http.ResponseWriter, community string) {
		switch community {
		case "worldnews", "politics": // a story in both belongs to the first
			_, _ = w.Write(list)
		default:
			_, _ = io.WriteString(w, "{}") // no matches
		}
	})
	got, err := u.client.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Items) != 2 || got.Source != "gdelt" || !got.ObservedAt.Equal(u.now) {
		t.Fatalf("%+v", got)
	}
	for i := range got.Items {
		if len(got.Items[i].Received) != 64 {
			t.Errorf("no hash of the response: %+v", got.Items[i])
		}
		got.Items[i].ObservedAt, got.Items[i].Received = time.Time{}, ""
	}
	if want := (news.Item{
		ID: "gdelt-d29943619f69ba36e374", Source: "gdelt", Community: "worldnews", Title: "Ferry company's timetable slips again, minister says",
		URL: "https://daily.example/ferries/late-again.html", Permalink: "https://daily.example/ferries/late-again.html",
		Thumbnail: "https://daily.example/ferry.jpg", Author: "daily.example", PostedAt: time.Date(2026, 11, 21, 10, 15, 0, 0, time.UTC),
	}); got.Items[0] != want {
		t.Errorf("got  %+v\nwant %+v", got.Items[0], want)
	}
	if second := got.Items[1]; second.Title != "A backslash and an d in a headline" || second.URL != "https://post.example/path/one" || second.Position != 1 {
		t.Errorf("got %+v", second)
	}
	for _, reason := range []string{"null", "malformed", "no_url", "no_title", "no_date"} {
		if got.Dropped[reason] != 2 {
			t.Errorf("got dropped %v, want two %s", got.Dropped, reason)
		}
	}
	if want := slices.Repeat([]time.Duration{5 * time.Second}, 5); !slices.Equal(u.slept, want) || !slices.Equal(u.asked, news.Communities) {
		t.Errorf("got requests for %v with pauses %v", u.asked, u.slept)
	}
}

const well = `{"articles":[{"url":"https://x.example/%s","title":"T","seendate":"20261121T101500Z"}]}`

// TestEndsEarly checks that the first failure ends a reading, and that the next reading continues there.
func TestEndsEarly(t *testing.T) {
	t.Parallel()
	var broken = "futurology"
	u := start(t, func(w http.ResponseWriter, community string) {
		if community == broken {
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = io.WriteString(w, "Please limit requests to one every 5 seconds")
			return
		}
		_, _ = io.WriteString(w, strings.ReplaceAll(well, "%s", community))
	})
	got, err := u.client.Read(t.Context())
	if err != nil || len(got.Items) != 3 || source.Reason(got.Partial) != "http_429" || len(u.asked) != 4 {
		t.Fatalf("got %v, %v, %v after requests for %v", got.Items, got.Partial, err, u.asked)
	}
	_, err = u.client.Read(t.Context())
	if se, ok := errors.AsType[*source.Error](err); !ok || se.Reason != "http_429" || len(u.asked) != 5 {
		t.Errorf("got %v after requests for %v", err, u.asked)
	}
	broken = ""
	if got, err = u.client.Read(t.Context()); err != nil || len(got.Items) != 6 || got.Partial != nil || got.Items[0].Community != "futurology" {
		t.Errorf("%v, %v", got.Items, err)
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status       int
		body, reason string
		asked        int
	}{
		"down": {503, "", "http_503", 1}, "HTML": {200, "<html>", "parse", 1}, "a sentence": {200, "The specified phrase is too short.\n", "parse", 1},
		"an array": {200, "[]", "parse", 1}, "nothing": {200, "{}", "empty", 6}, "an empty list": {200, `{"articles":[]}`, "empty", 6},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := start(t, func(w http.ResponseWriter, _ string) {
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			})
			_, err := u.client.Read(t.Context())
			if se, ok := errors.AsType[*source.Error](err); !ok || se.Reason != c.reason || len(u.asked) != c.asked {
				t.Errorf("got %v after %d requests, want %s after %d", err, len(u.asked), c.reason, c.asked)
			}
		})
	}
}

// TestShortOfTime checks that a caller with little time gets the items read so far.
func TestShortOfTime(t *testing.T) {
	t.Parallel()
	u := start(t, func(w http.ResponseWriter, community string) {
		_, _ = io.WriteString(w, strings.ReplaceAll(well, "%s", community))
	})
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second) // less time than one pause
	defer cancel()
	if got, err := u.client.Read(ctx); err != nil || len(got.Items) != 1 || got.Partial != nil || len(u.slept) != 0 {
		t.Errorf("got %v, %v after pauses %v", got.Items, err, u.slept)
	}
}
