package replay

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/leaderboard"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/score"
)

// Report compares the agent of a run with the market. Points and bits are as in GET /api/stats.
type Report struct {
	OK  bool     `json:"ok"`
	Run runShown `json:"run"`
	// Warnings limit what the numbers mean. Read them first.
	Warnings []string `json:"warnings"`
	// RunsOnSameDays counts the runs of agents of this name over the same days, including this one.
	RunsOnSameDays int `json:"runsOnSameDays"`
	// Through is the end of the last archived day. Predictions decided later are open in the report.
	Through     time.Time            `json:"through"`
	Predictions predictionCounts     `json:"predictions"`
	Overall     Score                `json:"overall"`
	Before      *Score               `json:"beforeCutoff"` // events decided up to the cut-off; null if none is declared
	After       *Score               `json:"afterCutoff"`
	Calibration reportedBins         `json:"calibration"`
	Categories  []reportedSlice      `json:"categories"`
	Horizons    []reportedSlice      `json:"horizons"`
	History     []reportedPoint      `json:"history"`
	List        []reportedPrediction `json:"list"`
}

type runShown struct {
	ID          string     `json:"id"`
	Name        string     `json:"name"`
	Model       string     `json:"model"`
	Filter      Filter     `json:"filter"`
	From        time.Time  `json:"from"`
	To          time.Time  `json:"to"`
	ModelCutoff *time.Time `json:"modelCutoff"`
	OpenWeb     OpenWeb    `json:"openWeb"`
	Bound       bool       `json:"bound"`
	CreatedAt   time.Time  `json:"createdAt"`
}

type predictionCounts struct {
	Pairs          int   `json:"pairs"`          // planned pairs
	PairsPublished int   `json:"pairsPublished"` // planned pairs with a prediction
	Total          int64 `json:"total"`
	Open           int64 `json:"open"`
	Resolved       int64 `json:"resolved"`
	Void           int64 `json:"void"`
	// NoBaseline counts the predictions on a market that have no baseline: the archive has no
	// reading right after T, or the market had too little liquidity.
	NoBaseline int `json:"noBaseline"`
}

// Score is the score of a part of the predictions.
type Score struct {
	Events           int64    `json:"events"`
	Resolved         int64    `json:"resolved"`
	Edge             *float64 `json:"edge"` // mean points per event
	Skill            float64  `json:"skill"`
	BestGuess        *float64 `json:"bestGuess"`
	RangeLow         *float64 `json:"rangeLow"`
	RangeHigh        *float64 `json:"rangeHigh"`
	Odds             *float64 `json:"odds"`
	Proven           bool     `json:"proven"`
	Brier            *float64 `json:"brier"`
	MarketBrier      *float64 `json:"marketBrier"`
	LogEdge          *float64 `json:"logEdge"`
	CalibrationError *float64 `json:"calibrationError"`
}

type reportedBins struct {
	Error *float64      `json:"error"`
	Bins  []reportedBin `json:"bins"`
}

type reportedBin struct {
	Low            float64 `json:"low"`
	High           float64 `json:"high"`
	Count          int     `json:"count"`
	MeanConfidence float64 `json:"meanConfidence"`
	ObservedRate   float64 `json:"observedRate"`
	BandLow        float64 `json:"bandLow"`
	BandHigh       float64 `json:"bandHigh"`
}

// reportedSlice is a part of the predictions, by category or by hours from T to the scheduled
// close.
type reportedSlice struct {
	Category    string   `json:"category,omitempty"`
	FromHours   *float64 `json:"fromHours,omitempty"`
	ToHours     *float64 `json:"toHours,omitempty"` // left out if the part has no upper bound, or the markets no schedule
	Predictions int      `json:"predictions"`
	Events      int64    `json:"events"`
	Edge        *float64 `json:"edge"` // mean points per event
	Low         *float64 `json:"low"`  // bounds of its 95 % interval
	High        *float64 `json:"high"`
}

type reportedPoint struct {
	Day    string  `json:"day"`
	Skill  float64 `json:"skill"`
	Events int64   `json:"events"`
}

// reportedPrediction is one prediction.
type reportedPrediction struct {
	ID         string    `json:"id"`
	At         time.Time `json:"at"`
	Market     string    `json:"market"`
	Question   string    `json:"question"`
	Outcome    string    `json:"outcome"`
	Confidence float64   `json:"confidence"`
	Baseline   *float64  `json:"baseline"`
	Status     string    `json:"status"`
	Result     *float64  `json:"result"`
	Edge       *float64  `json:"edge"`
}

// made is a report with the data that its page shows.
type made struct {
	report Report
	agent  *agent.Agent
	stats  *leaderboard.Stats
	review *leaderboard.Review
	events *leaderboard.Highlights
}

// makeReport settles the predictions of a run with the archive and reads the resulting record.
func (s *Server) makeReport(ctx context.Context, run *Run) (m *made, err error) {
	dir, err := os.MkdirTemp(s.build.runs.dir, ".report-*")
	if err != nil {
		return nil, fmt.Errorf("make a report: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := s.publishParts(ctx, run); err != nil {
		return nil, err
	}
	list, err := published(ctx, s.build, run)
	if err != nil {
		return nil, err
	}
	r, err := openRecord(ctx, s.build, dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.db.Close()) }()
	if err := r.live(ctx, run, list); err != nil {
		return nil, err
	}
	m = &made{report: Report{OK: true, Run: run.shown(), RunsOnSameDays: s.runs.SameDays(run)}}
	if _, m.report.Through, err = s.tape.Span(ctx); err != nil {
		return nil, err
	}
	if r.clock.IsZero() {
		r.clock = m.report.Through
	}
	if err := r.read(ctx, run, m); err != nil {
		return nil, err
	}
	m.report.Predictions.PairsPublished = pairsWith(run.Pairs, list)
	m.report.Warnings = m.warnings(run, r)
	return m, nil
}

// pairsWith returns the number of pairs with at least one of the predictions.
func pairsWith(pairs []Pair, list []prediction.Prediction) (n int) {
	has := map[Pair]bool{}
	for i := range list {
		p := &list[i]
		has[Pair{p.MarketID, p.CreatedAt.UTC()}] = true
	}
	for _, p := range pairs {
		if has[Pair{p.Market, p.At.UTC()}] {
			n++
		}
	}
	return n
}

func (r *Run) shown() runShown {
	return runShown{r.ID, r.Name, r.Model, r.Filter, r.From, r.To, r.ModelCutoff, r.OpenWeb, r.Bound, r.CreatedAt}
}

// read fills a report from the record.
func (r *record) read(ctx context.Context, run *Run, m *made) (err error) {
	of := sides(run)
	if m.stats, err = r.store.Stats(ctx, r.db.Reader, of[whole]); err != nil {
		return err
	}
	if m.review, err = r.store.Review(ctx, r.db.Reader, of[whole], agent.Viewer{AgentID: run.Agent}); err != nil {
		return err
	}
	m.agent = &agent.Agent{ID: run.Agent, Profile: agent.Profile{Name: run.Name, Model: run.Model}, CreatedAt: run.CreatedAt}
	if m.events, err = r.store.Highlights(ctx, r.db.Reader, of[whole], reportedEvents, reportedCalls); err != nil {
		return err
	}
	out := &m.report
	out.Overall = scoreOf(&m.stats.Row)
	for s, to := range map[side]**Score{early: &out.Before, late: &out.After} {
		if id, ok := of[s]; ok {
			stats, err := r.store.Stats(ctx, r.db.Reader, id)
			if err != nil {
				return err
			}
			part := scoreOf(&stats.Row)
			*to = &part
		}
	}
	out.Predictions = predictionCounts{Pairs: len(run.Pairs), Total: m.stats.Total, Open: m.stats.Open, Resolved: m.stats.Resolved, Void: m.stats.Void}
	out.Calibration = binsOf(m.stats)
	out.Categories, out.Horizons = slicesOf(m.review.Categories), slicesOf(m.review.Horizons)
	out.History = []reportedPoint{}
	for _, p := range m.stats.History {
		out.History = append(out.History, reportedPoint{p.Day, p.Skill, p.Events})
	}
	return r.readList(ctx, of[whole], out)
}

const (
	reportedEvents = 500
	reportedCalls  = 3 // each of the best and the worst
	reportedList   = 10_000
)

func scoreOf(row *leaderboard.Row) Score {
	s := Score{
		Events: row.Events, Resolved: row.Resolved, Skill: row.Skill, BestGuess: row.BestGuess, RangeLow: row.SkillLow, RangeHigh: row.SkillHigh,
		Odds: row.Odds, Proven: row.Proven(), Brier: row.Brier, MarketBrier: row.MarketBrier, LogEdge: row.LogEdge, CalibrationError: row.CalibrationError,
	}
	if row.Events > 0 {
		mean := row.ClusterSum.Float() / float64(row.Events)
		s.Edge = &mean
	}
	return s
}

func binsOf(st *leaderboard.Stats) reportedBins {
	out := reportedBins{Error: st.Row.CalibrationError, Bins: make([]reportedBin, 0, score.BinCount)}
	for _, b := range st.Calibration {
		out.Bins = append(out.Bins, reportedBin{b.Low, b.High, b.Count, b.MeanConfidence, b.ObservedRate, b.BandLow, b.BandHigh})
	}
	return out
}

func slicesOf(list []score.Slice) []reportedSlice {
	out := []reportedSlice{}
	for i := range list {
		s := &list[i]
		r := reportedSlice{Category: s.Category, Predictions: s.Predictions, Events: s.Sums.N}
		if s.Category == "" && !math.IsInf(s.Low, 0) {
			r.FromHours = &s.Low
			if !math.IsInf(s.High, 0) {
				r.ToHours = &s.High
			}
		}
		if s.Sums.N > 0 {
			mean := s.Sums.Mean()
			r.Edge = &mean
			if low, high, ok := s.Sums.Interval(); ok {
				r.Low, r.High = &low, &high
			}
		}
		out = append(out, r)
	}
	return out
}

// readList reads the predictions, in order of publication.
func (r *record) readList(ctx context.Context, agentID uuid.UUID, out *Report) error {
	var list []prediction.Prediction
	err := prediction.Select(r.db.Reader).Where("p.agent_id = ?", agentID).OrderExpr("p.id").Limit(reportedList).Scan(ctx, &list)
	if err != nil {
		return fmt.Errorf("list the predictions of a run: %w", err)
	}
	out.List = make([]reportedPrediction, len(list))
	for i := range list {
		p := &list[i]
		out.List[i] = reportedPrediction{
			ID: p.ID.String(), At: p.CreatedAt.UTC(), Market: p.MarketID, Question: p.Title, Outcome: p.Outcome, Confidence: p.Confidence,
			Baseline: p.Baseline, Status: string(p.Status), Result: p.ResolutionValue,
		}
		if p.Edge != nil {
			out.List[i].Edge = new(p.Edge.Float())
		}
		if p.BaselineState == prediction.Missed || p.BaselineState == prediction.Illiquid {
			out.Predictions.NoBaseline++
		}
	}
	return nil
}

// count returns a number with its noun.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// fewEvents is the number of settled events below which a record is weak evidence.
const fewEvents = 30

// warnings returns the warnings of a report.
func (m *made) warnings(run *Run, r *record) []string {
	out, list := &m.report, []string{}
	switch {
	case run.ModelCutoff == nil:
		list = append(list, "No model cut-off is declared, so the model may have read how the events ended. Declare modelCutoff to see the events before and after it separately.")
	case out.Before.Events > 0:
		list = append(list, fmt.Sprintf("%s decided up to the declared cut-off of the model, %s. The model may have read how they ended. Trust only the part after the cut-off.",
			count(int(out.Before.Events), "event was", "events were"), run.ModelCutoff.UTC().Format("2 January 2006")))
	}
	switch run.OpenWeb {
	case WebOpen:
		list = append(list, "The agent could search the live web and find how the events ended. This record says nothing about its skill.")
	case WebUnknown:
		list = append(list, "It is not declared whether the agent could search the live web. If it could, it may have found how the events ended, and this record says nothing about its skill.")
	}
	if n := out.RunsOnSameDays; n > 1 {
		list = append(list, fmt.Sprintf("This is one of %d runs by agents of this name over the same days. The best of several runs looks better than it is.", n))
	}
	for _, f := range r.markets {
		if f.Sample {
			list = append(list, "The markets and news are sample data. A replay of them tests the setup, not the agent's skill.")
			break
		}
	}
	if n, pairs := out.Predictions.PairsPublished, out.Predictions.Pairs; n < pairs {
		list = append(list, fmt.Sprintf("The bot published nothing on %d of %s. With dry_run=True it only checks.", pairs-n, count(pairs, "pair", "pairs")))
	}
	if n := out.Predictions.NoBaseline; n > 0 {
		list = append(list, fmt.Sprintf("%s no baseline: the archive has no price from about two to 15 minutes after T while the market was open, or the market had too little liquidity. They have a Brier score and no edge.",
			count(n, "prediction has", "predictions have")))
	}
	if out.Predictions.Total > 0 && out.Overall.Events < fewEvents {
		list = append(list, fmt.Sprintf("%s settled by the end of the archive. With fewer than %d, the best guess and the range usually show what is expected of any agent that risks as much, and the odds are usually near 1.",
			count(int(out.Overall.Events), "event has", "events have"), fewEvents))
	}
	return list
}
