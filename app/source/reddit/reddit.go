// Package reddit reads the six communities from Reddit: through its API with an
// application's own credentials (OAuth), or, without any, from the public Atom
// feeds, which tell neither score nor comment count. Anonymous JSON has been
// answered with 403 since 30 May 2026 and is not tried.
package reddit

import (
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/pulsecast/pulsecast/app/news"
	"github.com/pulsecast/pulsecast/app/source/fetch"
)

// The names the two clients answer with as News.Source.
const (
	NameOAuth = "reddit"
	NameAtom  = "reddit-rss"
)

// readDeadline bounds one read over all communities, so that it ends before the
// next tick.
const readDeadline = 90 * time.Second

// UserAgent is the form Reddit demands: <platform>:<app id>:<version> (by /u/<user>).
// Requests under another one are throttled.
func UserAgent(version, user string) string {
	if user == "" {
		user = "pulsecast"
	}
	return fmt.Sprintf("server:com.pulsecast.pulsecast:%s (by /u/%s)", version, strings.TrimPrefix(user, "/u/"))
}

// shared is what both clients have.
type shared struct {
	fetch *fetch.Client
	log   *slog.Logger
	now   func() time.Time
	agent string
}

func (s *shared) fillDefaults() {
	if s.fetch == nil {
		s.fetch = fetch.New(fetch.Options{})
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.now == nil {
		s.now = time.Now
	}
	if s.agent == "" {
		s.agent = UserAgent("0.1.0", "")
	}
}

// stamp is the time an answer is recorded under: UTC, in the whole microseconds
// that both databases keep.
func (s *shared) stamp() time.Time { return s.now().UTC().Truncate(time.Microsecond) }

// receivedIn notes which answer brought the items.
func receivedIn(items []news.Item, resp *fetch.Response) {
	hash := resp.Hash()
	for i := range items {
		items[i].Received = hash
	}
}

func base(configured, fallback string) string {
	if configured == "" {
		return fallback
	}
	return strings.TrimRight(configured, "/")
}
