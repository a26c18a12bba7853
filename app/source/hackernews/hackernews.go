// Package hackernews reads Hacker News through Algolia's public search. It is the last choice among the news
// sources, and covers two of the six communities.
//
// Hacker News has no communities. "technology" is its front page. "science" is a heuristic: stories of the last
// week with more than 20 points and the word "science" in their title or address, where journals and science
// desks have it. Algolia ranks them, best first. A story found by both searches belongs to science.
package hackernews

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/news"
	"github.com/pulsecast/pulsecast/app/source"
	"github.com/pulsecast/pulsecast/app/source/fetch"
	"github.com/pulsecast/pulsecast/app/source/lenientjson"
	"github.com/pulsecast/pulsecast/app/source/sanitize"
)

// Name is the News.Source and the Source of every item this client reads.
const Name = "hackernews"

const (
	readDeadline = 45 * time.Second
	scienceDays  = 7
	scienceFloor = 20 // points
)

// Config configures a Client.
type Config struct {
	URL    string // base without a path
	Fetch  *fetch.Client
	Logger *slog.Logger
	Now    func() time.Time
}

// Client is a source.NewsSource. It is safe for concurrent use.
type Client struct {
	url   string
	fetch *fetch.Client
	log   *slog.Logger
	now   func() time.Time
}

var _ source.NewsSource = (*Client)(nil)

// New returns a client. A nil Fetch, Logger or Now has a default.
func New(cfg Config) *Client {
	c := &Client{
		url: strings.TrimRight(cfg.URL, "/"), now: cfg.Now,
		fetch: cmp.Or(cfg.Fetch, fetch.New(fetch.Options{})), log: cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler)),
	}
	if c.now == nil {
		c.now = time.Now
	}
	return c
}

// Interval is a minute: the front page doesn't change faster.
func (c *Client) Interval() time.Duration { return time.Minute }

// Read makes both searches. If one fails, it returns the items of the other, and the error in Partial. It returns an
// error if both fail or find nothing.
func (c *Client) Read(ctx context.Context) (source.News, error) {
	ctx, cancel := context.WithTimeout(source.As(ctx, Name), readDeadline)
	defer cancel()
	out := source.News{Source: Name, Dropped: source.Dropped{}}
	since := c.now().AddDate(0, 0, -scienceDays).Unix()
	searches := []struct {
		community string
		query     url.Values
	}{
		// Science comes first, because the first of two items with the same id is kept.
		{"science", url.Values{
			"tags": {"story"}, "query": {"science"}, "hitsPerPage": {"50"},
			"restrictSearchableAttributes": {"title,url"},
			"numericFilters":               {fmt.Sprintf("created_at_i>%d,points>%d", since, scienceFloor)},
		}},
		{"technology", url.Values{"tags": {"front_page"}, "hitsPerPage": {"100"}}},
	}
	var errs []error
	for _, s := range searches {
		items, at, err := c.search(ctx, s.community, s.query, out.Dropped)
		if err != nil {
			errs = append(errs, err)
			c.log.Warn("hackernews: search failed", "community", s.community, "error", err)
			continue
		}
		out.Items = append(out.Items, items...)
		if at.After(out.ObservedAt) {
			out.ObservedAt = at
		}
	}
	if len(out.Items) == 0 {
		if len(errs) > 0 {
			return source.News{}, fmt.Errorf("hackernews: %w", errs[0])
		}
		return source.News{}, &source.Error{Reason: "empty", Err: errors.New("hackernews: no stories")}
	}
	out.Items, out.Partial = source.Arrange(out.Items), errors.Join(errs...)
	return out, nil
}

type wireHit struct {
	ObjectID  lenientjson.Text   `json:"objectID"`
	Title     lenientjson.Text   `json:"title"`
	StoryText lenientjson.Text   `json:"story_text"`
	URL       lenientjson.Text   `json:"url"`
	Author    lenientjson.Text   `json:"author"`
	Points    lenientjson.Number `json:"points"`
	Comments  lenientjson.Number `json:"num_comments"`
	CreatedAt lenientjson.Number `json:"created_at_i"`
}

func (c *Client) search(
	ctx context.Context, community string, query url.Values, dropped source.Dropped,
) ([]news.Item, time.Time, error) {
	var answer struct {
		Hits *[]json.RawMessage `json:"hits"`
	}
	req := fetch.Request{URL: c.url + "/api/v1/search?" + query.Encode()}
	resp, err := c.fetch.JSON(ctx, req, &answer)
	if err != nil {
		return nil, time.Time{}, err
	}
	if answer.Hits == nil {
		fetch.Reject(ctx, req, "parse", resp.Raw, 0)
		return nil, time.Time{}, &source.Error{Reason: "parse", Err: errors.New("hackernews: an answer without hits")}
	}
	at, hash := database.Stored(c.now().Add(-resp.Age)), resp.Hash()
	var items []news.Item
	for _, raw := range *answer.Hits {
		item, reason := decodeHit(raw, community, at)
		if reason != "" {
			dropped[reason]++
			source.Reject(ctx, reason, raw, 0)
			continue
		}
		item.Received = hash
		items = append(items, item)
	}
	return items, at, nil
}

// decodeHit decodes one record. The reason is "" or the word under which the record is dropped.
func decodeHit(raw []byte, community string, at time.Time) (news.Item, string) {
	if string(raw) == "null" {
		return news.Item{}, "null"
	}
	var hit wireHit
	if err := json.Unmarshal(raw, &hit); err != nil {
		return news.Item{}, "malformed"
	}
	return hit.item(community, at)
}

// item converts one hit. The reason is "" or the word under which the hit is dropped.
func (h *wireHit) item(community string, at time.Time) (news.Item, string) {
	number, err := strconv.ParseUint(strings.TrimSpace(string(h.ObjectID)), 10, 63)
	if err != nil {
		return news.Item{}, "no_id"
	}
	id := strconv.FormatUint(number, 10)
	item := news.Item{
		ID: "hn-" + id, Source: Name, Community: community,
		Title:   sanitize.Shorten(sanitize.Squeeze(string(h.Title)), news.TitleRunes),
		Summary: sanitize.Shorten(sanitize.ReadHTML(string(h.StoryText)).Text, news.SummaryRunes),
		Score:   h.Points.Count(), Comments: h.Comments.Count(), ScoreKnown: h.Points.Known,
		Author:    sanitize.Shorten(sanitize.Line(string(h.Author)), 100),
		URL:       sanitize.WebURL(string(h.URL)),
		Permalink: "https://news.ycombinator.com/item?id=" + id, ObservedAt: at,
	}
	if item.URL == "" {
		item.URL, item.SelfPost = item.Permalink, true
	}
	if item.Title == "" {
		return item, "no_title"
	}
	if !h.CreatedAt.Known || h.CreatedAt.Value <= 0 || h.CreatedAt.Value > 1e11 {
		return item, "no_date"
	}
	item.PostedAt = time.Unix(int64(h.CreatedAt.Value), 0).UTC()
	return item, ""
}

// Posts returns which stories are in Algolia's index. It never reports a story as deleted, because a story that
// it doesn't find may still exist.
func (c *Client) Posts(ctx context.Context, ids []string) (there, deleted []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, readDeadline)
	defer cancel()
	var tags []string
	for _, id := range ids {
		if number, ok := strings.CutPrefix(id, "hn-"); ok {
			tags = append(tags, "story_"+number)
		}
	}
	if len(tags) == 0 {
		return nil, nil, nil
	}
	query := url.Values{"tags": {"story,(" + strings.Join(tags, ",") + ")"}, "hitsPerPage": {strconv.Itoa(len(tags))}}
	var answer struct {
		Hits []struct {
			ObjectID lenientjson.Text `json:"objectID"`
		} `json:"hits"`
	}
	if _, err := c.fetch.JSON(ctx, fetch.Request{URL: c.url + "/api/v1/search?" + query.Encode()}, &answer); err != nil {
		return nil, nil, fmt.Errorf("hackernews: %w", err)
	}
	for _, hit := range answer.Hits {
		there = append(there, "hn-"+strings.TrimSpace(string(hit.ObjectID)))
	}
	return there, nil, nil
}
