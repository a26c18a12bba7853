package reddit_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/news"
	"github.com/pulsecast/pulsecast/app/source/reddit"
)

// feeds stands in for the public feeds. calls lists the requests in order.
type feeds struct {
	calls  []string
	answer func(w http.ResponseWriter, community string)
}

func (f *feeds) start(t *testing.T, clk *clock) *reddit.Atom {
	t.Helper()
	if f.answer == nil {
		f.answer = func(w http.ResponseWriter, community string) { _, _ = io.WriteString(w, feed(community)) }
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		community := strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, "/r/"), "/.rss")
		f.calls = append(f.calls, community)
		f.answer(w, community)
	}))
	t.Cleanup(s.Close)
	return reddit.NewAtom(reddit.AtomConfig{URL: s.URL, Fetch: quick(), Now: clk.now})
}

func feed(community string) string {
	return fmt.Sprintf(`<feed xmlns="http://www.w3.org/2005/Atom"><entry><id>t3_a%s</id><title>T</title><updated>2026-11-20T08:00:00+00:00</updated></entry></feed>`, community)
}

func TestMappingOfFeedEntries(t *testing.T) {
	t.Parallel()
	body, err := os.ReadFile("testdata/feed.xml")
	if err != nil {
		t.Fatal(err)
	}
	f := feeds{answer: func(w http.ResponseWriter, _ string) { _, _ = w.Write(body) }}
	got, err := f.start(t, newClock()).Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Items) != 2 || got.Dropped["no_title"] != 1 || got.Source != "reddit-rss" {
		t.Fatalf("%+v", got)
	}
	for i := range got.Items {
		if len(got.Items[i].Received) != 64 {
			t.Errorf("no hash of the response: %+v", got.Items[i])
		}
		got.Items[i].ObservedAt, got.Items[i].Received = time.Time{}, ""
	}
	if want := (news.Item{
		ID: "bb1", Source: "reddit-rss", Community: "science", Title: "Voles & herons share <b>burrows",
		URL: "https://voles.example/study?a=1&b=2", Permalink: "https://www.reddit.com/r/science/comments/bb1/voles/",
		Author: "vole_watcher", PostedAt: time.Date(2026, 11, 20, 9, 59, 58, 0, time.UTC), Thumbnail: "https://thumbs.example/bb1.jpg",
	}); got.Items[0] != want {
		t.Errorf("got  %+v\nwant %+v", got.Items[0], want)
	}
	if want := (news.Item{
		ID: "bb2", Source: "reddit-rss", Community: "science", Title: "Otters?", Summary: "Why do otters [link]? Asking for a friend.",
		URL: "https://www.reddit.com/r/science/comments/bb2/otters/", Permalink: "https://www.reddit.com/r/science/comments/bb2/otters/",
		Author: "asker", PostedAt: time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC), SelfPost: true, Position: 1,
	}); got.Items[1] != want {
		t.Errorf("got  %+v\nwant %+v", got.Items[1], want)
	}
}

func TestAtomAsksOneCommunityAMinute(t *testing.T) {
	t.Parallel()
	var f feeds
	clk := newClock()
	c := f.start(t, clk)
	for i := range 8 {
		got, err := c.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if want := min(i+1, 6); len(got.Items) != want {
			t.Errorf("read %d: got %d items, want %d", i, len(got.Items), want)
		}
		clk.pass(30 * time.Second)
		if again, err := c.Read(t.Context()); err != nil || len(again.Items) != len(got.Items) {
			t.Errorf("a read within the minute: got %d items, %v", len(again.Items), err)
		}
		clk.pass(30 * time.Second)
	}
	want := append(append([]string{}, news.Communities...), news.Communities[:2]...)
	if strings.Join(f.calls, " ") != strings.Join(want, " ") {
		t.Errorf("got calls %v, want %v", f.calls, want)
	}
}

func TestAtomFailures(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status       int
		body, reason string
	}{
		"forbidden": {403, "<html>", "http_403"},
		"HTML":      {200, "<!doctype html><html>", "parse"},
		"truncated": {200, `<feed xmlns="http://www.w3.org/2005/Atom"><entry><id>t3`, "parse"},
		"not Atom":  {200, "<rss/>", "parse"},
		"unusable":  {200, "<feed><entry/></feed>", "parse"},
		"empty":     {200, "<feed/>", "empty"},
		"down":      {503, "", "http_503"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := feeds{answer: func(w http.ResponseWriter, _ string) {
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			}}
			clk := newClock()
			atom := f.start(t, clk)
			_, err := atom.Read(t.Context())
			if se := wantReason(t, err, c.reason); se.RetryAfter != time.Minute {
				t.Errorf("RetryAfter %v", se.RetryAfter)
			}
			_, err = atom.Read(t.Context())
			wantReason(t, err, c.reason)
			if len(f.calls) != 1 {
				t.Errorf("got %d calls within a minute", len(f.calls))
			}
			clk.pass(time.Minute)
			_, _ = atom.Read(t.Context())
			if len(f.calls) != 2 || f.calls[1] == f.calls[0] {
				t.Errorf("got calls %v, want the next community", f.calls)
			}
		})
	}
}

func TestAtomKeepsWhatItHasForAWhile(t *testing.T) {
	t.Parallel()
	var f feeds
	clk := newClock()
	c := f.start(t, clk)
	for range 6 {
		if _, err := c.Read(t.Context()); err != nil {
			t.Fatal(err)
		}
		clk.pass(time.Minute)
	}
	f.answer = func(w http.ResponseWriter, _ string) {
		w.Header().Set("Retry-After", "90")
		w.WriteHeader(429)
	}
	for i := range 6 {
		got, err := c.Read(t.Context())
		if i < 5 && (err != nil || len(got.Items) != 6) {
			t.Errorf("failure %d: got %d items, %v", i+1, len(got.Items), err)
		}
		if i == 5 {
			if se := wantReason(t, err, "http_429"); se.RetryAfter != 90*time.Second {
				t.Errorf("RetryAfter %v", se.RetryAfter)
			}
		}
		clk.pass(90 * time.Second)
	}
	f.answer = func(w http.ResponseWriter, community string) { _, _ = io.WriteString(w, feed(community)) }
	if got, err := c.Read(t.Context()); err != nil || len(got.Items) != 6 {
		t.Errorf("after the failures: got %d items, %v", len(got.Items), err)
	}
}

// TestAtomReadRarely checks that a failed call doesn't discard the items if Read is called less often than every minute.
func TestAtomReadRarely(t *testing.T) {
	t.Parallel()
	var f feeds
	clk := newClock()
	c := f.start(t, clk)
	if _, err := c.Read(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.answer = func(w http.ResponseWriter, _ string) { w.WriteHeader(http.StatusNotFound) }
	clk.pass(15 * time.Minute)
	got, err := c.Read(t.Context())
	if err != nil || len(got.Items) != 1 {
		t.Fatalf("got %d items, %v", len(got.Items), err)
	}
	wantReason(t, got.Fallback, "http_404")
}

// TestAtomPausedForLong checks that an hour without calls is a failure once the items are old, so that another
// source is asked, and that the reason is known before that.
func TestAtomPausedForLong(t *testing.T) {
	t.Parallel()
	for name, header := range map[string]string{"Retry-After": "3600", "X-Ratelimit-Reset": "3600"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var f feeds
			clk := newClock()
			c := f.start(t, clk)
			if got, err := c.Read(t.Context()); err != nil || got.Fallback != nil {
				t.Fatalf("got %+v, %v", got, err)
			}
			read := clk.now()
			f.answer = func(w http.ResponseWriter, _ string) {
				w.Header().Set(name, header)
				w.WriteHeader(http.StatusTooManyRequests)
			}
			clk.pass(time.Minute)
			for clk.now().Sub(read) <= 12*time.Minute {
				got, err := c.Read(t.Context())
				if err != nil || len(got.Items) != 1 {
					t.Fatalf("after %s: got %d items, %v", clk.now().Sub(read), len(got.Items), err)
				}
				wantReason(t, got.Fallback, "http_429")
				clk.pass(time.Minute)
			}
			_, err := c.Read(t.Context())
			if se := wantReason(t, err, "http_429"); se.RetryAfter != 48*time.Minute || len(f.calls) != 2 {
				t.Errorf("got RetryAfter %s after %d calls, want the rest of the hour after 2", se.RetryAfter, len(f.calls))
			}
			f.answer = func(w http.ResponseWriter, community string) { _, _ = io.WriteString(w, feed(community)) }
			clk.pass(48 * time.Minute)
			if got, err := c.Read(t.Context()); err != nil || got.Fallback != nil || len(got.Items) != 2 {
				t.Errorf("after the pause: got %+v, %v", got, err)
			}
		})
	}
}
