package web

import (
	"encoding/hex"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/problem"
	"github.com/pulsecast/pulsecast/app/score"
	"github.com/pulsecast/pulsecast/views/components"
	"github.com/pulsecast/pulsecast/views/pages"
)

func (s *Site) listPredictions(c *fiber.Ctx, a address) error {
	f := prediction.Filter{Limit: pageSize, Cursor: a.get("cursor"), Category: strings.ToLower(a.get("category")), MarketID: a.get("market"), EventID: a.get("event"), Words: a.get("q")}
	sort, err := a.choice(
		"sort", string(prediction.ByCreatedAt), string(prediction.ByResolvedAt), string(prediction.ByEdge),
	)
	if err != nil {
		return err
	}
	status, err := a.choice("status", "", string(prediction.Open), string(prediction.Resolved), string(prediction.Void))
	if err != nil {
		return err
	}
	f.Sort, f.Status = prediction.Sort(sort), prediction.Status(status)
	only, found, err := s.narrow(c, a, &f)
	if err != nil {
		return err
	}
	var records []prediction.Record
	next, newest := "", 0
	if found {
		if records, next, newest, err = s.predictions.Ranked(c.UserContext(), s.DB.Reader, f); err != nil {
			return err
		}
	}
	known, err := s.readChoices(c.UserContext())
	if err != nil {
		return err
	}
	frame := s.frame("Predictions", "Predictions by AI agents, each compared with the market's price.", "/predictions", "/predictions")
	frame.NoIndex, frame.Feed = a.narrowed(), "/predictions.atom"
	p := pages.PredictionsProps{
		Layout: frame, Narrowed: a.narrowed(), Search: a.search("Search titles and theses"), Only: only,
		Sorts: a.chips(
			"sort", option{"createdAt", "Newest"}, option{"resolvedAt", "Just resolved"}, option{"edge", "Best edge"},
		),
		Statuses: a.chips(
			"status", option{"", "All"}, option{"open", "Open"}, option{"resolved", "Resolved"}, option{"void", "Void"},
		),
		Categories:   a.openChips("category", known.Categories),
		ByResolution: f.Sort == prediction.ByResolvedAt, Newest: newest, List: s.predictionList(records), Pages: a.pages(next),
	}
	words := []string{a.get("q")}
	for _, o := range only {
		words = append(words, o.Name)
	}
	p.Layout.Title = narrowedTitle(frame.Title, words, p.Statuses, p.Categories, p.Sorts)
	return show(c, pages.Predictions(p))
}

// narrow reads the filters by agent and market. found is false if there is no such agent or market;
// the list is then empty.
func (s *Site) narrow(c *fiber.Ctx, a address, f *prediction.Filter) (only []pages.Only, found bool, err error) {
	found = true
	if handle := a.get("agent"); handle != "" {
		name := handle
		who, err := s.findAgent(c.UserContext(), handle)
		if err != nil {
			return nil, false, err
		}
		if who != nil {
			f.AgentID, name = who.ID, who.Name
		} else {
			found = false
		}
		only = append(only, pages.Only{What: "by", Name: name, Without: a.with("agent", "")})
	}
	if f.MarketID != "" {
		name := f.MarketID
		m, ok, err := s.markets.ByID(c.UserContext(), s.DB.Reader, f.MarketID)
		if err != nil {
			return nil, false, err
		}
		if ok {
			name = m.Name()
		}
		only = append(only, pages.Only{What: "on", Name: name, Without: a.with("market", "")})
	}
	if f.EventID != "" {
		name := f.EventID
		e, ok, err := s.markets.EventByID(c.UserContext(), s.DB.Reader, f.EventID)
		if err != nil {
			return nil, false, err
		}
		if ok {
			name = e.Name(nil)
		}
		only = append(only, pages.Only{What: "on", Name: name, Without: a.with("event", "")})
	}
	return only, found, nil
}

func (s *Site) prediction(c *fiber.Ctx, a address) error {
	r, err := s.pathPrediction(c)
	if err != nil {
		return err
	}
	p := s.predictionPage(r)
	if p.Layout.NoIndex, err = s.keepNewcomer(c, r.AgentID); err != nil {
		return err
	}
	if a.get(reported) != "" {
		p.Report.Done, p.Layout.NoIndex = true, true
	}
	return show(c, pages.Prediction(p))
}

// pathPrediction returns the prediction that the path names.
func (s *Site) pathPrediction(c *fiber.Ctx) (*prediction.Record, error) {
	missing := problem.NotFound("There is no prediction at this address.")
	id, err := uuid.Parse(c.Params("id"))
	if err != nil {
		return nil, missing
	}
	r, err := s.predictions.ByID(c.UserContext(), s.DB.Reader, id)
	if err != nil {
		return nil, err
	}
	if r == nil {
		return nil, missing
	}
	return r, nil
}

func predictionPath(r *prediction.Record) string { return "/predictions/" + r.ID.String() }

func (s *Site) predictionPage(r *prediction.Record) pages.PredictionProps {
	p := s.predictionProps(r)
	frame := s.frame(p.About(), predictionWords(p), predictionPath(r), "/predictions")
	frame.Image = predictionPath(r) + "/card.png"
	props := pages.PredictionProps{
		Layout: frame, Prediction: p, HorizonAt: s.when(r.HorizonAt), ClosesAt: s.when(r.ScheduledCloseAt),
		Evidence: evidenceProps(r.Evidence), Previous: r.BaselinePrevious,
		Before: components.View{Price: r.BaselineBefore, Bid: r.BeforeBid, Ask: r.BeforeAsk},
		After:  components.View{Price: r.BaselineAfter, Bid: r.AfterBid, Ask: r.AfterAsk}, Median: medianView(&r.Prediction),
		HeldAgainst: heldAgainst(&r.Prediction), Illiquid: r.BaselineState == prediction.Illiquid,
		ObservedAt: s.when(r.BaselineObservedAt), Pending: r.BaselineState == prediction.Pending, Missed: r.BaselineState == prediction.Missed,
		LogEdge: r.LogEdge, Winner: r.ResolutionOutcome, Source: r.ResolutionSource, Note: r.ResolutionNote, RulesVersion: r.RulesVersion,
	}
	props.Hash, props.Salt, props.RevealedAt = hex.EncodeToString(r.Hash), hex.EncodeToString(r.Salt), s.when(r.RevealedAt)
	if r.Withheld == prediction.NotWithheld {
		props.Report.Action = predictionPath(r) + "/report"
	}
	if r.WeightIndex != nil {
		weight := score.Weight(*r.WeightIndex)
		props.Weight = &weight
	}
	if r.Market != nil {
		props.MarketTitle = r.Market.Name()
		if r.Market.Closed {
			props.ClosedAt = s.when(r.Market.ClosedAt)
		}
	}
	return props
}

// predictionWords describes a prediction in one line, for a shared link.
func predictionWords(p components.Prediction) string {
	if p.Until != "" {
		return p.Agent.Name + " published a prediction on this market. It is " + p.Waits() + "."
	}
	words := p.Agent.Name + " says " + components.Percent(p.Confidence)
	if outcome := p.AddedOutcome(); outcome != "" {
		words += " for “" + outcome + "”"
	}
	if p.MarketThen != nil {
		words += ", the market said " + components.Percent(*p.MarketThen)
	}
	if p.Baseline != nil && p.MarketThen != nil && components.Percent(*p.Baseline) != components.Percent(*p.MarketThen) {
		words += ", baseline " + components.Percent(*p.Baseline)
	}
	if happened := p.Happened(); happened != "" {
		words += "; " + happened
	}
	return words + "."
}
