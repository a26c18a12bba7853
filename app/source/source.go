// Package source defines the two feeds that the service reads, and the ways in which a read can fail. The
// clients are in the packages below.
package source

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/news"
)

// Dropped counts the invalid records that a batch left out, by reason ("no_id", "no_question",
// "wrong_community" …).
type Dropped map[string]int

// Markets is one reading of a market source.
type Markets struct {
	Markets    []market.Market
	Events     []market.Event // the events of the markets, as far as the response describes them
	Dropped    Dropped
	ObservedAt time.Time // when the first response was received; a market that a cache kept has an earlier time
	// Missing are the requested ids that the source seems not to know. Of a record that was dropped, the source
	// knows the id. If that can't be read, nothing counts as missing.
	Missing []string
	// Fallback is the error of the source that this one replaced, or nil if it is the first choice.
	Fallback error
}

// News is one reading of a news source. Within each community, the items are in the source's order and Position
// is set.
type News struct {
	Items      []news.Item
	Dropped    Dropped
	Source     string    // the source that answered: "reddit", "reddit-rss", "gdelt", "hackernews"
	ObservedAt time.Time // of the newest items; others may have an earlier time
	// Fallback holds the errors of the sources that this one replaced, or the error of a source that returns what it
	// read before. It is nil if there were none.
	Fallback error
	// Partial holds the errors of the communities that could not be read. It is nil if there were none.
	Partial error
}

// MarketSource reads prediction markets.
type MarketSource interface {
	// Top returns the n open markets with the highest volume, highest first.
	Top(ctx context.Context, n int) (Markets, error)
	// ByID returns markets by id, open or closed. Missing holds the ids that the source doesn't know. With an
	// error, it also returns the markets that it could read. It asks for the first ids first.
	ByID(ctx context.Context, ids []string) (Markets, error)
	// Events returns events by id, with their tags. It leaves out ids that the source doesn't know. With an
	// error, it also returns what it has read so far.
	Events(ctx context.Context, ids []string) ([]market.Event, error)
	// Winner returns the outcome of a closed market that won, according to the order book. ok is false if the
	// book doesn't say.
	Winner(ctx context.Context, m *market.Market) (outcome int, ok bool, err error)
}

// NewsSource reads the six communities.
type NewsSource interface {
	Read(ctx context.Context) (News, error)
	// Interval is the shortest time between two reads that the source allows.
	Interval() time.Duration
}

// PostSource is implemented by a NewsSource that can tell whether posts still exist.
type PostSource interface {
	// Posts takes at most 100 ids. It returns the posts that exist and those that the source reports as
	// deleted. A post in neither list is unknown to the source.
	Posts(ctx context.Context, ids []string) (there, deleted []string, err error)
}

// Error is a failed read. Reason is one fixed word that is safe to publish: "timeout", "refused", "unreachable",
// "interrupted" (in the middle of a response), "too_large", "parse", "empty", "cursor", "unauthorized", "cancelled" (by the
// caller), or "http_" with the status.
type Error struct {
	Reason string
	// RetryAfter is the pause that the upstream asked for, or 0 if it asked for none.
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

// Reason returns the public word for a failed read, or "error" if err has none.
func Reason(err error) string {
	if se, ok := errors.AsType[*Error](err); ok {
		return se.Reason
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "timeout"
	}
	return "error"
}

// RetryAfter returns the pause that the upstream of a failed read asked for, or 0 if it asked for none.
func RetryAfter(err error) time.Duration {
	if se, ok := errors.AsType[*Error](err); ok {
		return se.RetryAfter
	}
	return 0
}
