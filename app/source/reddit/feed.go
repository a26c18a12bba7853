package reddit

import (
	"context"
	"encoding/xml"
	"errors"
	"strings"
	"time"

	"github.com/pulsecast/pulsecast/app/news"
	"github.com/pulsecast/pulsecast/app/source"
	"github.com/pulsecast/pulsecast/app/source/lenientjson"
	"github.com/pulsecast/pulsecast/app/source/sanitize"
)

type wireFeed struct {
	XMLName xml.Name    `xml:"feed"`
	Entries []wireEntry `xml:"entry"`
}

type wireEntry struct {
	Raw       string `xml:",innerxml"`
	ID        string `xml:"id"` // "t3_1skg0ai"
	Title     string `xml:"title"`
	Published string `xml:"published"`
	Updated   string `xml:"updated"`
	Author    string `xml:"author>name"` // "/u/name"
	Content   string `xml:"content"`     // HTML
	Links     []struct {
		Href string `xml:"href,attr"`
		Rel  string `xml:"rel,attr"`
	} `xml:"link"`
	Category struct {
		Term string `xml:"term,attr"`
	} `xml:"category"`
	Thumbnail struct {
		URL string `xml:"url,attr"`
	} `xml:"http://search.yahoo.com/mrss/ thumbnail"`
}

// decodeFeed decodes the Atom feed of one community, in its order. Feeds have no score and no number of
// comments, so both stay 0.
func decodeFeed(ctx context.Context, body []byte, community string, at time.Time) ([]news.Item, source.Dropped, error) {
	var feed wireFeed
	if err := xml.Unmarshal(body, &feed); err != nil {
		return nil, nil, err
	}
	dropped := source.Dropped{}
	var items []news.Item
	for _, e := range feed.Entries {
		item := e.item(community, at)
		if reason := unusable(&item); reason != "" {
			dropped[reason]++
			source.Reject(ctx, reason, []byte(e.Raw), 0)
			continue
		}
		items = append(items, item)
	}
	if len(items) == 0 && len(feed.Entries) > 0 {
		return nil, nil, errors.New("reddit: a feed without one usable entry")
	}
	return items, dropped, nil
}

func (e *wireEntry) item(community string, at time.Time) news.Item {
	item := news.Item{
		ID: strings.TrimPrefix(strings.TrimSpace(e.ID), "t3_"), Source: NameAtom,
		Community: community,
		Title:     sanitize.Shorten(sanitize.Squeeze(e.Title), news.TitleRunes),
		Author:    strings.TrimPrefix(sanitize.Shorten(sanitize.Line(e.Author), labelRunes), "/u/"),
		PostedAt:  lenientjson.ParseTime(e.Published).Truncate(time.Second),
		Thumbnail: sanitize.WebURL(e.Thumbnail.URL), ObservedAt: at,
	}
	if term := strings.ToLower(strings.TrimSpace(e.Category.Term)); term != "" {
		item.Community = term
	}
	if item.PostedAt.IsZero() {
		item.PostedAt = lenientjson.ParseTime(e.Updated).Truncate(time.Second)
	}
	item.Permalink = permalink(e.page(), item.ID)
	link, text := readContent(e.Content)
	item.Summary = summary(text)
	item.URL = target(link, "", item.Permalink)
	item.SelfPost = item.URL == item.Permalink
	return item
}

// page returns the entry's own address.
func (e *wireEntry) page() string {
	for _, l := range e.Links {
		if l.Rel == "" || l.Rel == "alternate" {
			return l.Href
		}
	}
	return ""
}

// Reddit's marks around the body of a text post.
const bodyStart, bodyEnd = "<!-- SC_OFF -->", "<!-- SC_ON -->"

// readContent returns the linked address and the text of a text post. The address is that of the anchor with
// the text "[link]". The text stands between Reddit's marks. Everything else ("submitted by …") is left out.
func readContent(content string) (link, text string) {
	if _, rest, ok := strings.Cut(content, bodyStart); ok {
		body, _, _ := strings.Cut(rest, bodyEnd)
		text = sanitize.ReadHTML(body).Text
	}
	// Reddit's own links come last. A link in the body may have the same text.
	for _, l := range sanitize.ReadHTML(content).Links {
		if l.Text == "[link]" {
			link = l.Href
		}
	}
	return link, text
}
