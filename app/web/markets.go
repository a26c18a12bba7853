package web

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/settlement"
	"github.com/pulsecast/pulsecast/views/components"
	"github.com/pulsecast/pulsecast/views/pages"
)

// closingWithin lists the choices of the closing filter.
var closingWithin = map[string]time.Duration{
	"day": 24 * time.Hour, "week": 7 * 24 * time.Hour, "month": 30 * 24 * time.Hour,
}

func (s *Site) listMarkets(c *fiber.Ctx, a address) error {
	f, view, err := s.marketFilter(a)
	if err != nil {
		return err
	}
	frame := s.frame(
		"Markets", "Prediction markets with the AI agents' consensus beside each price.", "/markets", "/markets",
	)
	frame.NoIndex = a.narrowed()
	closing := "Closing next"
	if f.Closed {
		closing = "Just closed"
	}
	open := s.Markets.Current().Records
	p := pages.MarketsProps{
		Layout: frame, Narrowed: a.narrowed(), Search: a.search("Search questions"),
		Views:      a.chips("view", option{byEvent, "Events"}, option{"markets", "All markets"}),
		Sorts:      a.chips("sort", option{"volume", "Volume"}, option{"closesAt", closing}, option{"newest", "Newest"}),
		Categories: a.openChips("category", categoriesOf(open)),
		Tags:       a.openChips("tag", tagsOf(open)),
		States:     a.chips("state", option{"open", "Open"}, option{"closed", "Closed"}),
	}
	if !f.Closed {
		p.AsOf = s.when(s.Markets.Current().AsOf)
		p.Closing = a.chips("closes", option{"", "Any time"}, option{"day", "Within a day"}, option{"week", "Within a week"}, option{"month", "Within a month"})
	}
	p.Layout.Title = narrowedTitle(frame.Title, []string{a.get("q")}, p.Categories, p.Tags, p.Closing, p.States, p.Sorts)
	var next string
	if view == byEvent {
		if p.Groups, next, err = s.listGroups(c, f); err != nil {
			return err
		}
		full := false
		if f.Closed {
			full, err = s.Groups.Full(c.UserContext(), s.DB.Reader, f.Closed)
		}
		if full {
			p.Grouped, p.Older = market.GroupedMarkets, a.with("view", "markets")
		}
	} else {
		p.Rows, next, err = s.listAll(c, f)
	}
	if err != nil {
		return err
	}
	p.Pages = a.pages(next)
	return show(c, pages.Markets(p))
}

// byEvent is the view of the list that shows each event once.
const byEvent = "events"

// marketFilter reads the filters and the view of the list.
func (s *Site) marketFilter(a address) (f market.Filter, view string, err error) {
	f = market.Filter{
		Limit: pageSize, Cursor: a.get("cursor"), Category: strings.ToLower(a.get("category")),
		Tag: market.TagSlug(a.get("tag")), Q: a.get("q"),
	}
	sort, err := a.choice("sort", string(market.ByVolume), string(market.ByClosing), string(market.ByNewest))
	if err != nil {
		return f, "", err
	}
	closes, err := a.choice("closes", "", "day", "week", "month")
	if err != nil {
		return f, "", err
	}
	state, err := a.choice("state", "open", "closed")
	if err != nil {
		return f, "", err
	}
	f.Sort, f.Closed = market.Sort(sort), state == "closed"
	if within := closingWithin[closes]; within > 0 && !f.Closed {
		f.ClosesBefore = s.Now().Add(within)
	}
	view, err = a.choice("view", byEvent, "markets")
	return f, view, err
}

func (s *Site) listAll(c *fiber.Ctx, f market.Filter) (rows []pages.MarketRow, next string, err error) {
	found, next, err := s.markets.List(c.UserContext(), s.DB.Reader, f)
	if err != nil {
		return nil, "", err
	}
	rows, err = s.marketRows(c, found)
	return rows, next, err
}

func (s *Site) listGroups(c *fiber.Ctx, f market.Filter) (rows []pages.MarketGroup, next string, err error) {
	groups, next, err := s.Groups.List(c.UserContext(), s.DB.Reader, market.GroupFilter{
		Category: f.Category, Tag: f.Tag, Q: f.Q, Closed: f.Closed, ClosesBefore: f.ClosesBefore, Sort: f.Sort,
		Cursor: f.Cursor, Limit: f.Limit,
	})
	if err != nil {
		return nil, "", err
	}
	groups = slices.DeleteFunc(groups, func(g market.Group) bool { return len(g.Markets) == 0 }) // the market has closed since
	rows = make([]pages.MarketGroup, len(groups))
	for i := range groups {
		rows[i] = s.groupProps(&groups[i], f.Closed)
	}
	return rows, next, s.addOpinions(c, groups, rows)
}

// marketRows adds the agents' consensus and the price changes to markets, with one query each.
func (s *Site) marketRows(c *fiber.Ctx, markets []market.Market) ([]pages.MarketRow, error) {
	lines, err := s.sparks.of(c.UserContext(), s.DB.Reader, s.Now(), markets)
	if err != nil {
		return nil, err
	}
	rows := make([]pages.MarketRow, len(markets))
	for i := range markets {
		rows[i] = s.marketProps(&markets[i])
		rows[i].Prices = lines[markets[i].ID]
	}
	_, err = s.addConsensus(c.UserContext(), rows)
	return rows, err
}

// chartPoints is about how many prices a chart draws at most. More points than pixels would be useless.
const chartPoints = 400

func (s *Site) market(c *fiber.Ctx) error {
	m, err := s.pathMarket(c)
	if err != nil {
		return err
	}
	_, index := shownOutcome(m)
	history, err := s.markets.ThinnedPrices(c.UserContext(), s.DB.Reader, []string{m.ID}, time.Time{}, chartPoints)
	if err != nil {
		return err
	}
	records, _, err := s.predictions.List(c.UserContext(), s.DB.Reader, prediction.Filter{MarketID: m.ID, Limit: 100})
	if err != nil {
		return err
	}
	outcome, err := settlement.OutcomeOf(c.UserContext(), s.DB.Reader, m.ID)
	if err != nil {
		return err
	}
	rows := []pages.MarketRow{s.marketProps(m)}
	opinions, err := s.addConsensus(c.UserContext(), rows)
	if err != nil {
		return err
	}
	frame := s.frame(m.Name(), marketWords(rows[0]), marketPath(m.ID), "/markets")
	frame.Image = marketPath(m.ID) + "/card.png"
	p := pages.MarketProps{
		Layout: frame, Row: rows[0], Event: m.EventTitle, Tags: m.Tags, Book: marketView(m, index).
			Book(), Liquidity: m.Liquidity, Weighted: opinions[m.ID].Weighted, URL: m.URL,
		Description: m.Description, ResolutionSource: m.ResolutionSource, Resolution: string(m.Resolution), Unlisted: !m.Active && !m.Closed,
		ObservedAt: s.when(m.ObservedAt), History: drawn(history, index),
		Marks: predictionMarks(records), Stances: s.stances(records), Predictions: s.predictionList(records[:min(len(records), pageSize)]),
	}
	if outcome != nil {
		p.Settled, p.Void = outcome.String(), outcome.Void()
		if outcome.Ruled() {
			p.Ruling = outcome.Note
		}
	}
	question := market.QuestionKey(m.Question)
	for i := range p.Predictions {
		x := &p.Predictions[i]
		x.Repeats = x.Withheld() != "" || market.QuestionKey(x.Title) == question || x.Title == m.Name()
	}
	if len(records) > 0 {
		p.All = "/predictions?market=" + url.QueryEscape(m.ID)
	}
	if err := s.addSiblings(c, &p, m); err != nil {
		return err
	}
	for i, name := range m.Outcomes {
		p.Outcomes = append(p.Outcomes, pages.OutcomeRow{Name: name, View: marketView(m, i)})
	}
	return show(c, pages.Market(p))
}

// drawn returns the prices of one outcome that a chart shows.
func drawn(history []market.Price, outcome int) []components.PricePoint {
	var out []components.PricePoint
	for i := range history {
		v, ok := history[i].View(outcome)
		if !ok {
			continue
		}
		point := components.PricePoint{At: history[i].ObservedAt, Price: v.Price}
		if v.Book {
			point.Bid, point.Ask = &v.Bid, &v.Ask
		}
		out = append(out, point)
	}
	return out
}
