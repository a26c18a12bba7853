package polymarket

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/source"
	"github.com/pulsecast/pulsecast/app/source/fetch"
	"github.com/pulsecast/pulsecast/app/source/lenientjson"
)

type wireBook struct {
	ConditionID lenientjson.Text            `json:"condition_id"`
	Tokens      lenientjson.Each[wireToken] `json:"tokens"`
}

type wireToken struct {
	TokenID lenientjson.Text `json:"token_id"`
	Outcome lenientjson.Text `json:"outcome"`
	Winner  lenientjson.Flag `json:"winner"`
}

// Winner asks the order book which outcome of m won. ok is false if the book names no single winner or doesn't
// know the market.
func (c *Client) Winner(ctx context.Context, m *market.Market) (outcome int, ok bool, err error) {
	if m.ConditionID == "" {
		return 0, false, nil
	}
	var book wireBook
	address := c.clob + "/markets/" + url.PathEscape(m.ConditionID)
	if _, err := c.fetch.JSON(ctx, fetch.Request{URL: address}, &book); err != nil {
		if source.Reason(err) == "http_404" {
			return 0, false, nil
		}
		return 0, false, err
	}
	// A response about another market must never settle this one.
	if book.ConditionID != "" && !strings.EqualFold(string(book.ConditionID), m.ConditionID) {
		return 0, false, &source.Error{
			Reason: "parse", Err: fmt.Errorf("clob: asked for market %s, got %s", m.ConditionID, book.ConditionID),
		}
	}
	outcome, ok = winner(book.Tokens, m)
	return outcome, ok, nil
}

// winner returns the outcome of the only winning token. It matches by the outcome's name, else by the token's
// id.
func winner(tokens []wireToken, m *market.Market) (int, bool) {
	tokens = slices.DeleteFunc(slices.Clone(tokens), func(t wireToken) bool { return !t.Winner.True })
	if len(tokens) != 1 {
		return 0, false
	}
	i := m.OutcomeIndex(name(tokens[0].Outcome))
	if id := string(tokens[0].TokenID); i < 0 && id != "" && len(m.TokenIDs) == len(m.Outcomes) {
		i = slices.Index(m.TokenIDs, id)
	}
	return max(i, 0), i >= 0
}

// Point is one price of an outcome.
type Point struct {
	At    time.Time // UTC
	Price float64   // 0..1
}

// Span selects a part of a price history, either by Interval ("max", "1m", "1w", "1d", "6h", "1h") or by Start
// and End. A zero End means now.
type Span struct {
	Interval   string
	Start, End time.Time
	// Fidelity is the distance between points, in whole minutes. With 0 the source chooses. For resolved
	// markets, the history is empty if Fidelity is below 12 hours.
	Fidelity time.Duration
}

// window is the longest period that one request to the order book may cover.
const window = 15 * 24 * time.Hour

// History returns the prices of one outcome token, oldest first and without duplicate times. A period of more
// than 15 days takes several requests. The history of a market without trades is empty, which isn't an error.
func (c *Client) History(ctx context.Context, tokenID string, span Span) ([]Point, error) {
	if tokenID == "" {
		return nil, errors.New("polymarket: a history needs a token")
	}
	ctx, cancel := context.WithTimeout(ctx, readDeadline)
	defer cancel()
	query := url.Values{"market": {tokenID}}
	if minutes := int(span.Fidelity / time.Minute); minutes > 0 {
		query.Set("fidelity", strconv.Itoa(minutes))
	}
	if span.Start.IsZero() {
		interval := span.Interval
		if interval == "" {
			interval = "max"
		}
		query.Set("interval", interval)
		points, err := c.points(ctx, query)
		return tidy(points), err
	}
	end := span.End
	if end.IsZero() {
		end = c.now()
	}
	var all []Point
	for from := span.Start; from.Before(end); from = from.Add(window) {
		to := from.Add(window)
		if to.After(end) {
			to = end
		}
		query.Set("startTs", strconv.FormatInt(from.Unix(), 10))
		query.Set("endTs", strconv.FormatInt(to.Unix(), 10))
		points, err := c.points(ctx, query)
		if err != nil {
			return nil, err
		}
		all = append(all, points...)
	}
	return tidy(all), nil
}

func (c *Client) points(ctx context.Context, query url.Values) ([]Point, error) {
	var answer struct {
		History lenientjson.Each[struct {
			T lenientjson.Number `json:"t"`
			P lenientjson.Number `json:"p"`
		}] `json:"history"`
	}
	if _, err := c.fetch.JSON(ctx, fetch.Request{URL: c.clob + "/prices-history?" + query.Encode()}, &answer); err != nil {
		return nil, err
	}
	points := make([]Point, 0, len(answer.History))
	for _, h := range answer.History {
		// 1e11 s is in the year 5138, so larger values aren't seconds
		if h.T.Known && h.P.Known && h.T.Value > 0 && h.T.Value < 1e11 {
			points = append(points, Point{At: time.Unix(int64(h.T.Value), 0).UTC(), Price: clamp(h.P.Value)})
		}
	}
	return points, nil
}

func tidy(points []Point) []Point {
	slices.SortStableFunc(points, func(a, b Point) int { return a.At.Compare(b.At) })
	return slices.CompactFunc(points, func(a, b Point) bool { return a.At.Equal(b.At) })
}
