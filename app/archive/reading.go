package archive

import (
	"encoding/hex"
	"time"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/news"
)

// observedAs returns where and when a market was observed.
func observedAs(m *market.Market) Observed {
	return Observed{ObservedAt: database.Stored(m.ObservedAt), Source: m.Source, Received: hashOf(m.Received), Sample: m.Sample}
}

// MarketRowOf returns the facts of a market, as a reading appends them.
func MarketRowOf(m *market.Market) MarketRow {
	return MarketRow{
		Market: m.ID, Observed: observedAs(m), Question: m.Question, Title: m.Title, Slug: m.Slug, Category: m.Category,
		Tags: m.Tags, Outcomes: m.Outcomes, ClosesAt: known(m.ClosesAt), Active: m.Active, URL: m.URL, ImageURL: m.ImageURL,
		Description: m.Description, ResolutionSource: m.ResolutionSource,
		Event: m.EventID, EventTitle: m.EventTitle, EventSlug: m.EventSlug, EventPosition: m.EventPosition, Label: m.Label,
		ConditionID: m.ConditionID, TokenIDs: m.TokenIDs, Scalar: m.Scalar, Resolution: m.Resolution,
	}
}

// PriceRowOf returns the prices of an open market, as a reading appends them.
func PriceRowOf(m *market.Market) PriceRow {
	return PriceRow{
		Market: m.ID, Observed: observedAs(m), Prices: m.Prices, Price: m.Price, BestBid: m.BestBid, BestAsk: m.BestAsk,
		Liquidity: m.Liquidity, Volume: m.Volume, Volume24h: m.Volume24h, PriceChange24h: m.PriceChange24h,
	}
}

// ClosingRowOf returns the state of a closed market, as a reading appends it.
func ClosingRowOf(m *market.Market) ClosingRow {
	return ClosingRow{
		Market: m.ID, Observed: observedAs(m), ClosedAt: known(m.ClosedAt), Outcomes: m.Outcomes, Prices: m.Prices,
		Scalar: m.Scalar, Resolution: m.Resolution, Volume: m.Volume,
	}
}

// EventRowOf returns the facts of an event, as a reading appends them.
func EventRowOf(e *market.Event, source string, sample bool) EventRow {
	return EventRow{
		Event: e.ID, Observed: Observed{ObservedAt: database.Stored(e.UpdatedAt), Source: source, Received: hashOf(e.Received), Sample: sample},
		Slug: e.Slug, Title: e.Title, URL: e.URL, Description: e.Description, ClosesAt: known(e.ClosesAt),
		Volume: e.Volume, Volume24h: e.Volume24h, Exclusive: e.Exclusive, ByPrice: e.ByPrice, Tags: e.Tags,
	}
}

func newsRow(n *news.Item) NewsRow {
	return NewsRow{
		Item:      n.ID,
		Observed:  Observed{ObservedAt: database.Stored(n.ObservedAt), Source: n.Source, Received: hashOf(n.Received), Sample: n.Sample},
		Community: n.Community, Score: int64(n.Score), Comments: int64(n.Comments), ScoreKnown: n.ScoreKnown,
		PostedAt: database.Stored(n.PostedAt), SelfPost: n.SelfPost, Position: int64(n.Position),
	}
}

func textsOf(n *news.Item) *NewsTexts {
	return &NewsTexts{
		Title: n.Title, Summary: n.Summary, URL: n.URL, Permalink: n.Permalink, Author: n.Author, Flair: n.Flair, Thumbnail: n.Thumbnail,
	}
}

// without returns the row without its time and answer, and the row of an event also without its
// volumes. Rows that are then equal state the same facts.
func (r MarketRow) without() MarketRow { r.Observed = r.unseen(); return r }

func (r ClosingRow) without() ClosingRow { r.Observed = r.unseen(); return r }

func (r NewsRow) without() NewsRow { r.Observed = r.unseen(); return r }

func (r EventRow) without() EventRow {
	r.Observed, r.Volume, r.Volume24h = r.unseen(), nil, nil
	return r
}

func (o Observed) unseen() Observed { return Observed{Source: o.Source, Sample: o.Sample} }

// hashOf decodes a hash in hex. It returns nil if there is none.
func hashOf(text string) []byte {
	hash, err := hex.DecodeString(text)
	if err != nil || len(hash) == 0 {
		return nil
	}
	return hash
}

// known returns nil for the zero time.
func known(at time.Time) *time.Time {
	if at.IsZero() {
		return nil
	}
	at = database.Stored(at)
	return &at
}
