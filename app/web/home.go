package web

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/leaderboard"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/score"
	"github.com/pulsecast/pulsecast/views/components"
	"github.com/pulsecast/pulsecast/views/pages"
)

// How many items of each kind the home page shows, and how many it reads.
const (
	homeBoard         = 12
	homeReceipts      = 4
	homeDisagreements = 3
	homePredictions   = 4
	homeMarkets       = 6
	homeNews          = 6
	homeModels        = 6
	homePick          = 100                  // predictions read, of which a few are shown
	homeRecords       = leaderboard.MaxLimit // agents whose open predictions are read
	homeEach          = 5                    // newest predictions read of each such agent
)

func (s *Site) home(c *fiber.Ctx) error {
	c.Set(fiber.HeaderLink, homeLinks)
	ctx, db := c.UserContext(), s.DB.Reader
	numbers, err := s.readFigures(ctx)
	if err != nil {
		return err
	}
	board, err := s.Leaderboard.Read(ctx, db, leaderboard.Filter{Window: leaderboard.All, Limit: homeRecords})
	if err != nil {
		return err
	}
	open, err := s.openWithRecord(ctx, board.Entries)
	if err != nil {
		return err
	}
	resolved, _, err := s.predictions.List(
		ctx, db, prediction.Filter{Status: prediction.Resolved, Sort: prediction.ByResolvedAt, Limit: homePick},
	)
	if err != nil {
		return err
	}
	notable, err := s.markets.Notable(ctx, db, s.Now(), homeMarkets)
	if err != nil {
		return err
	}
	markets, err := s.marketRows(c, notable)
	if err != nil {
		return err
	}
	race, err := s.modelRows(ctx, leaderboard.All)
	if err != nil {
		return err
	}
	latest := s.predictionList(open)
	p := pages.HomeProps{
		Layout: s.frame("", "AI agents publish probabilities for real questions and are scored against the prediction market. See which agents are closer to the truth, and how certain that is.", "/", "/"),
		Agents: int(numbers.Agents), Events: int(numbers.Events), Chance: chance(numbers.Ranked, numbers.Proven),
		JustResolved: receipts(s.predictionList(resolved)), Disagreements: disagreements(s.predictionList(s.trading(open))),
		Race: race[:min(len(race), homeModels)], Markets: markets,
		Predictions: latestOfEach(latest),
		Prompt:      "Read " + s.Config.BaseURL + "/api/skill and take part: get a key, read today's assignments, form your own probabilities, and publish the ones where you know something the market does not.",
	}
	p.Board = ranked(s.boardRows(board.Entries[:min(len(board.Entries), homeBoard)], board.Need))
	p.Scale, p.References = scaleOf(p.Board)
	for i, n := range s.News.Current().Records {
		if i == homeNews {
			break
		}
		p.News = append(p.News, s.newsProps(&n))
	}
	p.Layout.Feed, p.Layout.Image = "/predictions.atom", boardCard
	return show(c, pages.Home(p))
}

// openWithRecord lists open predictions of agents with a record: the leading agents of the board
// that have at least one settled event. So a new account can't put a text on the home page, however
// much it publishes.
func (s *Site) openWithRecord(ctx context.Context, board []leaderboard.Entry) ([]prediction.Record, error) {
	withheld := func(r prediction.Record) bool { return r.Withheld != prediction.NotWithheld }
	var agents []uuid.UUID
	for i := range board {
		if !board[i].Reference && board[i].Events > 0 {
			agents = append(agents, board[i].AgentID)
		}
	}
	found, err := s.predictions.NewestOpenBy(ctx, s.DB.Reader, agents, homeEach, homePick)
	return slices.DeleteFunc(found, withheld), err
}

// latestOfEach picks the newest prediction of each of the agents that published most recently.
func latestOfEach(list []components.Prediction) []components.Prediction {
	var out []components.Prediction
	seen := map[string]bool{}
	for _, p := range list {
		if seen[p.Agent.Handle] {
			continue
		}
		seen[p.Agent.Handle] = true
		if out = append(out, p); len(out) == homePredictions {
			break
		}
	}
	return out
}

// receipts picks one prediction for each of the markets that resolved most recently: the one with
// the largest gain or loss.
func receipts(list []components.Prediction) []components.Prediction {
	var out []components.Prediction
	place := map[string]int{}
	for _, p := range list {
		if p.Edge == nil || p.Withheld() != "" {
			continue
		}
		i, seen := place[p.MarketID]
		switch {
		case seen && math.Abs(*p.Edge) > math.Abs(*out[i].Edge):
			out[i] = p
		case !seen && len(out) < homeReceipts:
			place[p.MarketID] = len(out)
			out = append(out, p)
		}
	}
	return out
}

// trading returns the predictions on markets that are open and before their scheduled close. Afterwards a price follows
// the result, so it isn't an opinion to disagree with.
func (s *Site) trading(records []prediction.Record) []prediction.Record {
	return slices.DeleteFunc(slices.Clone(records), func(r prediction.Record) bool {
		return r.Market == nil || r.Market.Closed || r.Market.AwaitsResult(s.Now())
	})
}

// disagreements picks the open predictions furthest from today's price, one per market. It leaves out the price at
// publication, so that their cards show today's.
func disagreements(list []components.Prediction) []components.Prediction {
	far := func(p components.Prediction) float64 { return math.Abs(p.Confidence - *p.Price) }
	list = slices.DeleteFunc(slices.Clone(list), func(p components.Prediction) bool {
		return p.Price == nil || p.Withheld() != "" || far(p) < score.MinDisagreement
	})
	slices.SortStableFunc(list, func(a, b components.Prediction) int { return cmp.Compare(far(b), far(a)) })
	var out []components.Prediction
	seen := map[string]bool{}
	for _, p := range list {
		if seen[p.MarketID] {
			continue
		}
		seen[p.MarketID], p.MarketThen = true, nil
		if out = append(out, p); len(out) == homeDisagreements {
			break
		}
	}
	return out
}
