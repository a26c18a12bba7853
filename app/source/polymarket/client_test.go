package polymarket_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/source"
	"github.com/pulsecast/pulsecast/app/source/fetch"
	"github.com/pulsecast/pulsecast/app/source/polymarket"
)

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// upstream stands in for Gamma and the order book, and records its requests.
type upstream struct {
	mu    sync.Mutex
	asked []*url.URL
}

func (u *upstream) start(t *testing.T, answer func(n int, r *http.Request) (status int, body string)) *polymarket.Client {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		u.mu.Lock()
		u.asked = append(u.asked, r.URL)
		n := len(u.asked)
		u.mu.Unlock()
		status, body := answer(n, r)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	return client(s.URL)
}

func client(address string) *polymarket.Client {
	return polymarket.New(polymarket.Config{
		GammaURL: address + "/", ClobURL: address, Now: func() time.Time { return now },
		Fetch: fetch.New(fetch.Options{
			AttemptTimeout: 5 * time.Second,
			Sleep:          func(context.Context, time.Duration) error { return nil },
		}),
	})
}

func record(id int, volume string) string {
	return fmt.Sprintf(`{"id":"%d","question":"Question %d?","outcomes":"[\"Yes\",\"No\"]","volumeNum":%s,"active":true}`, id, id, volume)
}

func keyset(cursor string, records ...string) string {
	body := `{"markets":[` + strings.Join(records, ",") + `]`
	if cursor != "" {
		body += `,"next_cursor":"` + cursor + `"`
	}
	return body + "}"
}

func ids(ms []market.Market) string {
	var out []string
	for _, m := range ms {
		out = append(out, m.ID)
	}
	return strings.Join(out, " ")
}

func wantReason(t *testing.T, err error, reason string) {
	t.Helper()
	if se, ok := errors.AsType[*source.Error](err); !ok || se.Reason != reason {
		t.Fatalf("got error %v, want a *source.Error with reason %q", err, reason)
	}
}

func TestTopPages(t *testing.T) {
	t.Parallel()
	pages := map[string]string{
		"":   keyset("c1", record(1, "50"), record(2, "40")), // short, but not the last page
		"c1": keyset("c2", record(2, "39"), record(3, "60"), "null", record(5, "null")),
		"c2": keyset("", record(4, "40"), record(6, "null")),
	}
	var u upstream
	c := u.start(t, func(_ int, r *http.Request) (int, string) { return 200, pages[r.URL.Query().Get("after_cursor")] })
	got, err := c.Top(t.Context(), 500)
	if err != nil {
		t.Fatal(err)
	}
	if ids(got.Markets) != "3 1 2 4 5 6" {
		t.Errorf("order %s", ids(got.Markets))
	}
	if *got.Markets[2].Volume != 40 {
		t.Error("the second record of market 2 replaced the first")
	}
	if got.Dropped["null"] != 1 || len(got.Dropped) != 1 || !got.ObservedAt.Equal(now) {
		t.Errorf("got dropped %v at %v", got.Dropped, got.ObservedAt)
	}
	if len(u.asked) != 3 {
		t.Fatalf("got %d requests", len(u.asked))
	}
	for _, asked := range u.asked {
		q := asked.Query()
		if asked.Path != "/markets/keyset" || q.Get("order") != "volumeNum" || q.Get("ascending") != "false" ||
			q.Get("closed") != "false" || q.Get("limit") != "100" || q.Has("cursor") || q.Has("offset") {
			t.Errorf("asked %s", asked)
		}
	}
}

// TestReadingsOfACache checks that the records of a response are dated when the source made it, although a cache sends
// it later.
func TestReadingsOfACache(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		switch {
		case r.URL.Path == "/events/keyset":
			w.Header().Set("Age", "20")
			_, _ = io.WriteString(w, `{"events":[{"id":"e1","title":"One"}]}`)
		case r.URL.Path == "/markets" && q.Get("closed") == "true":
			_, _ = io.WriteString(w, `[]`)
		case r.URL.Path == "/markets" || q.Get("after_cursor") == "c1":
			w.Header().Set("Age", "300")
			_, _ = io.WriteString(w, keyset("", `{"id":"2","question":"Two?","outcomes":["Yes","No"],"events":[{"id":"e2","title":"Two"}]}`))
		default:
			_, _ = io.WriteString(w, keyset("c1", record(1, "50")))
		}
	}))
	t.Cleanup(s.Close)
	c := client(s.URL)
	top, err := c.Top(t.Context(), 500)
	if err != nil || ids(top.Markets) != "1 2" || !top.Markets[0].ObservedAt.Equal(now) || !top.ObservedAt.Equal(now) {
		t.Fatalf("got %+v, %v", top, err)
	}
	old := now.Add(-5 * time.Minute)
	if m, e := top.Markets[1], top.Events[0]; !m.ObservedAt.Equal(old) || !m.FirstSeenAt.Equal(old) || !e.UpdatedAt.Equal(old) {
		t.Errorf("a page of a cache: got the market of %v, first seen at %v, and the event of %v", m.ObservedAt, m.FirstSeenAt, e.UpdatedAt)
	}
	named, err := c.ByID(t.Context(), []string{"2"})
	if err != nil || ids(named.Markets) != "2" || !named.Markets[0].ObservedAt.Equal(old) {
		t.Errorf("by id: got %+v, %v", named, err)
	}
	events, err := c.Events(t.Context(), []string{"e1"})
	if err != nil || !events[0].UpdatedAt.Equal(now.Add(-20*time.Second)) {
		t.Errorf("events: got %+v, %v", events, err)
	}
}

func TestTopStops(t *testing.T) {
	t.Parallel()
	many := func(from, n int) []string {
		var out []string
		for i := range n {
			out = append(out, record(from+i, fmt.Sprint(100000-from-i)))
		}
		return out
	}
	cases := []struct {
		name     string
		n        int
		answer   func(n int) string
		requests int
		markets  int
		reason   string
	}{
		{"at n", 150, func(n int) string { return keyset(fmt.Sprint("c", n), many(n*100, 100)...) }, 2, 150, ""},
		{"at a repeated cursor", 500, func(n int) string { return keyset("same", many(n*100, 100)...) }, 2, 200, ""},
		{"at an earlier cursor", 500, func(n int) string { return keyset(fmt.Sprint("c", n%2), many(n*100, 10)...) }, 3, 30, ""},
		{"at an empty page with a cursor", 500, func(int) string { return keyset("c") }, 1, 0, "empty"},
		{"at an empty answer", 500, func(int) string { return `{"markets":[]}` }, 1, 0, "empty"},
		{"at an empty array", 500, func(int) string { return `[]` }, 1, 0, "empty"},
		{"at null cursor", 500, func(int) string { return `{"markets":[` + record(1, "1") + `],"next_cursor":null}` }, 1, 1, ""},
		{"without usable records", 500, func(int) string { return keyset("", "null", "{}") }, 1, 0, "empty"},
		{"never ends", 100, func(n int) string { return keyset(fmt.Sprint("c", n), record(1, "1")) }, 24, 0, "cursor"},
		{"at an object without markets", 500, func(int) string { return `{"error":"x"}` }, 1, 0, "parse"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var u upstream
			client := u.start(t, func(n int, _ *http.Request) (int, string) { return 200, c.answer(n) })
			got, err := client.Top(t.Context(), c.n)
			if len(u.asked) != c.requests {
				t.Errorf("got %d requests, want %d", len(u.asked), c.requests)
			}
			if c.reason != "" {
				wantReason(t, err, c.reason)
				return
			}
			if err != nil || len(got.Markets) != c.markets {
				t.Errorf("got %d markets, %v; want %d", len(got.Markets), err, c.markets)
			}
		})
	}
}

func TestTopFails(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, body, reason string
		status             int
	}{
		{"server error", "{}", "http_500", 500},
		{"too many requests", "<html>slow down", "http_429", 429},
		{"validation error", `{"type":"validation error","error":"bad"}`, "http_422", 422},
		{"HTML", "<!DOCTYPE html>", "parse", 200},
		{"truncated", `{"markets":[{"id":`, "parse", 200},
		{"a number", `5`, "parse", 200},
	}
	for _, c := range cases {
		for _, failing := range []int{1, 2} {
			t.Run(fmt.Sprintf("%s on page %d", c.name, failing), func(t *testing.T) {
				t.Parallel()
				var u upstream
				client := u.start(t, func(n int, _ *http.Request) (int, string) {
					if n >= failing {
						return c.status, c.body
					}
					return 200, "\xef\xbb\xbf" + keyset("c1", record(1, "1"))
				})
				got, err := client.Top(t.Context(), 500)
				wantReason(t, err, c.reason)
				if got.Markets != nil {
					t.Error("half a snapshot")
				}
			})
		}
	}
}

func TestTopDownAndHanging(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	t.Cleanup(s.Close)
	hanging := polymarket.New(polymarket.Config{GammaURL: s.URL,
		Fetch: fetch.New(fetch.Options{AttemptTimeout: 30 * time.Millisecond, Tries: 1})})
	_, err := hanging.Top(t.Context(), 100)
	wantReason(t, err, "timeout")

	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	_, err = client(gone.URL).Top(t.Context(), 100)
	wantReason(t, err, "refused")
}

func TestTopOfOwnPage(t *testing.T) {
	t.Parallel()
	body, err := os.ReadFile("testdata/page.json")
	if err != nil {
		t.Fatal(err)
	}
	var u upstream
	got, err := u.start(t, func(int, *http.Request) (int, string) { return 200, string(body) }).Top(t.Context(), 100)
	if err != nil {
		t.Fatal(err)
	}
	if ids(got.Markets) != "9001 9002 9006" {
		t.Errorf("markets %s", ids(got.Markets))
	}
	want := source.Dropped{"null": 1, "no_question": 1, "no_id": 1, "few_outcomes": 1, "closed": 1, "malformed": 1}
	if fmt.Sprint(got.Dropped) != fmt.Sprint(want) {
		t.Errorf("got dropped %v, want %v", got.Dropped, want)
	}
	m := got.Markets[0]
	if m.Title != m.Question || m.EventTitle != "When will the Lake Omber ferry run?" || m.EventSlug != "omber-ferry" || m.URL != "https://polymarket.com/event/omber-ferry" || *m.Price != 0.63 {
		t.Errorf("got %+v", m)
	}
}

func TestByID(t *testing.T) {
	t.Parallel()
	var u upstream
	c := u.start(t, func(_ int, r *http.Request) (int, string) {
		q := r.URL.Query()
		var out []string
		for _, id := range q["id"] {
			switch {
			case id == "404":
			case id == "2" && q.Get("closed") == "true", id != "2" && q.Get("closed") == "false":
				out = append(out, strings.Replace(record(0, "1"), `"id":"0"`, `"id":"`+id+`","closed":`+q.Get("closed"), 1))
			}
		}
		out = append(out, record(777777, "1")) // the filter was ignored
		return 200, "[" + strings.Join(out, ",") + "]"
	})
	got, err := c.ByID(t.Context(), []string{"3", "2", "404", "3", "", "../x"})
	if err != nil {
		t.Fatal(err)
	}
	if ids(got.Markets) != "3 2" || got.Markets[0].Closed || !got.Markets[1].Closed {
		t.Errorf("markets %s", ids(got.Markets))
	}
	if got.Dropped["not_asked"] != 2 {
		t.Errorf("dropped %v", got.Dropped)
	}
	if len(u.asked) != 2 || !slices.Equal(u.asked[0].Query()["id"], []string{"3", "2", "404"}) || u.asked[0].Path != "/markets" {
		t.Errorf("asked %v", u.asked)
	}
}

// TestByIDPartly checks that a failed page doesn't lose the markets of earlier pages.
func TestByIDPartly(t *testing.T) {
	t.Parallel()
	var u upstream
	c := u.start(t, func(_ int, r *http.Request) (int, string) {
		q := r.URL.Query()
		switch {
		case slices.Contains(q["id"], "150"):
			return http.StatusForbidden, ""
		case q.Get("closed") == "true":
			return 200, "[]"
		}
		return 200, "[" + record(7, "1") + "]"
	})
	var asked []string
	for i := range 200 {
		asked = append(asked, fmt.Sprint(i))
	}
	got, err := c.ByID(t.Context(), asked)
	if err == nil || ids(got.Markets) != "7" {
		t.Errorf("markets %s, %v; want 7 and an error", ids(got.Markets), err)
	}
}

// TestByIDOnFailure checks that a batch which fails doesn't keep the others from being read, that a few bad ids cost
// only themselves, and that a failure which isn't about the batch ends the read.
func TestByIDOnFailure(t *testing.T) {
	t.Parallel()
	var asked []string
	for i := range 1050 {
		asked = append(asked, fmt.Sprint(i))
	}
	bad := func(status int, bad ...string) func([]string) int {
		return func(batch []string) int {
			if slices.ContainsFunc(bad, func(id string) bool { return slices.Contains(batch, id) }) {
				return status
			}
			return 200
		}
	}
	for name, c := range map[string]struct {
		answer  func(batch []string) int // the status; 0 closes the connection
		after   string                   // Retry-After of a failure
		reason  string
		pause   time.Duration
		read    int // how many markets
		batches int // the most that are asked for
	}{
		"one bad id":              {answer: bad(403, "50"), reason: "http_403", read: 1049, batches: 11 + 14},
		"the first id":            {answer: bad(500, "0"), reason: "http_500", read: 1049, batches: 11 + 14},
		"a bad id of two batches": {answer: bad(400, "0", "150"), reason: "http_400", read: 1048, batches: 11 + 28},
		"a bad id of each batch": {answer: bad(400, "0", "150", "299", "349", "450", "550", "650", "750", "850", "950", "1049"),
			reason: "http_400", batches: 4},
		"every batch":       {answer: func([]string) int { return 500 }, reason: "http_500", batches: 4},
		"too many requests": {answer: bad(429, "150"), reason: "http_429", read: 100, batches: 2},
		"a pause":           {answer: bad(503, "150"), after: "60", reason: "http_503", pause: time.Minute, read: 100, batches: 2},
		"no connection":     {answer: bad(0, "150"), reason: "unreachable", read: 100, batches: 2},
		"a pause after another failure": {answer: func(batch []string) int {
			return max(bad(400, "50")(batch), bad(429, "150")(batch))
		}, after: "60", reason: "http_429", pause: time.Minute, batches: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			batches := map[string]bool{}
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				batch := r.URL.Query()["id"]
				mu.Lock()
				batches[strings.Join(batch, " ")] = true
				mu.Unlock()
				status := c.answer(batch)
				if status == 0 {
					panic(http.ErrAbortHandler)
				}
				if status == 429 || status == 503 {
					w.Header().Set("Retry-After", c.after)
				}
				w.WriteHeader(status)
				var out []string
				if r.URL.Query().Get("closed") == "false" {
					for _, id := range batch {
						out = append(out, `{"id":"`+id+`","question":"Q?","outcomes":["Yes","No"]}`)
					}
				}
				_, _ = io.WriteString(w, "["+strings.Join(out, ",")+"]")
			}))
			t.Cleanup(s.Close)
			got, err := client(s.URL).ByID(t.Context(), asked)
			wantReason(t, err, c.reason)
			if se, _ := errors.AsType[*source.Error](err); se.RetryAfter != c.pause {
				t.Errorf("got the pause %s, want %s", se.RetryAfter, c.pause)
			}
			if len(got.Markets) != c.read || len(got.Missing) != 0 || len(batches) > c.batches {
				t.Errorf("got %d markets with %d batches, missing %v; want %d with at most %d", len(got.Markets), len(batches), got.Missing, c.read, c.batches)
			}
		})
	}
}

func TestByIDTakesTheClosedAnswer(t *testing.T) {
	t.Parallel()
	var u upstream
	c := u.start(t, func(_ int, r *http.Request) (int, string) {
		return 200, "[" + strings.Replace(record(1, "1"), `{`, `{"closed":`+r.URL.Query().Get("closed")+`,`, 1) + "]"
	})
	got, err := c.ByID(t.Context(), []string{"1"})
	if err != nil || len(got.Markets) != 1 || !got.Markets[0].Closed {
		t.Errorf("%+v, %v", got.Markets, err)
	}
}

// TestByIDWithoutState checks that a record which doesn't say whether its market is closed has the state that was asked
// for, so that a settled market doesn't reopen. A record that says otherwise counts.
func TestByIDWithoutState(t *testing.T) {
	t.Parallel()
	for closed, want := range map[string]bool{"": true, `"closed":null,`: true, `"closed":"perhaps",`: true, `"closed":{},`: true, `"closed":false,`: false} {
		var u upstream
		c := u.start(t, func(_ int, r *http.Request) (int, string) {
			if r.URL.Query().Get("closed") != "true" {
				return 200, "[" + record(2, "1") + "]"
			}
			return 200, "[" + strings.Replace(record(1, "1"), "{", "{"+closed, 1) + "]"
		})
		got, err := c.ByID(t.Context(), []string{"1", "2"})
		if err != nil || ids(got.Markets) != "1 2" || got.Markets[0].Closed != want || got.Markets[0].Active == want || got.Markets[1].Closed {
			t.Errorf("with %s in the answer to closed=true: got %+v, %v", closed, got.Markets, err)
		}
	}
}

// TestByIDMissing checks that an id counts as missing only if no record of the answers can be its own.
func TestByIDMissing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		second string
		want   []string
	}{
		"other ids":            {record(1, "1"), []string{"2", "3"}},
		"a dropped record":     {`{"id":"2","question":"Q?"}`, []string{"3"}},
		"no record":            {"null", nil},
		"a record without id":  {`{"question":"Q?"}`, nil},
		"a record with no key": {`{"id":"../2","question":"Q?"}`, nil},
		"not what was asked":   {record(9, "1"), nil},
	} {
		var u upstream
		client := u.start(t, func(_ int, r *http.Request) (int, string) {
			if r.URL.Query().Get("closed") == "true" {
				return 200, "[]"
			}
			return 200, "[" + record(1, "1") + "," + c.second + "]"
		})
		got, err := client.ByID(t.Context(), []string{"1", "2", "3"})
		if err != nil || ids(got.Markets) != "1" || !slices.Equal(got.Missing, c.want) {
			t.Errorf("%s: missing %v, markets %s, %v", name, got.Missing, ids(got.Markets), err)
		}
	}
}

func TestByIDBatches(t *testing.T) {
	t.Parallel()
	var u upstream
	c := u.start(t, func(int, *http.Request) (int, string) { return 200, "[]" })
	var short, long []string
	for i := range 250 {
		short = append(short, fmt.Sprint(i))
		long = append(long, fmt.Sprintf("%060d", i))
	}
	if _, err := c.ByID(t.Context(), append(short, long...)); err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, asked := range u.asked {
		if len(asked.Query()["id"]) > 100 || len(asked.String()) > 8000 {
			t.Errorf("%d ids in %d bytes", len(asked.Query()["id"]), len(asked.String()))
		}
		for _, id := range asked.Query()["id"] {
			seen[id]++
		}
	}
	for _, id := range append(short, long...) {
		if seen[id] != 2 {
			t.Fatalf("id %s was requested %d times, want once open and once closed", id, seen[id])
		}
	}
	if got, err := c.ByID(t.Context(), nil); err != nil || len(got.Markets) != 0 {
		t.Errorf("no ids: got %v, %v", got, err)
	}
}

func TestWinner(t *testing.T) {
	t.Parallel()
	book := func(tokens string) string { return `{"condition_id":"0xC","tokens":[` + tokens + `]}` }
	cases := []struct {
		name   string
		status int
		body   string
		want   int
		ok     bool
		reason string
	}{
		{"by name", 200, book(`{"outcome":"No","token_id":"71","winner":true},{"outcome":"Yes","token_id":"72","winner":false}`), 1, true, ""},
		{"by name in another letter case", 200, book(`null,{"outcome":" yes ","winner":true}`), 0, true, ""},
		{"by token", 200, book(`{"outcome":"Nope","token_id":"72","winner":true}`), 1, true, ""},
		{"unknown token", 200, book(`{"outcome":"Nope","token_id":"99","winner":true}`), 0, false, ""},
		{"none yet", 200, book(`{"outcome":"No","winner":false},{"outcome":"Yes"}`), 0, false, ""},
		{"two", 200, book(`{"outcome":"No","winner":true},{"outcome":"Yes","winner":true}`), 0, false, ""},
		{"no tokens", 200, `{}`, 0, false, ""},
		{"another market", 200, `{"condition_id":"0xD","tokens":[{"outcome":"Yes","winner":true}]}`, 0, false, "parse"},
		{"unknown market", 404, `{"error":"market not found"}`, 0, false, ""},
		{"down", 503, ``, 0, false, "http_503"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var u upstream
			client := u.start(t, func(int, *http.Request) (int, string) { return c.status, c.body })
			m := &market.Market{ConditionID: "0xc", Outcomes: []string{"Yes", "No"}, TokenIDs: []string{"71", "72"}}
			got, ok, err := client.Winner(t.Context(), m)
			if u.asked[0].Path != "/markets/0xc" {
				t.Errorf("asked %s", u.asked[0])
			}
			if c.reason != "" {
				wantReason(t, err, c.reason)
				return
			}
			if err != nil || got != c.want || ok != c.ok {
				t.Errorf("got %d, %v, %v; want %d, %v", got, ok, err, c.want, c.ok)
			}
		})
	}
	_, ok, err := client("http://127.0.0.1:1").Winner(t.Context(), &market.Market{})
	if ok || err != nil {
		t.Errorf("without a condition id: got %v, %v", ok, err)
	}
}

func TestEvents(t *testing.T) {
	t.Parallel()
	var ids []string
	for i := range 45 {
		ids = append(ids, fmt.Sprint(i))
	}
	tests := map[string]struct {
		answer func(n int, asked []string) (int, string)
		events int
		reason string
	}{
		"each with tags": {func(_ int, asked []string) (int, string) {
			var out []string
			for _, id := range asked {
				out = append(out, `{"id":`+id+`,"title":"By ___?","sortBy":"price","negRisk":true,"volume":"5","tags":[null,"NBA",{"slug":"sports"},{"slug":"sports"}],"markets":[]}`)
			}
			return 200, `{"events":[` + strings.Join(out, ",") + `,null,7,{"id":"999"},{"title":"no id"}]}`
		}, 45, ""},
		"an empty bare array": {func(int, []string) (int, string) { return 200, `[]` }, 0, ""},
		"failing halfway": {func(n int, _ []string) (int, string) {
			if n == 1 {
				return 200, `{"events":[{"id":3}]}`
			}
			return 400, `{}`
		}, 1, "http_400"},
		"not events": {func(int, []string) (int, string) { return 200, `{"markets":[]}` }, 0, "parse"},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var u upstream
			gamma := u.start(t, func(n int, r *http.Request) (int, string) { return c.answer(n, r.URL.Query()["id"]) })
			got, err := gamma.Events(t.Context(), append(ids, "../x", "7"))
			if c.reason != "" {
				wantReason(t, err, c.reason)
			} else if err != nil {
				t.Fatal(err)
			}
			if len(got) != c.events {
				t.Errorf("got %d events, want %d", len(got), c.events)
			}
			for _, e := range got {
				if c.reason == "" && (e.Title != "By when?" || !slices.Equal(e.Tags, []string{"nba", "sports"}) || !e.TagsKnown || !*e.Exclusive || !e.ByPrice || *e.Volume != 5) {
					t.Fatalf("got %+v", e)
				}
			}
			for _, asked := range u.asked {
				if asked.Path != "/events/keyset" || len(asked.Query()["id"]) > 20 || asked.Query().Get("include_tag") != "true" {
					t.Errorf("asked %s", asked)
				}
			}
		})
	}
}

// TestEventsOfBothStates checks that closed events are read too, which Gamma hides unless it is asked for them.
func TestEventsOfBothStates(t *testing.T) {
	t.Parallel()
	var u upstream
	c := u.start(t, func(_ int, r *http.Request) (int, string) {
		if r.URL.Query().Get("closed") == "true" {
			return 200, `{"events":[{"id":"2","title":"Over","tags":["nba"]},{"id":"3","title":"Just over"}]}`
		}
		return 200, `{"events":[{"id":"1","title":"Open"},{"id":"3","title":"Still open"}]}`
	})
	got, err := c.Events(t.Context(), []string{"1", "2", "3"})
	var titles []string
	for _, e := range got {
		titles = append(titles, e.Title)
	}
	if slices.Sort(titles); err != nil || !slices.Equal(titles, []string{"Open", "Over", "Still open"}) {
		t.Errorf("got %q, %v", titles, err)
	}
}
