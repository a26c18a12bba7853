package metaculus

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/score"
	"github.com/pulsecast/pulsecast/app/settlement"
)

// The states of a question.
const (
	statusOpen     = "open"
	statusClosed   = "closed"
	statusResolved = "resolved"
)

type postWire struct {
	ID             json.Number  `json:"id"`
	Title          string       `json:"title"`
	ShortTitle     string       `json:"short_title"`
	Slug           string       `json:"slug"`
	Projects       projectsWire `json:"projects"`
	CreatedAt      string       `json:"created_at"`
	PublishedAt    string       `json:"published_at"`
	EditedAt       string       `json:"edited_at"`
	CurationStatus string       `json:"curation_status"`
	Status         string       `json:"status"`
	Resolved       bool         `json:"resolved"`
	OpenTime       string       `json:"open_time"`
	closingWire
	Forecasters int          `json:"nr_forecasters"`
	Forecasts   int64        `json:"forecasts_count"`
	Question    questionWire `json:"question"`
	Permission  string       `json:"user_permission"`
	Description string       `json:"description"`
}

// closingWire holds when a question closes and resolves. A time is null if it is unknown or hasn't
// come.
type closingWire struct {
	ScheduledClose   *string `json:"scheduled_close_time"`
	ScheduledResolve *string `json:"scheduled_resolve_time"`
	ActualClose      *string `json:"actual_close_time"`
	ActualResolve    *string `json:"actual_resolve_time"`
}

type projectsWire struct {
	Default    projectWire    `json:"default_project"`
	Tournament []projectWire  `json:"tournament"`
	Category   []categoryWire `json:"category"`
}

type projectWire struct {
	ID         int    `json:"id"`
	Type       string `json:"type"`
	Name       string `json:"name"`
	Slug       string `json:"slug"`
	Visibility string `json:"visibility"`
}

type categoryWire struct {
	ID          int     `json:"id"`
	Name        string  `json:"name"`
	Slug        string  `json:"slug"`
	Emoji       *string `json:"emoji"`
	Description *string `json:"description"`
	Type        string  `json:"type"`
}

type questionWire struct {
	ID          json.Number `json:"id"`
	PostID      json.Number `json:"post_id"`
	Title       string      `json:"title"`
	Type        string      `json:"type"`
	Status      string      `json:"status"`
	Resolution  *string     `json:"resolution"` // yes, no or annulled
	Description string      `json:"description"`
	Criteria    string      `json:"resolution_criteria"`
	FinePrint   string      `json:"fine_print"`
	CreatedAt   string      `json:"created_at"`
	OpenTime    string      `json:"open_time"`
	RevealTime  string      `json:"cp_reveal_time"`
	closingWire
	BotsCount      bool             `json:"include_bots_in_aggregates"`
	Weight         float64          `json:"question_weight"`
	Unit           string           `json:"unit"`
	Label          *string          `json:"label"`
	Options        *[]string        `json:"options"`
	Possibilities  *string          `json:"possibilities"`
	OpenUpperBound *bool            `json:"open_upper_bound"`
	OpenLowerBound *bool            `json:"open_lower_bound"`
	Scaling        scalingWire      `json:"scaling"`
	Aggregations   aggregationsWire `json:"aggregations"`
	MyForecasts    historyWire      `json:"my_forecasts"`
}

// scalingWire belongs to questions that ask for a number.
type scalingWire struct {
	Max  *float64 `json:"range_max"`
	Min  *float64 `json:"range_min"`
	Zero *float64 `json:"zero_point"`
}

type aggregationsWire struct {
	RecencyWeighted historyWire `json:"recency_weighted"`
	Unweighted      historyWire `json:"unweighted"`
}

// historyWire holds at most the latest forecast.
type historyWire struct {
	History []forecastWire `json:"history"`
	Latest  *forecastWire  `json:"latest"`
}

type forecastWire struct {
	StartTime   float64    `json:"start_time"` // in Unix seconds
	EndTime     *float64   `json:"end_time"`
	Values      []float64  `json:"forecast_values"` // probabilities of No and Yes
	Centers     []float64  `json:"centers"`
	Lower       *[]float64 `json:"interval_lower_bounds"`
	Upper       *[]float64 `json:"interval_upper_bounds"`
	Forecasters int        `json:"forecaster_count"`
}

// facts holds what a post is made from.
type facts struct {
	market    *market.Market
	consensus prediction.Consensus
	outcome   *settlement.Outcome     // nil if undecided
	latest    prediction.Latest       // the caller's; zero if none
	waiting   *prediction.WaitingPart // the caller's; nil if none
	assigned  []string
}

func toPost(f facts) postWire {
	m, q := f.market, f.question()
	return postWire{
		ID: q.ID, Title: m.Question, ShortTitle: m.ShortName(), Slug: m.Slug, Projects: f.projects(),
		CreatedAt: q.CreatedAt, PublishedAt: q.CreatedAt, EditedAt: q.CreatedAt, CurationStatus: "approved",
		Status: q.Status, Resolved: q.Status == statusResolved, OpenTime: q.OpenTime, closingWire: q.closingWire,
		Forecasters: f.forecasters(), Forecasts: f.consensus.Predictions, Question: q, Permission: "forecaster",
		Description: q.Description,
	}
}

func (f *facts) forecasters() int { return f.consensus.Agents + f.consensus.Others }

func (f *facts) question() questionWire {
	m, id := f.market, json.Number(number(f.market.ID))
	seen := formatTime(m.FirstSeenAt)
	w := questionWire{
		ID: id, PostID: id, Title: m.Question, Type: binaryType, Status: statusOpen, Criteria: m.Description,
		CreatedAt: seen, OpenTime: seen, RevealTime: seen, Weight: 1,
		Aggregations: f.aggregations(), MyForecasts: f.ownForecasts(),
	}
	w.ScheduledClose, w.ScheduledResolve = timeOrNull(m.ClosesAt), timeOrNull(m.ClosesAt)
	if m.EventTitle != "" && m.EventTitle != m.Question {
		w.Description = "One of the questions of the event “" + m.EventTitle + "”."
	}
	if m.ResolutionSource != "" {
		w.FinePrint = "Resolution source: " + m.ResolutionSource
	}
	switch {
	case f.outcome != nil:
		w.Status = statusResolved
		w.Resolution, w.ActualResolve = resolution(f.outcome), timeOrNull(f.outcome.DecidedAt)
	case m.Closed || !m.Active:
		w.Status = statusClosed
	}
	if w.Status != statusOpen {
		w.ActualClose = timeOrNull(m.ClosedAt)
	}
	return w
}

// resolution returns how a question resolved. It is annulled if the market is void or settled at
// fractions.
func resolution(o *settlement.Outcome) *string {
	resolved := strings.ToLower(strings.TrimSpace(o.Winner))
	if o.Void() || resolved != "yes" && resolved != "no" {
		resolved = "annulled"
	}
	return &resolved
}

// aggregations returns the market's price in place of the community's prediction at Metaculus.
func (f *facts) aggregations() aggregationsWire {
	price, ok := f.market.PriceOf(f.market.YesIndex())
	if !ok || math.IsNaN(price) {
		none := historyWire{History: []forecastWire{}}
		return aggregationsWire{none, none}
	}
	w := forecastAt(price, f.market.ObservedAt)
	w.Centers, w.Forecasters = []float64{price}, f.forecasters()
	h := historyWire{History: []forecastWire{w}, Latest: &w}
	return aggregationsWire{h, h}
}

// ownForecasts returns the caller's latest forecast: the one waiting to be published, or else the
// published one.
func (f *facts) ownForecasts() historyWire {
	w := historyWire{History: []forecastWire{}}
	p, at := f.latest.Confidence, f.latest.CreatedAt
	if f.latest.OutcomeIndex != f.market.YesIndex() {
		p = score.Complement(p)
	}
	if f.waiting != nil {
		p, at = f.waiting.Confidence, f.waiting.BeganAt
	}
	if at.IsZero() {
		return w
	}
	own := forecastAt(p, at)
	return historyWire{History: []forecastWire{own}, Latest: &own}
}

func forecastAt(p float64, at time.Time) forecastWire {
	return forecastWire{StartTime: float64(at.UnixMicro()) / 1e6, Values: []float64{score.Complement(p), p}}
}

// projects returns the tournaments of a question: its category, and the assignments.
func (f *facts) projects() projectsWire {
	w := projectsWire{
		Default:    projectWire{ID: 1, Type: "site_main", Name: "Pulsecast", Slug: "pulsecast", Visibility: "normal"},
		Tournament: []projectWire{}, Category: []categoryWire{},
	}
	if slices.Contains(f.assigned, f.market.ID) {
		w.Tournament = append(w.Tournament, projectWire{ID: 2, Type: "tournament", Name: "Assignments", Slug: assignmentsTournament, Visibility: "normal"})
	}
	if i := slices.Index(market.Categories, f.market.Category); i >= 0 {
		c := market.Categories[i]
		w.Tournament = append(w.Tournament, projectWire{ID: 10 + i, Type: "tournament", Name: c, Slug: c, Visibility: "normal"})
		w.Category = append(w.Category, categoryWire{ID: 10 + i, Name: c, Slug: c, Type: "category"})
	}
	return w
}
