package reddit_test

import (
	"context"
	"errors"
	"fmt"
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
	"github.com/pulsecast/pulsecast/app/source/reddit"
)

// clock is a clock that the test moves.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func newClock() *clock { return &clock{at: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// api stands in for Reddit's API.
type api struct {
	mu       sync.Mutex
	tokens   int // tokens handed out
	listings []string
	agents   map[string]bool
	token    func(n int) (int, string)
	listing  func(w http.ResponseWriter, community, bearer string)
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.agents[r.UserAgent()] = true
	if r.URL.Path == "/api/v1/access_token" {
		id, secret, _ := r.BasicAuth()
		if r.Method != "POST" || id != "app" || secret != "s3cret" || r.FormValue("grant_type") != "client_credentials" {
			w.WriteHeader(400)
			return
		}
		a.tokens++
		status, body := a.token(a.tokens)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
		return
	}
	community, ok := strings.CutPrefix(strings.TrimSuffix(r.URL.Path, "/hot"), "/r/")
	if !ok || r.URL.Query().Get("limit") != "100" || r.URL.Query().Get("raw_json") != "1" {
		w.WriteHeader(400)
		return
	}
	a.listings = append(a.listings, community)
	a.listing(w, community, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
}

func post(id, community string) string {
	return fmt.Sprintf(`{"kind":"Listing","data":{"children":[{"kind":"t3","data":{"id":%q,"subreddit":%q,"title":"Title of %s","created_utc":1790000000.0,"score":3,"num_comments":1}}]}}`, id, community, id)
}

func newAPI() *api {
	return &api{
		agents: map[string]bool{},
		token:  func(n int) (int, string) { return 200, fmt.Sprintf(`{"access_token":"tok%d","expires_in":3600}`, n) },
		listing: func(w http.ResponseWriter, community, _ string) {
			_, _ = io.WriteString(w, post("p"+community, strings.ToUpper(community)))
		},
	}
}

func quick() *fetch.Client {
	return fetch.New(fetch.Options{Sleep: func(context.Context, time.Duration) error { return nil }})
}

func (a *api) start(t *testing.T, clk *clock, over18 bool) *reddit.OAuth {
	t.Helper()
	s := httptest.NewServer(a)
	t.Cleanup(s.Close)
	return reddit.NewOAuth(reddit.OAuthConfig{
		AuthURL: s.URL, APIURL: s.URL + "/", ClientID: "app", ClientSecret: "s3cret",
		UserAgent: reddit.UserAgent("0.1.0", "tester"), Over18: over18, Fetch: quick(), Now: clk.now,
	})
}

func wantReason(t *testing.T, err error, reason string) *source.Error {
	t.Helper()
	se, ok := errors.AsType[*source.Error](err)
	if !ok || se.Reason != reason {
		t.Fatalf("got error %v, want a *source.Error with reason %q", err, reason)
	}
	return se
}

func ids(items []news.Item) string {
	var out []string
	for _, i := range items {
		out = append(out, i.ID)
	}
	return strings.Join(out, " ")
}

func TestOAuthReadsAllCommunities(t *testing.T) {
	t.Parallel()
	a, clk := newAPI(), newClock()
	c := a.start(t, clk, false)
	got, err := c.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if ids(got.Items) != "pworldnews ptechnology pscience pfuturology ppolitics peconomics" || got.Source != "reddit" || got.ObservedAt.IsZero() {
		t.Errorf("%+v", got)
	}
	for _, item := range got.Items {
		if item.Position != 0 || "p"+item.Community != item.ID || !item.ScoreKnown || item.Score != 3 || item.Comments != 1 {
			t.Errorf("got %+v", item)
		}
	}
	if len(a.agents) != 1 || !a.agents["server:com.pulsecast.pulsecast:0.1.0 (by /u/tester)"] {
		t.Errorf("got user agents %v", a.agents)
	}
	if _, err = c.Read(t.Context()); err != nil || a.tokens != 1 {
		t.Errorf("got %d tokens for two reads, %v", a.tokens, err)
	}
	clk.pass(time.Hour)
	if _, err = c.Read(t.Context()); err != nil || a.tokens != 2 {
		t.Errorf("got %d tokens after expiry, %v", a.tokens, err)
	}
}

func TestOAuthTokenIsSharedByConcurrentReads(t *testing.T) {
	t.Parallel()
	a := newAPI()
	c := a.start(t, newClock(), false)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, err := c.Read(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if a.tokens != 1 {
		t.Errorf("got %d tokens", a.tokens)
	}
}

func TestOAuthRenewsARefusedTokenOnce(t *testing.T) {
	t.Parallel()
	a := newAPI()
	well := a.listing
	a.listing = func(w http.ResponseWriter, community, bearer string) {
		if bearer == "tok1" {
			w.WriteHeader(401)
			_, _ = io.WriteString(w, `{"message": "Unauthorized", "error": 401}`)
			return
		}
		well(w, community, bearer)
	}
	got, err := a.start(t, newClock(), false).Read(t.Context())
	if err != nil || len(got.Items) != 6 || a.tokens != 2 {
		t.Errorf("got %d items, %d tokens, %v", len(got.Items), a.tokens, err)
	}

	b := newAPI()
	b.listing = func(w http.ResponseWriter, _, _ string) { w.WriteHeader(401) }
	_, err = b.start(t, newClock(), false).Read(t.Context())
	wantReason(t, err, "unauthorized")
	if b.tokens != 2 || len(b.listings) != 2 {
		t.Errorf("got %d tokens and %d listings, although no token is accepted", b.tokens, len(b.listings))
	}
}

func TestOAuthTokenFails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status       int
		body, reason string
	}{
		"refused":      {401, `{"message": "Unauthorized", "error": 401}`, "unauthorized"},
		"error in 200": {200, `{"error": "unsupported_grant_type"}`, "unauthorized"},
		"HTML":         {200, `<html>`, "parse"},
		"down":         {503, ``, "http_503"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAPI()
			a.token = func(int) (int, string) { return c.status, c.body }
			_, err := a.start(t, newClock(), false).Read(t.Context())
			wantReason(t, err, c.reason)
			if wantTokens := map[string]int{"down": 3}[name]; a.tokens > max(wantTokens, 1) {
				t.Errorf("got %d requests for a token", a.tokens)
			}
			if len(a.listings) != 0 {
				t.Error("a listing was requested without a token")
			}
		})
	}
}

func TestOAuthFailuresOfListings(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status       int
		body, reason string
	}{
		"forbidden":    {403, `{"error": 403}`, "http_403"},
		"not found":    {404, `{"message": "Not Found", "error": 404}`, "http_404"},
		"server error": {500, `{"message": "Internal Server Error", "error": 500}`, "http_500"},
		"HTML":         {200, `<!doctype html>`, "parse"},
		"truncated":    {200, `{"kind":"Listing","data":{"chil`, "parse"},
		"no listing":   {200, `{"error": 403}`, "parse"},
		"empty":        {200, `{"kind":"Listing","data":{"children":[]}}`, "empty"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAPI()
			well := a.listing
			broken := func(w http.ResponseWriter, _, _ string) {
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			}
			a.listing = func(w http.ResponseWriter, community, bearer string) {
				if community == "technology" {
					broken(w, community, bearer)
					return
				}
				well(w, community, bearer)
			}
			got, err := a.start(t, newClock(), false).Read(t.Context())
			if err != nil || ids(got.Items) != "pworldnews pscience pfuturology ppolitics peconomics" || (name != "empty" && source.Reason(got.Partial) != c.reason) {
				t.Errorf("one fails: got %s, %v, %v", ids(got.Items), got.Partial, err)
			}
			b := newAPI()
			b.listing = broken
			_, err = b.start(t, newClock(), false).Read(t.Context())
			wantReason(t, err, c.reason)
		})
	}
}

func TestOAuthStopsWhenTheAllowanceIsUsedUp(t *testing.T) {
	t.Parallel()
	a, clk := newAPI(), newClock()
	well := a.listing
	a.listing = func(w http.ResponseWriter, community, bearer string) {
		w.Header().Set("X-Ratelimit-Remaining", map[bool]string{true: "0.0", false: "97.0"}[community == "technology"])
		w.Header().Set("X-Ratelimit-Reset", "120")
		well(w, community, bearer)
	}
	c := a.start(t, clk, false)
	got, err := c.Read(t.Context())
	if err != nil || ids(got.Items) != "pworldnews ptechnology" {
		t.Fatalf("%s, %v", ids(got.Items), err)
	}
	clk.pass(20 * time.Second)
	_, err = c.Read(t.Context())
	if se := wantReason(t, err, "http_429"); se.RetryAfter != 100*time.Second {
		t.Errorf("RetryAfter %v", se.RetryAfter)
	}
	if len(a.listings) != 2 {
		t.Errorf("asked %v", a.listings)
	}
	a.listing = well
	clk.pass(100 * time.Second)
	if got, err = c.Read(t.Context()); err != nil || len(got.Items) != 6 {
		t.Errorf("after the pause: got %s, %v", ids(got.Items), err)
	}
}

func TestOAuthGivesUpOnASilentHost(t *testing.T) {
	t.Parallel()
	a := newAPI()
	well := a.listing
	silent := map[string]bool{"technology": true}
	a.listing = func(w http.ResponseWriter, community, bearer string) {
		if silent[community] {
			panic(http.ErrAbortHandler) // the connection ends without a response
		}
		well(w, community, bearer)
	}
	c := a.start(t, newClock(), false)
	if got, err := c.Read(t.Context()); err != nil || len(got.Items) != 5 {
		t.Errorf("one gives no response: got %s, %v", ids(got.Items), err)
	}
	a.mu.Lock()
	for _, community := range news.Communities {
		silent[community] = true
	}
	a.mu.Unlock()
	_, err := c.Read(t.Context())
	wantReason(t, err, "unreachable")
	// The transport repeats a GET whose idle connection broke, so requests can't be counted. The third
	// community must not have been requested.
	a.mu.Lock()
	defer a.mu.Unlock()
	if n := strings.Count(strings.Join(a.listings, " "), "science"); n != 1 {
		t.Errorf("got requests for %v from a host that is down", a.listings)
	}
}

func TestOAuthStopsAt429(t *testing.T) {
	t.Parallel()
	a := newAPI()
	a.listing = func(w http.ResponseWriter, _, _ string) {
		w.Header().Set("Retry-After", "300")
		w.WriteHeader(429)
	}
	c := a.start(t, newClock(), false)
	for range 2 {
		_, err := c.Read(t.Context())
		if se := wantReason(t, err, "http_429"); se.RetryAfter != 5*time.Minute {
			t.Errorf("RetryAfter %v", se.RetryAfter)
		}
	}
	if len(a.listings) != 1 {
		t.Errorf("got %d requests", len(a.listings))
	}
}

func readListing(t *testing.T, body string, over18 bool) source.News {
	t.Helper()
	a := newAPI()
	a.listing = func(w http.ResponseWriter, community, _ string) {
		if community == "futurology" {
			_, _ = io.WriteString(w, body)
			return
		}
		w.WriteHeader(404)
	}
	got, err := a.start(t, newClock(), over18).Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestMappingOfPosts(t *testing.T) {
	t.Parallel()
	body, err := os.ReadFile("testdata/listing.json")
	if err != nil {
		t.Fatal(err)
	}
	got := readListing(t, string(body), false)
	if ids(got.Items) != "aa2 aa4 aa8" {
		t.Fatalf("items %s", ids(got.Items))
	}
	want := source.Dropped{"null": 1, "not_a_post": 1, "wrong_community": 1, "no_date": 1, "no_id": 1, "malformed": 1}
	if fmt.Sprint(got.Dropped) != fmt.Sprint(want) {
		t.Errorf("got dropped %v, want %v", got.Dropped, want)
	}
	link, text, gone := got.Items[0], got.Items[1], got.Items[2]
	if len(link.Received) != 64 || text.Received != link.Received {
		t.Errorf("no hash of the response: %+v, %+v", link, text)
	}
	link.ObservedAt, link.Received, text.ObservedAt, text.Received = time.Time{}, "", time.Time{}, ""
	if wantLink := (news.Item{
		ID: "aa2", Source: "reddit", Community: "futurology", Title: "R&D at the Tarn reactor doubles",
		Score: 1200, Comments: 45, ScoreKnown: true, URL: "https://tarn.example/news?a=1&copy=2",
		Permalink: "https://www.reddit.com/r/Futurology/comments/aa2/rd/", Author: "heron_fan",
		PostedAt: time.Unix(1790000001, 0).UTC(), Flair: "Energy", Thumbnail: "https://thumbs.example/aa2.jpg",
	}); link != wantLink {
		t.Errorf("got  %+v\nwant %+v", link, wantLink)
	}
	if wantText := (news.Item{
		ID: "aa4", Source: "reddit", Community: "futurology", Title: "What would you build?", Summary: "I would build a ferry.",
		Score: 7, ScoreKnown: true, URL: "https://www.reddit.com/r/Futurology/comments/aa4/what/",
		Permalink: "https://www.reddit.com/r/Futurology/comments/aa4/what/", Author: "[deleted]",
		PostedAt: time.Unix(1790000002, 0).UTC(), SelfPost: true, Position: 1,
	}); text != wantText {
		t.Errorf("got  %+v\nwant %+v", text, wantText)
	}
	if gone.Summary != "" || gone.URL != "https://over.example/" || gone.Permalink != "https://www.reddit.com/comments/aa8" || gone.ScoreKnown {
		t.Errorf("got %+v", gone)
	}
	if got = readListing(t, string(body), true); !strings.Contains(ids(got.Items), "aa6") {
		t.Error("over_18 posts are missing although they are wanted")
	}
}

func TestEscapedListings(t *testing.T) {
	t.Parallel()
	listing := func(title, url string) string {
		return fmt.Sprintf(`{"data":{"children":[{"kind":"t3","data":{"id":"a","subreddit":"futurology","created_utc":1,"title":%q,"url":%q}}]}}`, title, url)
	}
	cases := []struct{ name, title, url, wantTitle, wantURL string }{
		{"escaped", "Q&amp;A: 1 &lt; 2", "https://x.example/?a=1&amp;copy=2", "Q&A: 1 < 2", "https://x.example/?a=1&copy=2"},
		{"escaped once only", "How to write &amp;amp;", "https://x.example/", "How to write &amp;", "https://x.example/"},
		{"raw", "Q&A: 1 < 2", "https://x.example/?a=1&copy=2", "Q&A: 1 < 2", "https://x.example/?a=1&copy=2"},
		{"raw, as the address shows", "How to write &amp;", "https://x.example/?a=1&b=2", "How to write &amp;", "https://x.example/?a=1&b=2"},
	}
	for _, c := range cases {
		item := readListing(t, listing(c.title, c.url), false).Items[0]
		if item.Title != c.wantTitle || item.URL != c.wantURL {
			t.Errorf("%s: got %q %q, want %q %q", c.name, item.Title, item.URL, c.wantTitle, c.wantURL)
		}
	}
}

func TestSummaryIsShortened(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("wörter ", 200)
	body := fmt.Sprintf(`{"data":{"children":[{"kind":"t3","data":{"id":"a","subreddit":"futurology","created_utc":1,"title":"t","selftext":%q}}]}}`, long)
	got := []rune(readListing(t, body, false).Items[0].Summary)
	if len(got) > news.SummaryRunes || !strings.HasSuffix(string(got), "wörter…") {
		t.Errorf("got %d runes: …%s", len(got), string(got[len(got)-10:]))
	}
}

// TestPosts checks that /api/info tells which posts exist and which are deleted, by the author or by a
// moderator.
func TestPosts(t *testing.T) {
	t.Parallel()
	a, asked := newAPI(), ""
	mux := http.NewServeMux()
	mux.Handle("/api/v1/access_token", a)
	mux.HandleFunc("/api/info", func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.Query().Get("id")
		_, _ = io.WriteString(w, `{"kind":"Listing","data":{"children":[
			{"kind":"t3","data":{"id":"aa1","author":"heron"}},
			{"kind":"t3","data":{"id":"aa2","author":"[deleted]"}},
			{"kind":"t3","data":{"id":"aa3","author":"vole","removed_by_category":"moderator"}},
			{"kind":"t3","data":null}]}}`)
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	c := reddit.NewOAuth(reddit.OAuthConfig{AuthURL: s.URL, APIURL: s.URL, ClientID: "app", ClientSecret: "s3cret", Fetch: quick(), Now: newClock().now})
	there, deleted, err := c.Posts(t.Context(), []string{"aa1", "aa2", "aa3", "aa4"})
	if err != nil || !slices.Equal(there, []string{"aa1"}) || !slices.Equal(deleted, []string{"aa2", "aa3"}) || asked != "t3_aa1,t3_aa2,t3_aa3,t3_aa4" {
		t.Errorf("got existing %q, deleted %q, %v for the request %q", there, deleted, err, asked)
	}
}

func TestPostsOfAnAnswerThatIsNoListing(t *testing.T) {
	t.Parallel()
	a := newAPI()
	mux := http.NewServeMux()
	mux.Handle("/api/v1/access_token", a)
	mux.HandleFunc("/api/info", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"data":null}`) })
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	c := reddit.NewOAuth(reddit.OAuthConfig{AuthURL: s.URL, APIURL: s.URL, ClientID: "app", ClientSecret: "s3cret", Fetch: quick(), Now: newClock().now})
	_, _, err := c.Posts(t.Context(), []string{"aa1"})
	wantReason(t, err, "parse")
}
