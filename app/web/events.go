package web

import (
	"cmp"
	"net/url"
	"slices"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/pulsecast/pulsecast/app/httpserver"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/problem"
	"github.com/pulsecast/pulsecast/views/components"
	"github.com/pulsecast/pulsecast/views/pages"
)

const (
	// eventPage is how many outcomes one page of an event shows.
	eventPage = 50
	// seriesSpan and seriesPoints bound the time and the points of the lines in an event's chart.
	seriesSpan   = 30 * 24 * time.Hour
	seriesPoints = 150
)

func eventPath(id string) string { return "/events/" + url.PathEscape(id) }

func (s *Site) event(c *fiber.Ctx, a address) error {
	after, err := market.ParsePlace(a.get("cursor"))
	if err != nil {
		return err
	}
	ctx, db := c.UserContext(), s.DB.Reader
	e, found, err := s.markets.EventByID(ctx, db, httpserver.PathValue(c, "id"))
	if err != nil {
		return err
	}
	if !found {
		return problem.NotFound("There is no event at this address.")
	}
	siblings, err := s.markets.Siblings(ctx, db, e)
	if err != nil {
		return err
	}
	shown, from, next := siblings.Page(after, eventPage)
	markets, err := s.markets.InOrder(ctx, db, slices.Concat(siblings.Likeliest, shown))
	if err != nil {
		return err
	}
	onPage := slices.DeleteFunc(slices.Clone(markets), func(m market.Market) bool { return !slices.Contains(shown, m.ID) })
	p := s.eventProps(e, siblings, onPage)
	p.Address, p.From, p.Pages = a.String(), from+1, a.pages(next)
	p.Layout.NoIndex = a.narrowed()
	if _, err := s.addConsensus(ctx, p.Rows); err != nil {
		return err
	}
	if p.Series, err = s.series(c, siblings.Likeliest, markets); err != nil {
		return err
	}
	records, _, err := s.predictions.List(ctx, db, prediction.Filter{EventID: e.ID, Limit: pageSize})
	if err != nil {
		return err
	}
	p.Predictions = s.predictionList(records)
	for i := range records {
		if m := records[i].Market; m != nil { // the page names the event already
			p.Predictions[i].Title, p.Predictions[i].Market = m.ShortName(), m.ShortName()
		}
	}
	if len(records) > 0 {
		p.All = "/predictions?event=" + url.QueryEscape(e.ID)
	}
	return show(c, pages.Event(p))
}

// eventProps fills in the fields that come from the event and one page of its markets.
func (s *Site) eventProps(e *market.Event, siblings *market.Siblings, markets []market.Market) pages.EventProps {
	category, tags := e.Subject(siblings.Markets)
	name := e.Name(siblings.Markets)
	p := pages.EventProps{
		Layout: s.frame(name, "A prediction market of "+components.Plural(len(siblings.IDs), "outcome", "outcomes")+
			", with the AI agents' consensus beside each price.", eventPath(e.ID), "/markets"),
		ID: e.ID, Title: name, Category: category, Tags: tags, Total: len(siblings.IDs), Open: siblings.Open,
		Sum: siblings.Sum, Exclusive: e.Exclusive, Volume: cmp.Or(e.Volume, siblings.Volume), Volume24h: e.Volume24h,
		ClosesAt: s.when(siblings.ClosesAt), Description: e.Description, URL: e.URL,
		Rows: make([]pages.MarketRow, len(markets)),
	}
	if over, known := siblings.Overround(e); known {
		p.Overround = &over
	}
	for i := range markets {
		p.Rows[i] = s.marketProps(&markets[i])
		p.Sample = p.Sample || markets[i].Sample
	}
	return p
}

// series reads the price lines of the named markets with one query.
func (s *Site) series(c *fiber.Ctx, ids []string, markets []market.Market) ([]components.Series, error) {
	prices, err := s.markets.ThinnedPrices(c.UserContext(), s.DB.Reader, ids, s.Now().Add(-seriesSpan), seriesPoints)
	if err != nil {
		return nil, err
	}
	var out []components.Series
	for _, id := range ids {
		i := slices.IndexFunc(markets, func(m market.Market) bool { return m.ID == id })
		if i < 0 {
			continue
		}
		_, outcome := shownOutcome(&markets[i])
		line := components.Series{Name: markets[i].ShortName()}
		for j := range prices {
			if price, ok := prices[j].Of(outcome); ok && prices[j].MarketID == id {
				line.Prices = append(line.Prices, components.PricePoint{At: prices[j].ObservedAt, Price: price})
			}
		}
		out = append(out, line)
	}
	return components.Drawable(out), nil
}

// addSiblings adds a market's event and the likeliest other markets of it.
func (s *Site) addSiblings(c *fiber.Ctx, p *pages.MarketProps, m *market.Market) error {
	if m.EventID == "" {
		return nil
	}
	ctx, db := c.UserContext(), s.DB.Reader
	e, found, err := s.markets.EventByID(ctx, db, m.EventID)
	if err != nil || !found {
		return err
	}
	siblings, err := s.markets.Siblings(ctx, db, e)
	if err != nil {
		return err
	}
	p.EventID, p.Total = e.ID, len(siblings.IDs)
	others := slices.DeleteFunc(slices.Clone(siblings.Likeliest), func(id string) bool { return id == m.ID })
	markets, err := s.markets.InOrder(ctx, db, others)
	if err != nil {
		return err
	}
	for i := range markets {
		p.Siblings = append(p.Siblings, s.marketProps(&markets[i]))
	}
	return nil
}

// groupProps maps a group. An event with one market is shown as that market.
func (s *Site) groupProps(g *market.Group, closed bool) pages.MarketGroup {
	out := pages.MarketGroup{Total: g.Total, Closed: closed}
	for i := range g.Markets {
		m := &g.Markets[i]
		out.Markets = append(out.Markets, s.marketProps(m))
		out.Sample = out.Sample || m.Sample
	}
	if first := &g.Markets[0]; g.Event == nil || g.Total == 1 {
		out.Title, out.Category, out.Volume = first.Name(), first.Category, first.Volume
		return out
	}
	out.EventID, out.Title, out.Volume = g.Event.ID, g.Event.Name(g.Markets), g.Event.Volume
	out.Category, _ = g.Event.Subject(g.Markets)
	closes := g.Event.ClosesAt
	for i := range g.Markets { // an event's own schedule is often that of its first market
		if at := g.Markets[i].ClosesAt; at.After(closes) {
			closes = at
		}
	}
	out.ClosesAt = s.when(closes)
	return out
}

// addOpinions adds the agents' consensus to the prices of groups, and the price change of each
// group's first market. Each takes one query.
func (s *Site) addOpinions(c *fiber.Ctx, groups []market.Group, rows []pages.MarketGroup) error {
	var leaders []market.Market
	var ids []string
	for i := range groups {
		leaders = append(leaders, groups[i].Markets[0])
		for j := range groups[i].Markets {
			ids = append(ids, groups[i].Markets[j].ID)
		}
	}
	lines, err := s.sparks.of(c.UserContext(), s.DB.Reader, s.Now(), leaders)
	if err != nil {
		return err
	}
	opinions, err := s.predictions.Consensus(c.UserContext(), s.DB.Reader, ids)
	if err != nil {
		return err
	}
	for i := range rows {
		rows[i].Markets[0].Prices = lines[rows[i].Markets[0].ID]
		for j := range rows[i].Markets {
			setConsensus(&rows[i].Markets[j], opinions)
		}
	}
	return nil
}

func setConsensus(row *pages.MarketRow, opinions map[string]prediction.Consensus) {
	c := opinions[row.ID]
	row.Consensus, row.Agents, row.Others = c.Median, c.Agents, c.Others
}
