package verify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/pulsecast/pulsecast/app/score"
)

// client reads pages of the public API.
type client struct {
	base string
	http *http.Client
}

// maxBody is the maximum size of an answer, in bytes. A page of 100 predictions with the longest
// texts is smaller.
const maxBody = 16 << 20

// errNotFound is the error for an answer 404.
var errNotFound = errors.New("not found")

// get reads one answer into v. It waits and retries if the server asks for it.
func (c *client) get(ctx context.Context, path string, query url.Values, v any) error {
	address := strings.TrimRight(c.base, "/") + path + "?" + query.Encode()
	for {
		wait, err := c.try(ctx, address, v)
		if err != nil || wait == 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
	}
}

// try sends one request. wait is how long to wait before the next attempt, or 0 after a success.
func (c *client) try(ctx context.Context, address string, v any) (wait time.Duration, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return 0, fmt.Errorf("%s is not an address: %w", address, err)
	}
	req.Header.Set("User-Agent", "pulsecast-verify/1.0")
	res, err := c.http.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	if res.StatusCode == http.StatusTooManyRequests || res.StatusCode == http.StatusServiceUnavailable {
		seconds, err := strconv.Atoi(res.Header.Get("Retry-After"))
		if err == nil && seconds >= 0 && seconds <= 300 {
			return time.Duration(max(seconds, 1)) * time.Second, nil
		}
	}
	if res.StatusCode == http.StatusNotFound {
		return 0, fmt.Errorf("%s: %w", address, errNotFound)
	}
	if res.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("%s answered %s", address, res.Status)
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, maxBody)).Decode(v); err != nil {
		return 0, fmt.Errorf("%s: %w", address, err)
	}
	return 0, nil
}

// record holds the fields of a published prediction that a verification uses.
type record struct {
	ID         string
	Confidence *float64 // nil if not revealed
	Agent      struct {
		ID, Handle string
		Hidden     bool // the texts of its profile
	}
	Market *struct {
		ID, Outcome      string
		OutcomeIndex     int
		Event, Category  *string
		ScheduledCloseAt *time.Time
	}
	Baseline   *baseline
	Weight     *float64
	Status     string
	Resolution *struct{ Value *float64 }
	Scores     *struct {
		Brier         float64
		Edge, LogEdge *float64
		Day           string
	}
	CreatedAt  time.Time
	Reveal     string
	Hidden     bool // the texts
	Hash, Salt *string
	// With confidence and outcome, these are the hashed fields, as published.
	Title, Thesis, HorizonAt, Category, Model json.RawMessage
	Evidence                                  []struct{ Title, URL json.RawMessage }
}

type baseline struct {
	Probability                              float64
	Before, After, BeforeBid, BeforeAsk      *float64
	AfterBid, AfterAsk, MedianBid, MedianAsk *float64
	Previous                                 *float64
}

// row is one row of a board.
type row struct {
	Rank, RankLow, RankHigh                     *int
	Provisional, Reference, Proven              bool
	Reason                                      *string
	Agent                                       struct{ ID, Handle string }
	Skill                                       float64
	BestGuess, SkillLow, SkillHigh, Odds, Brier *float64
	Events                                      int64
}

// posterior returns the posterior that the row publishes. known is false without a stake.
func (r *row) posterior() (p score.Posterior, known bool) {
	if r.BestGuess == nil || r.SkillLow == nil || r.SkillHigh == nil {
		return p, false
	}
	return score.PosteriorOf(*r.BestGuess, *r.SkillLow, *r.SkillHigh), true
}

// prior holds the values that a board shrinks with.
type prior struct{ Mu, Tau, Kappa float64 }

// board is a whole leaderboard.
type board struct {
	AsOf  *time.Time
	Prior prior
	Need  struct{ Events, Days, Disagreements int64 } // for a rank
	Rows  []row
}

// maxPages bounds a list. A page has up to 100 records.
const maxPages = 100_000

// pages follows the pages of a list. A server must not make it go on for ever.
type pages struct {
	list string
	seen map[string]bool
}

// more reports whether there is another page after one with n records, and adds its cursor to the query.
func (p *pages) more(query url.Values, cursor *string, n int) (bool, error) {
	switch {
	case cursor == nil:
		return false, nil
	case n == 0:
		return false, fmt.Errorf("%s: a page has no records, but names a next page", p.list)
	case p.seen[*cursor]:
		return false, fmt.Errorf("%s: the pages repeat a cursor", p.list)
	case len(p.seen) == maxPages:
		return false, fmt.Errorf("%s: the list has more than %d pages", p.list, maxPages)
	}
	if p.seen == nil {
		p.seen = map[string]bool{}
	}
	p.seen[*cursor] = true
	query.Set("cursor", *cursor)
	return true, nil
}

// predictions reads every prediction, newest first.
func (c *client) predictions(ctx context.Context, each func(record)) error {
	query, pages := url.Values{"limit": {"100"}}, pages{list: "predictions"}
	for {
		var page struct {
			Predictions []record
			NextCursor  *string
		}
		if err := c.get(ctx, "/api/predictions", query, &page); err != nil {
			return err
		}
		for _, r := range page.Predictions {
			each(r)
		}
		if more, err := pages.more(query, page.NextCursor, len(page.Predictions)); !more {
			return err
		}
	}
}

// outcomes returns the names of a market's outcomes.
func (c *client) outcomes(ctx context.Context, marketID string) ([]string, error) {
	var answer struct {
		Market struct{ Outcomes []string }
	}
	err := c.get(ctx, "/api/intelligence/markets/"+url.PathEscape(marketID), nil, &answer)
	return answer.Market.Outcomes, err
}

// active reports whether an agent's profile says that it is active. Others may be left out of the boards.
func (c *client) active(ctx context.Context, handle string) (bool, error) {
	var answer struct{ Agent struct{ Status string } }
	err := c.get(ctx, "/api/agents/"+url.PathEscape(handle), nil, &answer)
	if errors.Is(err, errNotFound) {
		return false, nil
	}
	return answer.Agent.Status == "active", err
}

// board reads all pages of a board. whole is false if the board was rebuilt between two pages, so that they don't fit
// together.
func (c *client) board(ctx context.Context, window, category string) (b board, whole bool, err error) {
	query, pages := url.Values{"limit": {"100"}, "window": {window}}, pages{list: "leaderboard"}
	if category != "" {
		query.Set("category", category)
	}
	for first := true; ; first = false {
		var page struct {
			board
			Leaderboard []row
			NextCursor  *string
		}
		if err := c.get(ctx, "/api/leaderboard", query, &page); err != nil {
			return b, false, err
		}
		if !first && !sameTime(b.AsOf, page.AsOf) {
			return b, false, nil
		}
		b.AsOf, b.Prior, b.Need = page.AsOf, page.Prior, page.Need
		b.Rows = append(b.Rows, page.Leaderboard...)
		if more, err := pages.more(query, page.NextCursor, len(page.Leaderboard)); !more {
			return b, err == nil, err
		}
	}
}

func sameTime(a, b *time.Time) bool { return (a == nil) == (b == nil) && (a == nil || a.Equal(*b)) }
