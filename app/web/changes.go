package web

import (
	"net/url"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/score"
	"github.com/pulsecast/pulsecast/app/settlement"
	"github.com/pulsecast/pulsecast/views/pages"
)

// maxChanges is how many corrections the page shows.
const maxChanges = 200

func (s *Site) changes(c *fiber.Ctx) error {
	ctx, db := c.UserContext(), s.DB.Reader
	list, more, err := settlement.Corrections(ctx, db, settlement.CorrectionFilter{Limit: maxChanges})
	if err != nil {
		return err
	}
	var ids []string
	for _, k := range list {
		if k.MarketID != "" {
			ids = append(ids, k.MarketID)
		}
	}
	found, err := s.markets.ByIDs(ctx, db, ids)
	if err != nil {
		return err
	}
	titles := make(map[string]string, len(found))
	for i := range found {
		titles[found[i].ID] = found[i].Name()
	}
	p := pages.ChangesProps{More: more != "", Layout: s.frame("Changes", "Versions of the rules, corrections and voids, each with its reason.", "/changes", ""), Rules: rulebook()}
	for _, k := range list {
		p.List = append(p.List, s.change(k, titles))
	}
	return show(c, pages.Changes(p))
}

func rulebook() []pages.Rules {
	list := make([]pages.Rules, len(score.Rulebook))
	for i, r := range score.Rulebook {
		list[i] = pages.Rules(r)
	}
	return list
}

func (s *Site) change(k settlement.Correction, titles map[string]string) pages.Change {
	out := pages.Change{Kind: settlement.KindWords(k.Kind), Note: k.Note, Actor: k.Actor, At: s.when(k.CreatedAt)}
	switch {
	case k.PredictionID != uuid.Nil:
		out.Title, out.Href = "Prediction "+k.PredictionID.String(), "/predictions/"+k.PredictionID.String()
	case k.MarketID != "":
		out.Title, out.Href = titles[k.MarketID], "/markets/"+url.PathEscape(k.MarketID)
		if out.Title == "" {
			out.Title = "Market " + k.MarketID
		}
	}
	return out
}
