// Package gdelt reads lists of articles from the GDELT Project's DOC 2.0 API: headlines with addresses, but no
// texts and no scores. GDELT is said to let anyone use and redistribute its data if they cite the project
// and link to it (https://www.gdeltproject.org). This was not verified; see docs/data.md.
//
// GDELT has no communities. Each community is a search for words in the English articles of the last day; see
// queries. The order is GDELT's own, which weighs relevance and outlet.
//
// GDELT is said to allow at most one request in five seconds. A client waits between its requests, repeats
// none, and stops at the first that fails. If a reading ends early, the next one starts with the community at
// which it ended.
package gdelt

import (
	"cmp"
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

	"github.com/pulsecast/pulsecast/app/database"
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
	// pause is the time that GDELT requires between two requests.
	pause = 5 * time.Second
	// answerTime is the time that a response normally needs at most.
	answerTime = 5 * time.Second
	perQuery   = 50 // articles
)

// queries are the searches, one for each of news.Communities. GDELT rejects short words.
var queries = map[string]string{
	"worldnews":  `(ceasefire OR diplomacy OR sanctions OR "united nations" OR "foreign minister" OR earthquake)`,
	"technology": `("artificial intelligence" OR semiconductor OR cybersecurity OR smartphone OR "social media")`,
	"science":    `(scientists OR researchers OR astronomers OR physicists OR biologists)`,
	"futurology": `("quantum computing" OR "fusion energy" OR "gene editing" OR robotics OR "autonomous vehicles" OR longevity)`,
	"politics":   `(election OR parliament OR senate OR "prime minister" OR "white house")`,
	"economics":  `(inflation OR "interest rates" OR "central bank" OR unemployment OR "economic growth")`,
}

// Config configures a Client.
type Config struct {
	URL    string // base without a path
	Fetch  *fetch.Client
	Logger *slog.Logger
	Now    func() time.Time
	// Sleep waits between requests. If it is nil, the client really waits.
	Sleep func(context.Context, time.Duration) error
}

// Client is a source.NewsSource. It is safe for concurrent use.
type Client struct {
	url   string
	fetch *fetch.Client
	log   *slog.Logger
	now   func() time.Time
	sleep func(context.Context, time.Duration) error

	mu    sync.Mutex // held while reading, to keep requests apart
	asked time.Time  // when the latest request ended
	next  int        // index of the community that the next reading starts with
}

var _ source.NewsSource = (*Client)(nil)

// New returns a client. A nil Fetch, Logger, Now or Sleep has a default.
func New(cfg Config) *Client {
	c := &Client{
		url: strings.TrimRight(cfg.URL, "/"), now: cfg.Now, sleep: cfg.Sleep,
		fetch: cmp.Or(cfg.Fetch, fetch.New(fetch.Options{})), log: cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler)),
	}
	if c.now == nil {
		c.now = time.Now
	}
	if c.sleep == nil {
		c.sleep = fetch.Sleep
	}
	return c
}

// Interval is three minutes: a reading takes half a minute, and GDELT adds articles every
// fifteen.
func (c *Client) Interval() time.Duration { return 3 * time.Minute }

// Read makes the six searches. If one fails or ctx ends, it returns the items found so far. Partial has the error of a
// search; without enough time for all, the next reading continues. A reading without items is an error.
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
			out.Partial = err
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

// waitForTurn returns when the next request is allowed. It returns an error if ctx ends too early for the wait
// and the response.
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

func (c *Client) observed() time.Time { return database.Stored(c.now()) }

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
		Articles []json.RawMessage `json:"articles"` // missing if there are no matches
	}
	if err := json.Unmarshal(mendEscapes(resp.Body), &answer); err != nil {
		fetch.Reject(ctx, req, "parse", resp.Raw, 0)
		return nil, &source.Error{Reason: "parse", Err: fmt.Errorf("decode articles: %w", err)}
	}
	at, hash := database.Stored(c.now().Add(-resp.Age)), resp.Hash()
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

// decodeArticle decodes one record. The reason is "" or the word under which the record is dropped.
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
		Title:  sanitize.Shorten(joinPunctuation.Replace(sanitize.Squeeze(string(a.Title))), news.TitleRunes),
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

// articleID returns an id made from the address, because GDELT has no ids.
func articleID(address string) string {
	sum := sha256.Sum256([]byte(address))
	return "gdelt-" + hex.EncodeToString(sum[:10])
}

// joinPunctuation removes the spaces that GDELT puts around punctuation in headlines.
var joinPunctuation = strings.NewReplacer(
	" ,", ",", " .", ".", " ;", ";", " :", ":", " ?", "?", " !", "!", " %", "%", " ' s ", "'s ", " ’ s ", "’s ", "$ ", "$",
)

// mendEscapes removes backslashes that don't begin a JSON escape. GDELT copies headlines without escaping their
// backslashes, and a single one makes the whole response invalid.
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

// escapeAt returns the length of the JSON escape at the start of b, or 0 if there is none.
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
