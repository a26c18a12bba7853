// Package reddit reads the six communities from Reddit. With an application's credentials it uses the API
// (OAuth). Without credentials it reads the public Atom feeds, which have no scores and no numbers of comments.
// Anonymous requests for JSON have returned 403 since 30 May 2026 and aren't tried.
package reddit

import (
	"cmp"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/news"
	"github.com/pulsecast/pulsecast/app/source/fetch"
)

// The News.Source names of the two clients.
const (
	NameOAuth = "reddit"
	NameAtom  = "reddit-rss"
)

// readDeadline limits one read of all communities, so that it ends before the next tick.
const readDeadline = 90 * time.Second

// UserAgent returns a User-Agent in the form that Reddit requires: <platform>:<app id>:<version> (by
// /u/<user>). Reddit throttles requests with any other form.
func UserAgent(version, user string) string {
	if user == "" {
		user = "pulsecast"
	}
	return fmt.Sprintf("server:com.pulsecast.pulsecast:%s (by /u/%s)", version, strings.TrimPrefix(user, "/u/"))
}

// shared holds the fields that both clients have.
type shared struct {
	fetch *fetch.Client
	log   *slog.Logger
	now   func() time.Time
	agent string
}

func (s *shared) fillDefaults() {
	s.fetch = cmp.Or(s.fetch, fetch.New(fetch.Options{}))
	s.log = cmp.Or(s.log, slog.New(slog.DiscardHandler))
	if s.now == nil {
		s.now = time.Now
	}
}

// stamp returns when the source made a response: UTC in whole microseconds, the precision of both databases.
func (s *shared) stamp(resp *fetch.Response) time.Time {
	return database.Stored(s.now().Add(-resp.Age))
}

// receivedIn sets the hash of the response on its items.
func receivedIn(items []news.Item, resp *fetch.Response) {
	hash := resp.Hash()
	for i := range items {
		items[i].Received = hash
	}
}
