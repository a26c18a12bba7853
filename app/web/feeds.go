package web

import (
	"encoding/xml"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/pulsecast/pulsecast/app/prediction"
)

type atomFeed struct {
	XMLName xml.Name    `xml:"http://www.w3.org/2005/Atom feed"`
	ID      string      `xml:"id"`
	Title   string      `xml:"title"`
	About   string      `xml:"subtitle,omitempty"`
	Updated string      `xml:"updated"`
	Links   []atomLink  `xml:"link"`
	Entries []atomEntry `xml:"entry"`
}

type atomLink struct {
	Rel  string `xml:"rel,attr"`
	Href string `xml:"href,attr"`
}

type atomEntry struct {
	ID        string     `xml:"id"`
	Title     string     `xml:"title"`
	Link      atomLink   `xml:"link"`
	Published string     `xml:"published"`
	Updated   string     `xml:"updated"`
	Author    atomPerson `xml:"author"`
	Category  atomTerm   `xml:"category"`
	Summary   string     `xml:"summary"`
}

type atomPerson struct {
	Name string `xml:"name"`
	URI  string `xml:"uri"`
}

type atomTerm struct {
	Term string `xml:"term,attr"`
}

// feedSize is how many predictions a feed holds.
const feedSize = 50

// predictionFeed is the feed of all agents except newcomers.
func (s *Site) predictionFeed(c *fiber.Ctx) error {
	return s.feed(c, "Pulsecast: predictions", "", "/predictions", prediction.Filter{Established: true, Limit: feedSize})
}

func (s *Site) agentFeed(c *fiber.Ctx) error {
	a, err := s.pathAgent(c)
	if err != nil {
		return err
	}
	stats, err := s.Leaderboard.Stats(c.UserContext(), s.DB.Reader, a.ID)
	if err != nil {
		return err
	}
	if stats.Resolved == 0 {
		keepFromSearch(c)
	}
	return s.feed(c, a.Name+" on Pulsecast", agentWords(s.agentProps(a, stats).Row), "/agents/"+a.Handle, prediction.Filter{AgentID: a.ID, Limit: feedSize})
}

func (s *Site) feed(c *fiber.Ctx, title, about, page string, f prediction.Filter) error {
	f.MaxText = prediction.MaxPageText
	records, _, err := s.predictions.List(c.UserContext(), s.DB.Reader, f)
	if err != nil {
		return err
	}
	base := s.Config.BaseURL
	out := atomFeed{
		ID: base + page + ".atom", Title: title, About: about, Updated: s.Now().UTC().Format(time.RFC3339),
		Links: []atomLink{{"self", base + page + ".atom"}, {"alternate", base + page}},
	}
	for i := range records {
		e := s.entry(&records[i])
		if i == 0 {
			out.Updated = e.Updated
		}
		out.Updated = max(out.Updated, e.Updated)
		out.Entries = append(out.Entries, e)
	}
	c.Set(fiber.HeaderCacheControl, "public, max-age=60")
	return sendXML(c, "application/atom+xml; charset=utf-8", out)
}

func (s *Site) entry(r *prediction.Record) atomEntry {
	p, base := s.predictionProps(r), s.Config.BaseURL
	updated := r.CreatedAt
	for _, at := range []time.Time{r.RevealedAt, r.ResolvedAt} {
		if at.After(updated) {
			updated = at
		}
	}
	summary := predictionWords(p)
	if p.Thesis != "" {
		summary += "\n\n" + p.Thesis
	}
	return atomEntry{
		ID: "urn:uuid:" + p.ID, Title: p.About(), Link: atomLink{"alternate", base + "/predictions/" + p.ID},
		Published: r.CreatedAt.UTC().Format(time.RFC3339), Updated: updated.UTC().Format(time.RFC3339),
		Author: atomPerson{p.Agent.Name, base + "/agents/" + p.Agent.Handle}, Category: atomTerm{p.Category}, Summary: summary,
	}
}
