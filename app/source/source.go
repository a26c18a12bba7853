// Package source is what the service knows of its upstreams: the two feeds it
// reads and the ways a read can fail. The clients live in the packages below.
package source

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/news"
)

// Dropped counts the malformed records a batch left out, by reason
// ("no_id", "no_question", "wrong_community" …).
type Dropped map[string]int

// Markets is one reading of a market source.
type Markets struct {
	Markets    []market.Market
	Events     []market.Event // that the markets are in, as far as the answer describes them
	Dropped    Dropped
	ObservedAt time.Time // when the answer was received
	// Fallback is why the source that this one stands in for did not answer; nil when
	// it stands in for none.
	Fallback error
}

// Events is the answer to a request for events.
type Events struct {
	Events []market.Event
	Asked  []string // ids that the source was asked for and answered, known to it or not
}

// News is one reading of a news source: items in the source's own order within
// each community, Position set.
type News struct {
	Items      []news.Item
	Dropped    Dropped
	Source     string // which one answered: "reddit", "reddit-rss", "gdelt", "hackernews"
	ObservedAt time.Time
	Fallback   error // as of Markets
}

// MarketSource reads prediction markets.
type MarketSource interface {
	// Top reads the n open markets of highest volume, best first.
	Top(ctx context.Context, n int) (Markets, error)
	// ByID reads the named markets, open or closed. Ids the upstream does not
	// know are absent from the answer.
	ByID(ctx context.Context, ids []string) (Markets, error)
	// Events reads the named events with their tags. Ids the upstream does not know are
	// absent from the answer, which beside an error holds what came before it.
	Events(ctx context.Context, ids []string) (Events, error)
	// Winner asks the order book which outcome of a closed market won; ok is false
	// while it does not say.
	Winner(ctx context.Context, m *market.Market) (outcome int, ok bool, err error)
}

// NewsSource reads the six communities.
type NewsSource interface {
	Read(ctx context.Context) (News, error)
	// Interval is the least time between two reads the source allows.
	Interval() time.Duration
}

// PostSource is a NewsSource that tells whether posts still exist.
type PostSource interface {
	// Posts returns those of at most 100 posts that are there, and those that the source says are
	// deleted. A post in neither list is unknown to the source.
	Posts(ctx context.Context, ids []string) (there, deleted []string, err error)
}

// Error is a failed read. Reason is one fixed word, safe to publish: "timeout",
// "refused", "unreachable", "too_large", "parse", "empty", "cursor",
// "unauthorized", "cancelled" (by the caller) or "http_" and the status.
type Error struct {
	Reason string
	// RetryAfter is how long the upstream asked to be left alone; 0 when it did not.
	RetryAfter time.Duration
	Err        error
}

func (e *Error) Error() string {
	if e.Err == nil {
		return e.Reason
	}
	return fmt.Sprintf("%s: %v", e.Reason, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// Reason is the public word for a failed read; "error" for one that carries none.
func Reason(err error) string {
	if se, ok := errors.AsType[*Error](err); ok {
		return se.Reason
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "timeout"
	}
	return "error"
}
