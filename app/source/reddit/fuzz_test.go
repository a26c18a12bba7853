package reddit

import (
	"strings"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/news"
	"github.com/pulsecast/pulsecast/app/plaintext"
)

var fuzzedAt = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// sound fails for an item that a page couldn't show.
func sound(t *testing.T, items []news.Item) {
	for _, i := range items {
		if i.ID == "" || strings.TrimSpace(i.Title) == "" || plaintext.Check(i.Title, false) != "" || plaintext.Check(i.Summary, true) != "" {
			t.Errorf("got an invalid item %+v", i)
		}
	}
}

// FuzzListing checks that a listing is either refused or gives valid items.
func FuzzListing(f *testing.F) {
	for _, seed := range []string{
		`{"data":{"children":[{"kind":"t3","data":{"id":"1","title":"T","created_utc":1,"permalink":"/r/x","url":"https://x.org","subreddit":"worldnews"}}]}}`,
		`{"data":{"children":[null,1,{}]}}`, `{"data":null}`, `{"data":{"children":[{"data":{"title":"\u0000&amp;","created_utc":"1e400"}}]}}`, `[`,
	} {
		f.Add([]byte(seed), true)
	}
	f.Fuzz(func(t *testing.T, body []byte, over18 bool) {
		if items, _, err := decodeListing(t.Context(), body, over18, fuzzedAt); err == nil {
			sound(t, items)
		}
	})
}

// FuzzFeed checks that a feed is either refused or gives valid items.
func FuzzFeed(f *testing.F) {
	for _, seed := range []string{
		`<feed xmlns="http://www.w3.org/2005/Atom"><entry><id>t3_1</id><title>T</title><published>2026-11-22T00:00:00Z</published><link href="https://x.org"/><content type="html">&lt;a href="https://y.org"&gt;[link]&lt;/a&gt;</content></entry></feed>`,
		`<feed><entry/></feed>`, `<feed>`, `<!DOCTYPE x [<!ENTITY a "b">]><feed><entry><title>&a;</title></entry></feed>`, `<feed><entry><content>&lt;&lt;a</content></entry></feed>`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if items, _, err := decodeFeed(t.Context(), body, "worldnews", fuzzedAt); err == nil {
			sound(t, items)
		}
	})
}
