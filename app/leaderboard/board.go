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

// Window is how far back a board looks, by scheduled-close day.
type Window string

// The windows. Days30 holds today (UTC) and the 29 days before it, and so on.
const (
	Days30  Window = "30d"
	Days90  Window = "90d"
	Days365 Window = "365d"
	All     Window = "all"
)

// Windows lists them, the shortest first.
var Windows = []Window{Days30, Days90, Days365, All}

// ParseWindow reads a window's name; "" is All. Refusal: invalid_parameter.
func ParseWindow(name string) (Window, error) {
	switch w := Window(name); w {
	case "":
		return All, nil
	case Days30, Days90, Days365, All:
		return w, nil
	}
	return "", problem.InvalidParameter("window", "must be 30d, 90d, 365d or all")
}

// since is the first day ("2026-11-21") of the window that ends on the day of now.
func (w Window) since(now time.Time) string {
	days := map[Window]int{Days30: 30, Days90: 90, Days365: 365}[w]
	if days == 0 {
		return ""
	}
	return day(now.AddDate(0, 0, 1-days))
}

// day is the UTC day of a moment as the tables write it.
func day(at time.Time) string { return at.UTC().Format(time.DateOnly) }

// AllCategories is the category of the boards over all categories.
const AllCategories = settlement.AllCategories

// MarketID is the reference agent that stands for the market. Its skill is 0 by
// definition.
var MarketID = settlement.MarketAgent

// Board is one built leaderboard. AsOf is the moment its sums were read.
type Board struct {
	bun.BaseModel `bun:"table:boards,alias:b"`

	Window   Window `bun:"span,pk"`
	Category string `bun:",pk"`
	AsOf     time.Time
	// Kappa orders the board, Mu and Tau make its ranges; see Prior.
	Kappa, Sigma2, Mu, Tau float64
	PriorDay               string // "2026-11-21", the day of that prior
	Ranked                 int64  // how many agents have a rank
	// Grid is an encoded score.RankGrid of the ranked agents. Pages don't read it.
	Grid []byte `bun:"rank_grid,type:bytea"`
}

// Row is an agent's place on one board.
type Row struct {
	bun.BaseModel `bun:"table:board_rows,alias:r"`

	Window   Window    `bun:"span,pk,type:text"`
	Category string    `bun:",pk,type:text"`
	AgentID  uuid.UUID `bun:",pk,type:uuid"`
	// Position orders the board, byte by byte; see place.
	Position []byte `bun:",type:bytea"`
	Model    string `bun:",type:text"` // as the agent declares it; the filter reads it

	Reference   bool `bun:",type:boolean"`
	Provisional bool `bun:",type:boolean"`
	// Reason says why there is no rank: what is missing, or the limit per owner.
	Reason string `bun:",nullzero,type:text"`
	// Rank counts from 1 over the ranked; RankLow and RankHigh bound the plausible ranks,
	// see score.RankGrid. All three are nil together.
	Rank, RankLow, RankHigh *int64 `bun:",type:bigint"`

	// Skill orders the board, in points per event; 0 is the market. See
	// score.Tally.Skill.
	Skill float64 `bun:",type:double precision"`
	// BestGuess is the mean of the true edge per event in points, SkillLow and SkillHigh
	// the ends of its 95 % range, and Odds the odds against having no edge, at most
	// 1,000,000; see score.Sums. All are nil for an agent without a disagreement with the
	// market.
	BestGuess, SkillLow, SkillHigh, Odds *float64 `bun:",type:double precision"`
	// Events settled in the window, with the sum and the sum of squares of their clusters,
	// their stakes (A) and variances (V); see score.Sums.
	Events         int64        `bun:",type:bigint"`
	ClusterSum     score.Points `bun:",type:bigint"`
	ClusterSquares int64        `bun:",type:bigint"`
	Stake          score.Points `bun:",type:bigint"`
	Variance       int64        `bun:",type:bigint"`
	// Disagreements counts the events with some |p − q| of at least 0.03.
	Disagreements int64 `bun:",type:bigint"`
	// Resolved counts all settled predictions of the window, with a baseline or not.
	Resolved int64 `bun:",type:bigint"`
	// Scored counts those with a baseline.
	Scored int64 `bun:",type:bigint"`

	// Brier and MarketBrier (0 best, 1 worst) and LogEdge (bits) are means over the
	// scored predictions, so both sides answer the same questions;
	// CalibrationError (0..1) is over all settled ones. Nil without any.
	Brier, MarketBrier, LogEdge, CalibrationError *float64 `bun:",type:double precision"`
}

// Posterior returns the best guess with its range. It reports false for an agent without
// a disagreement with the market.
func (r *Row) Posterior() (score.Posterior, bool) {
	if r.BestGuess == nil || r.SkillLow == nil || r.SkillHigh == nil {
		return score.Posterior{}, false
	}
	return score.PosteriorOf(*r.BestGuess, *r.SkillLow, *r.SkillHigh), true
}

// Proven reports whether the odds against having no edge suffice; see score.Proven.
func (r *Row) Proven() bool { return !r.Reference && r.Odds != nil && score.Proven(*r.Odds) }

// Tally is what the skill was computed from.
func (r *Row) Tally() score.Tally {
	return score.Tally{N: r.Events, S: r.ClusterSum, SS: r.ClusterSquares}
}

// section is the coarse order of a board.
type section byte

const (
	sectionStanding    section = 1 // ranked and reference rows
	sectionOverLimit   section = 2
	sectionProvisional section = 3
)

// place makes a position: sections first, then the measure descending, then more
// events, then the lower id. Because it is made of the row's own values alone, a row
// keeps its position while others move, and a cursor that names a position skips
// and repeats nothing that did not move.
func place(s section, measure float64, events int64, id uuid.UUID) []byte {
	b := make([]byte, 0, 33)
	b = append(b, byte(s))
	b = binary.BigEndian.AppendUint64(b, ^ordered(measure))
	b = binary.BigEndian.AppendUint64(b, ^uint64(events))
	return append(b, id[:]...)
}

// ordered maps floats to integers of the same order; −0 is 0.
func ordered(x float64) uint64 {
	u := math.Float64bits(x + 0)
	if u>>63 == 1 {
		return ^u
	}
	return u | 1<<63
}
