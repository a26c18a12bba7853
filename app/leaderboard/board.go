package leaderboard

import (
	"encoding/binary"
	"math"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/problem"
	"github.com/pulsecast/pulsecast/app/score"
	"github.com/pulsecast/pulsecast/app/settlement"
)

// Window says which events a board counts, by the day of their scheduled close.
type Window string

// The windows. Days30 holds today (UTC) and the 29 days before it. Days90 and Days365 follow the
// same rule.
const (
	Days30  Window = "30d"
	Days90  Window = "90d"
	Days365 Window = "365d"
	All     Window = "all"
)

// Windows lists all windows, the shortest first.
var Windows = []Window{Days30, Days90, Days365, All}

// ParseWindow returns the window of a name; "" is All. It returns invalid_parameter for an unknown
// name.
func ParseWindow(name string) (Window, error) {
	switch w := Window(name); w {
	case "":
		return All, nil
	case Days30, Days90, Days365, All:
		return w, nil
	}
	return "", problem.InvalidParameter("window", "must be 30d, 90d, 365d or all")
}

// since returns the first day ("2026-11-21") of the window that ends on the day of now, and "" for
// All.
func (w Window) since(now time.Time) string {
	days := map[Window]int{Days30: 30, Days90: 90, Days365: 365}[w]
	if days == 0 {
		return ""
	}
	return day(now.UTC().AddDate(0, 0, 1-days))
}

// day returns the UTC day of a moment as the tables store it: "2026-11-21".
func day(at time.Time) string { return at.UTC().Format(time.DateOnly) }

// AllCategories is the category ("") of the boards over all categories.
const AllCategories = settlement.AllCategories

// Board describes one built leaderboard. AsOf is the moment its sums were read.
type Board struct {
	bun.BaseModel `bun:"table:boards,alias:b"`

	Window   Window `bun:"span,pk"`
	Category string `bun:",pk"`
	AsOf     time.Time
	// Kappa shrinks the skills that order the board. Mu and Tau make its ranges. See Prior.
	Kappa, Sigma2, Mu, Tau float64
	PriorDay               string // "2026-11-21", the day of that prior
	Ranked                 int64  // how many agents have a rank
	Proven                 int64  // how many of these are proven
	// Version is the version of the rows that readers see; see versions.go.
	Version int64
	// Grid is the encoded score.RankGrid of the ranked agents. Only builds read it.
	Grid []byte `bun:"rank_grid,type:bytea"`
}

// Row is an agent's place on one board.
type Row struct {
	bun.BaseModel `bun:"table:board_rows,alias:r"`

	Window   Window    `bun:"span,pk,type:text"`
	Category string    `bun:",pk,type:text"`
	AgentID  uuid.UUID `bun:",pk,type:uuid"`
	Version  int64     `bun:",pk,type:bigint"` // see versions.go
	// Rows are sorted by Position, which is compared byte by byte; see place.
	Position []byte `bun:",type:bytea"`
	Model    string `bun:",type:text"` // as the agent declares it; Filter.Model selects by it

	Reference   bool `bun:",type:boolean"`
	Provisional bool `bun:",type:boolean"`
	// Reason says why the agent has no rank: what it still lacks, or that its owner's limit is
	// reached. It is "" otherwise.
	Reason string `bun:",nullzero,type:text"`
	// Rank is the place among the ranked agents, from 1. RankLow and RankHigh bound the plausible
	// ranks; see score.RankGrid. All three are nil for a row without a rank.
	Rank, RankLow, RankHigh *int64 `bun:",type:bigint"`

	// Skill orders the board, in points per event. The market has 0. See score.Tally.Skill.
	Skill float64 `bun:",type:double precision"`
	// BestGuess is the most likely true edge per event, in points. SkillLow and SkillHigh are the
	// ends of its 95 % range. Odds are the odds against having no edge, at most 1,000,000. See
	// score.Sums. All are nil for an agent without a disagreement with the market.
	BestGuess, SkillLow, SkillHigh, Odds *float64 `bun:",type:double precision"`
	// Events counts the settled events of the window. ClusterSum and ClusterSquares are S and SS
	// over their clusters, Stake is A and Variance is V; see score.Sums.
	Events         int64        `bun:",type:bigint"`
	ClusterSum     score.Points `bun:",type:bigint"`
	ClusterSquares int64        `bun:",type:bigint"`
	Stake          score.Points `bun:",type:bigint"`
	Variance       int64        `bun:",type:bigint"`
	// Disagreements counts the events with at least one |p − q| of score.MinDisagreement or more.
	Disagreements int64 `bun:",type:bigint"`
	// Resolved counts all settled predictions of the window, with a baseline or not.
	Resolved int64 `bun:",type:bigint"`
	// Scored counts the settled predictions with a baseline.
	Scored int64 `bun:",type:bigint"`

	// Brier and MarketBrier (0 best, 1 worst) and LogEdge (bits) are means over the scored
	// predictions, so that agent and market answer the same questions. CalibrationError (0..1) is
	// over all settled predictions. Each is nil if there are no such predictions.
	Brier, MarketBrier, LogEdge, CalibrationError *float64 `bun:",type:double precision"`

	// Totals are the encoded totals of the agent. Only rows of the main board have them, and only
	// if the agent has settled predictions.
	Totals []byte `bun:",type:bytea"`
}

// Posterior returns the best guess with its range, and false for an agent without a disagreement
// with the market.
func (r *Row) Posterior() (score.Posterior, bool) {
	if r.BestGuess == nil || r.SkillLow == nil || r.SkillHigh == nil {
		return score.Posterior{}, false
	}
	return score.PosteriorOf(*r.BestGuess, *r.SkillLow, *r.SkillHigh), true
}

// Proven reports whether the odds against having no edge are high enough; see score.Proven. A
// reference row is never proven.
func (r *Row) Proven() bool { return !r.Reference && r.Odds != nil && score.Proven(*r.Odds) }

// Tally returns the sums that the skill was computed from.
func (r *Row) Tally() score.Tally {
	return score.Tally{N: r.Events, S: r.ClusterSum, SS: r.ClusterSquares}
}

// section is a part of a board. Sections follow each other in the order of their numbers.
type section byte

const (
	sectionRanked      section = 1 // ranked and reference rows
	sectionOverLimit   section = 2
	sectionProvisional section = 3
)

// place returns the position of a row. Rows sort by section, then by the measure descending, then
// by more events, then by the lower id. A position depends only on the row's own values, so a row
// keeps its position while others move. A cursor that names a position therefore neither skips nor
// repeats a row that did not move.
func place(s section, measure float64, events int64, id uuid.UUID) []byte {
	b := make([]byte, 0, 33)
	b = append(b, byte(s))
	b = binary.BigEndian.AppendUint64(b, ^ordered(measure))
	b = binary.BigEndian.AppendUint64(b, ^uint64(events))
	return append(b, id[:]...)
}

// ordered maps floats to integers of the same order. −0 maps to the same integer as 0.
func ordered(x float64) uint64 {
	u := math.Float64bits(x + 0)
	if u>>63 == 1 {
		return ^u
	}
	return u | 1<<63
}
