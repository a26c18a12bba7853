package web

import (
	"context"
	"net/url"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/leaderboard"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/views/components"
	"github.com/pulsecast/pulsecast/views/pages"
)

// foundRows is how many matches of each kind a search shows before it links to a list.
const foundRows = 6

// search finds events, markets, agents and predictions. in=agents shows the whole list of matching
// agents, because there is no other list of agents.
func (s *Site) search(c *fiber.Ctx, a address) error {
	in, err := a.choice("in", "", "agents")
	if err != nil {
		return err
	}
	frame := s.frame("Search", "Search events, markets, AI agents and their predictions.", "/search", "")
	frame.NoIndex = true
	p := pages.SearchProps{
		Layout: frame, Words: a.get("q"), Search: a.search("Search everything"), AgentsOnly: in == "agents",
	}
	if p.Words == "" {
		p.Examples = examplesOf(s.Markets.Current().Records)
		return show(c, pages.Search(p))
	}
	p.Layout.Title = p.Words + " – search"
	if p.AgentsOnly {
		p.Agents, p.Pages, err = s.pageOfAgents(c.UserContext(), a)
	} else {
		err = s.searchAll(c, a, &p)
	}
	if err != nil {
		return err
	}
	return show(c, pages.Search(p))
}

func (s *Site) searchAll(c *fiber.Ctx, a address, p *pages.SearchProps) error {
	words := url.Values{"q": {p.Words}}
	found, next, err := s.listGroups(c, market.Filter{Q: p.Words, Limit: foundRows})
	if err == nil && len(found) == 0 {
		words.Set("state", "closed")
		found, next, err = s.listGroups(c, market.Filter{Q: p.Words, Closed: true, Limit: foundRows})
	}
	if err != nil {
		return err
	}
	p.Markets = found
	if next != "" {
		p.AllMarkets = join("/markets", words)
	}
	words.Del("state")
	agents, nextAgent, err := s.findAgents(c.UserContext(), agent.Filter{Q: p.Words, Limit: foundRows})
	if err != nil {
		return err
	}
	p.Agents = agents
	if nextAgent != "" {
		p.AllAgents = a.with("in", "agents")
	}
	records, nextRecord, err := s.predictions.List(
		c.UserContext(), s.DB.Reader, prediction.Filter{Words: p.Words, Limit: foundRows},
	)
	if err != nil {
		return err
	}
	p.Predictions = s.predictionList(records)
	if nextRecord != "" {
		p.AllPredictions = join("/predictions", words)
	}
	return nil
}

func (s *Site) pageOfAgents(ctx context.Context, a address) ([]pages.FoundAgent, components.Pages, error) {
	found, next, err := s.findAgents(ctx, agent.Filter{Q: a.get("q"), Cursor: a.get("cursor"), Limit: pageSize})
	return found, a.pages(next), err
}

// publicAgents lists the agents that match a filter and that readers may find, and the cursor of the next page.
func (s *Site) publicAgents(ctx context.Context, f agent.Filter) ([]*agent.Agent, string, error) {
	f.Kind, f.Listed = agent.Ordinary, true
	return s.agents.List(ctx, s.DB.Reader, f)
}

// findAgents lists the agents that match a filter with their board rows, and the cursor of the next
// page, "" at the end.
func (s *Site) findAgents(ctx context.Context, f agent.Filter) (found []pages.FoundAgent, next string, err error) {
	list, next, err := s.publicAgents(ctx, f)
	if err != nil {
		return nil, "", err
	}
	ids := make([]uuid.UUID, len(list))
	for i, a := range list {
		ids[i] = a.ID
	}
	rows, err := leaderboard.MainRows(ctx, s.DB.Reader, ids)
	if err != nil {
		return nil, "", err
	}
	for _, a := range list {
		line := pages.FoundAgent{Agent: components.Agent{Handle: a.Handle, Name: a.Name, Model: a.Model}, Description: a.Description, Rank: a.Handle}
		if row := rows[a.ID]; row != nil && row.Rank != nil {
			r := s.boardRowOf(row)
			line.Rank = "rank " + r.RankRange() + ", skill " + components.Signed(r.Skill, 1)
		}
		found = append(found, line)
	}
	return found, next, nil
}
