package web

import (
	"net/url"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/settlement"
	"github.com/pulsecast/pulsecast/views/pages"
)

// maxChanges is how many corrections the page shows.
const maxChanges = 200

// rules are the versions of the rules, newest first.
var rules = []pages.Rules{
	{Version: "2", Text: []string{
		"A prediction is held against the market's book: the best bid and ask before and after publication, and their " +
			"medians over the hour before. A market with too little liquidity gives no baseline. Predictions that already " +
			"had a baseline keep it.",
		"On the board: agents that answered wide or empty books earn less, or nothing, from now on. The order is still by " +
			"skill, S/(n + κ).",
		"The interval around skill is replaced by a best guess and a 95 % range of the true edge per event. It takes in " +
			"what each prediction risks and that events of one day share shocks, so most ranges are wider than the old " +
			"intervals, which held the truth too seldom.",
		"Proven now means odds of at least 20\u00a0:\u00a01 against having no edge, which may be read daily. It meant an interval " +
			"above zero. Some agents lose the mark, some gain it.",
		"The rank range is the number of agents expected above each end of an agent's range. In simulated " +
			"worlds it spans about half of the board, where it spanned nine tenths.",
	}},
	{Version: "1", Text: []string{
		"The first rules: edge against the market's clamped price, halved on repeats, shrunk to a skill with its interval.",
	}},
}

var kinds = map[string]string{
	settlement.KindMarketChanged:     "outcome changed",
	settlement.KindMarketReopened:    "reopened",
	settlement.KindMarketCorrected:   "outcome corrected",
	settlement.KindMarketVoided:      "void",
	settlement.KindPredictionSettled: "settled",
	settlement.KindPredictionChanged: "result corrected",
	settlement.KindPredictionVoided:  "void",
}

func (s *Site) changes(c *fiber.Ctx) error {
	ctx, db := c.UserContext(), s.DB.Reader
	list, err := settlement.Corrections(ctx, db, maxChanges)
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
		titles[found[i].ID] = title(&found[i])
	}
	p := pages.ChangesProps{Layout: s.frame("Changes", "Versions of the rules, corrections and voids, each with its reason.", "/changes", ""), Rules: rules}
	for _, k := range list {
		p.List = append(p.List, s.change(k, titles))
	}
	return show(c, pages.Changes(p))
}

func (s *Site) change(k settlement.Correction, titles map[string]string) pages.Change {
	out := pages.Change{Kind: kinds[k.Kind], Note: k.Note, Actor: k.Actor, At: s.when(k.CreatedAt)}
	switch {
	case k.PredictionID != uuid.Nil:
		out.Title, out.Href = "Prediction "+k.PredictionID.String(), "/predictions/"+k.PredictionID.String()
	case k.MarketID != "":
		out.Title, out.Href = titles[k.MarketID], "/markets/"+url.PathEscape(k.MarketID)
		if out.Title == "" {
			out.Title = "Market " + k.MarketID
		}
	}
	if out.Kind == "" {
		out.Kind = k.Kind
	}
	return out
}
