package reddit

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/pulsecast/pulsecast/app/news"
	"github.com/pulsecast/pulsecast/app/source"
	"github.com/pulsecast/pulsecast/app/source/lenientjson"
	"github.com/pulsecast/pulsecast/app/source/sanitize"
)

const (
	labelRunes = 100

	site = "https://www.reddit.com"
)

// wirePost is a record of type t3. Any field may be missing or null.
type wirePost struct {
	raw json.RawMessage // the record that it was decoded from

	ID         lenientjson.Text   `json:"id"`
	Subreddit  lenientjson.Text   `json:"subreddit"`
	Title      lenientjson.Text   `json:"title"`
	SelfText   lenientjson.Text   `json:"selftext"`
	Score      lenientjson.Number `json:"score"`
	Comments   lenientjson.Number `json:"num_comments"`
	URL        lenientjson.Text   `json:"url"`
	Overridden lenientjson.Text   `json:"url_overridden_by_dest"`
	Permalink  lenientjson.Text   `json:"permalink"`
	Author     lenientjson.Text   `json:"author"`
	CreatedUTC lenientjson.Number `json:"created_utc"`
	IsSelf     lenientjson.Flag   `json:"is_self"`
	Flair      lenientjson.Text   `json:"link_flair_text"`
	Thumbnail  lenientjson.Text   `json:"thumbnail"`
	Stickied   lenientjson.Flag   `json:"stickied"`
	Over18     lenientjson.Flag   `json:"over_18"`
}

// texts returns the fields that Reddit escapes unless raw_json is set.
func (p *wirePost) texts() []*lenientjson.Text {
	return []*lenientjson.Text{&p.Title, &p.SelfText, &p.URL, &p.Overridden, &p.Flair, &p.Thumbnail, &p.Permalink}
}

type wireListing struct {
	Data *struct {
		Children *[]json.RawMessage `json:"children"`
	} `json:"data"`
}

// decodeListing decodes a listing read at the given time, in its order. A body that isn't a listing is an
// error. A record that isn't a post is dropped.
func decodeListing(ctx context.Context, body []byte, over18 bool, at time.Time) ([]news.Item, source.Dropped, error) {
	var listing wireListing
	if err := json.Unmarshal(body, &listing); err != nil {
		return nil, nil, err
	}
	if listing.Data == nil || listing.Data.Children == nil {
		return nil, nil, errors.New("reddit: the response isn't a listing")
	}
	posts, dropped := decodePosts(ctx, *listing.Data.Children)
	unescapeListing(posts)
	var items []news.Item
	for _, p := range posts {
		if p.Stickied.True || (p.Over18.True && !over18) {
			continue
		}
		item, reason := p.item(at)
		if reason != "" {
			dropped[reason]++
			source.Reject(ctx, reason, p.raw, 0)
			continue
		}
		items = append(items, item)
	}
	return items, dropped, nil
}

func decodePosts(ctx context.Context, children []json.RawMessage) ([]*wirePost, source.Dropped) {
	dropped := source.Dropped{}
	var posts []*wirePost
	for _, raw := range children {
		var child struct {
			Kind string    `json:"kind"`
			Data *wirePost `json:"data"`
		}
		reason := ""
		switch err := json.Unmarshal(raw, &child); {
		case string(raw) == "null":
			reason = "null"
		case err != nil || child.Data == nil:
			reason = "malformed"
		case child.Kind != "t3":
			reason = "not_a_post"
		default:
			child.Data.raw = raw
			posts = append(posts, child.Data)
			continue
		}
		dropped[reason]++
		source.Reject(ctx, reason, raw, 0)
	}
	return posts, dropped
}

// unescapeListing undoes Reddit's HTML escaping of a listing. This client always asks for raw_json=1, but a
// mirror may drop the parameter.
//
// Unescaping a raw text would corrupt it ("?a=1&copy=2"), so the listing itself must show that it is escaped.
// Reddit escapes exactly "&", "<" and ">". A single bare "&" shows that the listing is raw. If there is none,
// every entity is an escape. They are undone once, and only these three.
func unescapeListing(posts []*wirePost) {
	for _, p := range posts {
		for _, t := range p.texts() {
			if bareAmpersand(string(*t)) {
				return
			}
		}
	}
	for _, p := range posts {
		for _, t := range p.texts() {
			*t = lenientjson.Text(entities.Replace(string(*t)))
		}
	}
}

var entities = strings.NewReplacer("&amp;", "&", "&lt;", "<", "&gt;", ">")

func bareAmpersand(s string) bool {
	return strings.Count(s, "&") !=
		strings.Count(s, "&amp;")+strings.Count(s, "&lt;")+strings.Count(s, "&gt;")
}

// item converts one post. The reason is "" or the word under which the post is dropped.
func (p *wirePost) item(at time.Time) (news.Item, string) {
	item := news.Item{
		ID: strings.TrimSpace(string(p.ID)), Source: NameOAuth,
		Community: strings.ToLower(sanitize.Line(string(p.Subreddit))),
		Title:     sanitize.Shorten(sanitize.Squeeze(string(p.Title)), news.TitleRunes),
		Summary:   summary(string(p.SelfText)),
		Score:     p.Score.Count(), Comments: p.Comments.Count(), ScoreKnown: p.Score.Known,
		Author:    sanitize.Shorten(sanitize.Line(string(p.Author)), labelRunes),
		SelfPost:  p.IsSelf.True,
		Flair:     sanitize.Shorten(sanitize.Squeeze(string(p.Flair)), labelRunes),
		Thumbnail: sanitize.WebURL(string(p.Thumbnail)), ObservedAt: at,
	}
	if seconds := p.CreatedUTC; seconds.Known && seconds.Value > 0 && seconds.Value < 1e11 {
		item.PostedAt = time.Unix(int64(seconds.Value), 0).UTC()
	}
	item.Permalink = permalink(string(p.Permalink), item.ID)
	item.URL = target(string(p.Overridden), string(p.URL), item.Permalink)
	return item, unusable(&item)
}

func unusable(item *news.Item) string {
	switch {
	case !validID(item.ID):
		return "no_id"
	case !slices.Contains(news.Communities, item.Community):
		return "wrong_community"
	case item.Title == "":
		return "no_title"
	case item.PostedAt.IsZero():
		return "no_date"
	}
	return ""
}

// summary returns the start of a text post as one line of at most news.SummaryRunes, cut at a word boundary. It
// returns "" for an empty, deleted or removed text.
func summary(text string) string {
	text = sanitize.Squeeze(text)
	if text == "[deleted]" || text == "[removed]" {
		return ""
	}
	return sanitize.Shorten(text, news.SummaryRunes)
}

// permalink returns the absolute address of a post, or its short address if it has no usable permalink.
func permalink(path, id string) string {
	path = strings.TrimSpace(path)
	if strings.HasPrefix(path, "/") && !strings.HasPrefix(path, "//") {
		path = site + path
	}
	if u := sanitize.WebURL(path); strings.HasPrefix(u, site+"/") {
		return u
	}
	return site + "/comments/" + id
}

// target returns the address that the post links to, else its own page. A crosspost may link to a path of
// Reddit.
func target(overridden, plainURL, own string) string {
	for _, candidate := range []string{overridden, plainURL} {
		if strings.HasPrefix(candidate, "/r/") || strings.HasPrefix(candidate, "/user/") {
			candidate = site + candidate
		}
		if u := sanitize.WebURL(candidate); u != "" {
			return u
		}
	}
	return own
}

func validID(id string) bool {
	return id != "" && len(id) <= 32 && strings.Trim(id, "0123456789abcdefghijklmnopqrstuvwxyz") == ""
}
