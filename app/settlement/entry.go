package settlement

import (
	"math"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/score"
)

// The kinds of entries.
const (
	kindScore    = "score"
	kindReversal = "reversal"
)

// Entry is a row of the append-only ledger. A prediction's entries are numbered from 0. A
// "reversal" repeats the "score" before it with negated amounts, so the sum over a prediction's
// entries is its current score.
type Entry struct {
	bun.BaseModel `bun:"table:score_entries,alias:s"`

	ID           uuid.UUID `bun:",pk,type:uuid"`
	PredictionID uuid.UUID `bun:",type:uuid"`
	Seq          int64     `bun:",type:bigint"`
	Kind         string    `bun:",type:text"`
	AgentID      uuid.UUID `bun:",type:uuid"`
	Value        float64   `bun:",type:double precision"` // y; in a reversal, the y taken back
	Outcome      string    `bun:",nullzero,type:text"`
	Source       string    `bun:",type:text"` // "market" or "admin"
	Note         string    `bun:",nullzero,type:text"`
	Brier        float64   `bun:",type:double precision"`
	// Edge, Contribution, LogEdge, Stake and Spread are nil without a baseline. Contribution is
	// edge times weight. LogEdge is in bits, to six decimals. Stake and Spread are multiplied by
	// the weight; see score.Stake and score.Spread.
	Edge         *score.Points `bun:",type:bigint"`
	Contribution *score.Points `bun:",type:bigint"`
	LogEdge      *float64      `bun:",type:double precision"`
	Stake        *score.Points `bun:",type:bigint"`
	Spread       *score.Points `bun:",type:bigint"`
	// Category and Day name the row of agent_days that the entry counts in.
	Category     string    `bun:",type:text"`
	Day          string    `bun:",type:text"`
	RulesVersion string    `bun:",type:text"`
	CreatedAt    time.Time `bun:",type:timestamptz"`
}

// result returns the numbers of an entry. For a reversal it returns those of the score taken back.
func (e *Entry) result() result {
	r := result{e.Brier, e.Edge, e.Contribution, e.LogEdge, e.Stake, e.Spread}
	if !e.IsScore() {
		r = result{
			0 - e.Brier, negated(e.Edge), negated(e.Contribution), negated(e.LogEdge), negated(e.Stake), negated(e.Spread),
		}
	}
	return r
}

// bet holds what a score is computed from.
type bet struct {
	AgentID  uuid.UUID
	P        float64
	Q        *float64 // baseline, nil if there is none
	Index    int      // weight index, set with Q
	EventKey string
}

// result holds the scores of one bet.
type result struct {
	Brier              float64
	Edge, Contribution *score.Points
	LogEdge            *float64
	Stake, Spread      *score.Points // times weight
}

func (b *bet) score(y float64) result {
	r := result{Brier: score.Brier(b.P, y)}
	if b.Q == nil {
		return r
	}
	edge, weighted := score.Edge(b.P, *b.Q, y), score.Bet(b.P, *b.Q, y, b.Index)
	// Rounded here, so that the sums add up the published number.
	log := math.Round(score.LogEdge(b.P, *b.Q, y)*1e6) / 1e6
	r.Edge, r.Contribution, r.LogEdge = &edge, &weighted.C, &log
	r.Stake, r.Spread = &weighted.A, &weighted.U
	return r
}

func (b *bet) disagrees() int64 {
	if b.Q != nil && score.Disagrees(b.P, *b.Q) {
		return 1
	}
	return 0
}

// term returns what the bet adds to its day (sign 1) or takes away from it (−1).
func (b *bet) term(y float64, r result, sign int64, category, day string) dayTerm {
	var sums score.BinSum
	sums.Add(b.P, y)
	t := dayTerm{
		AgentID: b.AgentID, Category: category, Day: day,
		Resolved: sign, ResolvedBrier: sign * units(r.Brier, 1e8), ObservedSquares: sign * sums.YY,
		Bin: int64(score.BinOf(b.P)), BinCount: sign, BinConfidence: sign * sums.P, BinObserved: sign * sums.Y,
	}
	if b.Q != nil {
		t.Scored, t.Brier = sign, t.ResolvedBrier
		t.MarketBrier = sign * units(score.Brier(*b.Q, y), 1e8)
		t.LogEdge = sign * units(*r.LogEdge, 1e6)
	}
	return t
}

func units(x, scale float64) int64 { return int64(math.Round(x * scale)) }

// IsScore reports whether e is a score and not a reversal. A prediction has a score if its latest entry is one.
func (e *Entry) IsScore() bool { return e.Kind == kindScore }
