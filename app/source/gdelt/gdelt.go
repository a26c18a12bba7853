// Package gdelt reads lists of articles from the GDELT Project's DOC 2.0 API: headlines with
// addresses, without texts and without scores. GDELT is said to let anyone use and
// redistribute its data with a citation of the project and a link to it
// (https://www.gdeltproject.org). This was not verified; see docs/data.md.
//
// GDELT has no communities. Each community is a search for words among the English articles of
// the last day; see queries. The order is GDELT's own, which weighs relevance and outlet.
//
// GDELT is said to ask for at most one request in five seconds. A client waits between its requests,
// tries none twice, and stops at the first that fails. A reading that ends early begins the next
// time with the community it ended at.
package gdelt

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/pulsecast/pulsecast/app/news"
	"github.com/pulsecast/pulsecast/app/source"
	"github.com/pulsecast/pulsecast/app/source/fetch"
	"github.com/pulsecast/pulsecast/app/source/lenientjson"
	"github.com/pulsecast/pulsecast/app/source/sanitize"
)

// Name is the News.Source and the Source of every item this client reads.
const Name = "gdelt"

const (
	readDeadline = 100 * time.Second
	// pause is the time between two requests that GDELT asks for.
	pause = 5 * time.Second
	// answerTime is how long an answer may well take.
	answerTime = 5 * time.Second
	perQuery   = 50 // articles
	titleRunes = 500
)

// queries are the searches, one for each of news.Communities. GDELT refuses short words.
var queries = map[string]string{
	"worldnews":  `(ceasefire OR diplomacy OR sanctions OR "united nations" OR "foreign minister" OR earthquake)`,
	"technology": `("artificial intelligence" OR semiconductor OR cybersecurity OR smartphone OR "social media")`,
	"science":    `(scientists OR researchers OR astronomers OR physicists OR biologists)`,
	"futurology": `("quantum computing" OR "fusion energy" OR "gene editing" OR robotics OR "autonomous vehicles" OR longevity)`,
	"politics":   `(election OR parliament OR senate OR "prime minister" OR "white house")`,
	"economics":  `(inflation OR "interest rates" OR "central bank" OR unemployment OR "economic growth")`,
}

// Config says where to read; an empty URL is GDELT's. URL is a base without a path.
type Config struct {
	URL    string
	Fetch  *fetch.Client
	Logger *slog.Logger
	Now    func() time.Time
	// Sleep waits between requests; nil waits for real.
	Sleep func(context.Context, time.Duration) error
}

// Client is a source.NewsSource, safe for concurrent use.
type Client struct {
	url   string
	fetch *fetch.Client
	log   *slog.Logger
	now   func() time.Time
	sleep func(context.Context, time.Duration) error

	mu    sync.Mutex // held while reading, so that requests keep their distance
	asked time.Time  // when the latest request was answered
	next  int        // the community that the next reading begins with
}

var _ source.NewsSource = (*Client)(nil)

// New makes a client; empty fields have defaults.
func New(cfg Config) *Client {
	c := &Client{url: strings.TrimRight(cfg.URL, "/"), fetch: cfg.Fetch, log: cfg.Logger, now: cfg.Now, sleep: cfg.Sleep}
	if c.url == "" {
		c.url = "https://api.gdeltproject.org"
	}
	if c.fetch == nil {
		c.fetch = fetch.New(fetch.Options{})
	}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	if c.now == nil {
		c.now = time.Now
	}
	if c.sleep == nil {
		c.sleep = sleep
	}
	return c
}

// Interval is three minutes: a reading takes half a minute, and GDELT adds articles every
// fifteen.
func (c *Client) Interval() time.Duration { return 3 * time.Minute }

// Read makes the six searches. It ends early if one fails or if ctx ends, with what it has; a
// reading that has nothing is an error.
func (c *Client) Read(ctx context.Context) (source.News, error) {
	ctx, cancel := context.WithTimeout(source.As(ctx, Name), readDeadline)
	defer cancel()
	c.mu.Lock()
	defer c.mu.Unlock()
	out := source.News{Source: Name, Dropped: source.Dropped{}}
	var failed error
	for range news.Communities {
		community := news.Communities[c.next]
		if failed = c.waitForTurn(ctx); failed != nil {
			break
		}
		items, err := c.search(ctx, community, out.Dropped)
		if failed = err; err != nil {
			c.log.Warn("gdelt: search failed", "community", community, "error", err)
			break
		}
		c.next = (c.next + 1) % len(news.Communities)
		out.Items, out.ObservedAt = append(out.Items, items...), c.observed()
	}
	if len(out.Items) == 0 {
		if failed == nil {
			failed = &source.Error{Reason: "empty", Err: errors.New("no articles")}
		}
		return source.News{}, fmt.Errorf("gdelt: %w", failed)
	}
	out.Items = source.Arrange(out.Items)
	return out, nil
}

// waitForTurn returns when the next request may be made; an error if ctx ends before that.
func (c *Client) waitForTurn(ctx context.Context) error {
	wait := pause - c.now().Sub(c.asked)
	if c.asked.IsZero() || wait <= 0 {
		return nil
	}
	wait = min(wait, pause) // the clock may have been set back
	if end, ok := ctx.Deadline(); ok && time.Until(end) < wait+answerTime {
		return &source.Error{Reason: "timeout", Err: context.DeadlineExceeded}
	}
	if err := c.sleep(ctx, wait); err != nil {
		return &source.Error{Reason: "timeout", Err: err}
	}
	return nil
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

func (c *Client) observed() time.Time { return c.now().UTC().Truncate(time.Microsecond) }

func (c *Client) search(ctx context.Context, community string, dropped source.Dropped) ([]news.Item, error) {
	query := url.Values{
		"query": {queries[community] + " sourcelang:english"}, "mode": {"ArtList"}, "format": {"json"},
		"timespan": {"1d"}, "sort": {"HybridRel"}, "maxrecords": {strconv.Itoa(perQuery)},
	}
	req := fetch.Request{URL: c.url + "/api/v2/doc/doc?" + query.Encode(), Once: true}
	resp, err := c.fetch.Do(ctx, req)
	c.asked = c.now()
	if err != nil {
		return nil, err
	}
	var answer struct {
		Articles []json.RawMessage `json:"articles"` // missing if nothing was found
	}
	if err := json.Unmarshal(mendEscapes(resp.Body), &answer); err != nil {
		fetch.Reject(ctx, req, "parse", resp.Raw, 0)
		return nil, &source.Error{Reason: "parse", Err: fmt.Errorf("decode articles: %w", err)}
	}
	at, hash := c.observed(), resp.Hash()
	var items []news.Item
	for _, raw := range answer.Articles[:min(len(answer.Articles), perQuery)] {
		item, reason := decodeArticle(raw, community, at)
		if reason != "" {
			dropped[reason]++
			source.Reject(ctx, reason, raw, 0)
			continue
		}
		item.Received = hash
		items = append(items, item)
	}
	return items, nil
}

// wireArticle is one record of an answer. url_mobile, language and sourcecountry aren't read.
type wireArticle struct {
	URL    lenientjson.Text `json:"url"`
	Title  lenientjson.Text `json:"title"`
	Seen   lenientjson.Text `json:"seendate"` // 20260718T150000Z
	Image  lenientjson.Text `json:"socialimage"`
	Domain lenientjson.Text `json:"domain"`
}

// decodeArticle maps one record of an answer; the reason is "" or the word it is
// dropped under.
func decodeArticle(raw []byte, community string, at time.Time) (news.Item, string) {
	if string(raw) == "null" {
		return news.Item{}, "null"
	}
	var a wireArticle
	if err := json.Unmarshal(raw, &a); err != nil {
		return news.Item{}, "malformed"
	}
	address := sanitize.WebURL(string(a.URL))
	if address == "" {
		return news.Item{}, "no_url"
	}
	item := news.Item{
		ID: articleID(address), Source: Name, Community: community,
		Title:  sanitize.Shorten(joinPunctuation.Replace(sanitize.Squeeze(string(a.Title))), titleRunes),
		Author: sanitize.Shorten(sanitize.Line(string(a.Domain)), 100),
		URL:    address, Permalink: address, Thumbnail: sanitize.WebURL(string(a.Image)), ObservedAt: at,
	}
	if strings.TrimSpace(item.Title) == "" {
		return item, "no_title"
	}
	seen, err := time.Parse("20060102T150405Z", strings.TrimSpace(string(a.Seen)))
	if err != nil || seen.Year() < 1970 {
		return item, "no_date"
	}
	item.PostedAt = seen
	return item, ""
}

// articleID makes an id of an address, since GDELT gives none.
func articleID(address string) string {
	sum := sha256.Sum256([]byte(address))
	return "gdelt-" + hex.EncodeToString(sum[:10])
}

// joinPunctuation takes out the spaces that GDELT puts around punctuation in headlines.
var joinPunctuation = strings.NewReplacer(
	" ,", ",", " .", ".", " ;", ";", " :", ":", " ?", "?", " !", "!", " %", "%", " ' s ", "'s ", " ’ s ", "’s ", "$ ", "$",
)

// mendEscapes takes out the backslashes of a body that begin no escape of JSON. GDELT copies
// headlines without escaping theirs, and one of them would make the whole answer unreadable.
func mendEscapes(body []byte) []byte {
	out := make([]byte, 0, len(body))
	for i := 0; i < len(body); i++ {
		if body[i] != '\\' {
			out = append(out, body[i])
			continue
		}
		if n := escapeAt(body[i:]); n > 0 {
			out = append(out, body[i:i+n]...)
			i += n - 1
		}
	}
	return out
}

// escapeAt is the length of the escape that b begins with; 0 if it is none.
func escapeAt(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	if strings.IndexByte(`"\/bfnrt`, b[1]) >= 0 {
		return 2
	}
	if b[1] == 'u' && len(b) >= 6 {
		if _, err := hex.DecodeString(string(b[2:6])); err == nil {
			return 6
		}
	}
	return 0
}
