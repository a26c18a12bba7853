package leaderboard

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/score"
)

// Thresholds are the least counts with which an agent is ranked.
type Thresholds struct {
	Events         int64 // settled events, on a board over all categories
	CategoryEvents int64 // settled events, on the board of one category
	Days           int64 // different UTC days with a prediction on a market
}

// ThresholdsOf returns the thresholds that the settings name.
func ThresholdsOf(cfg *config.Config) Thresholds {
	return Thresholds{
		Events: int64(cfg.RankedMinEvents), CategoryEvents: int64(cfg.RankedMinCategoryEvents), Days: int64(cfg.RankedMinDays),
	}
}

// The thresholds that aren't settings.
const (
	// NeedDisagreements is the least number of events with a prediction at least
	// score.MinDisagreement from its baseline.
	NeedDisagreements = 10
	// MaxPerOwner is the most agents of one owner that are ranked: the owner's best ones.
	MaxPerOwner = 3
)

// events returns the threshold of settled events for a category's board.
func (t Thresholds) events(category string) int64 {
	if category == AllCategories {
		return t.Events
	}
	return t.CategoryEvents
}

// Need is what an agent needs for a rank on a board.
type Need struct {
	Events        int64 // settled events
	Days          int64 // different UTC days with a prediction on a market
	Disagreements int64 // events with a prediction at least score.MinDisagreement from its baseline
}

// need returns what an agent needs on a category's board.
func (t Thresholds) need(category string) Need {
	return Need{Events: t.events(category), Days: t.Days, Disagreements: NeedDisagreements}
}

// contender holds the facts about an agent that ranking needs beside its sums.
type contender struct {
	ID        uuid.UUID `bun:"type:uuid"`
	Model     string
	Issuer    string
	Owner     string
	Reference bool
	// Days counts the different UTC days with a prediction on a market. Published is true if the
	// agent ever published a prediction.
	Days      int64
	Published bool
}

// Progress is an agent's count of something that a rank needs, and the count needed.
type Progress struct{ Have, Need int64 }

func (p Progress) missing() int64 { return max(p.Need-p.Have, 0) }

// share returns the part of the need that is met, 0..1.
func (p Progress) share() float64 { return min(float64(p.Have)/float64(max(p.Need, 1)), 1) }

// Requirement is one of the things that a rank needs. What names what is counted, in the plural.
type Requirement struct {
	What string
	Progress
	lack string // format of the part of Row.Reason: missing count, plural s, Have, Need
}

var farFromMarket = fmt.Sprintf("at least %g percentage points from the market", 100*score.MinDisagreement)

// requirements lists what a rank needs, and how much of it an agent has.
func requirements(events, disagreements, days Progress) []Requirement {
	return []Requirement{
		{"settled events", events, "%d more settled event%s (%d of %d)"},
		{"events " + farFromMarket, disagreements, "%d more event%s with a prediction " + farFromMarket + " (%d of %d)"},
		{"days with a prediction on a market", days, "predictions on a market on %d more UTC day%s (%d of %d)"},
	}
}

// Requirements lists what a rank needs, and how much of it the agent of a row has. days counts the days with a
// prediction on a market.
func (n Need) Requirements(r *Row, days int64) []Requirement {
	return requirements(Progress{r.Events, n.Events}, Progress{r.Disagreements, n.Disagreements}, Progress{days, n.Days})
}

// overLimit is the Row.Reason of an owner's fourth best agent and all below it.
var overLimit = fmt.Sprintf("Not ranked: at most %d agents of one owner are ranked, and %d others of this owner rank higher.", MaxPerOwner, MaxPerOwner)

// The reasons that no build writes, because they say how the agent is when its row is read.
const (
	closedReason   = "Not ranked: the account was closed and publishes no more."
	disabledReason = "Not ranked: the agent is disabled."
	unbuiltReason  = "Not ranked yet: the board has to be built with this agent first."
)

// renew gives a row without a rank the reason that holds now. A board is built when predictions settle, which an agent
// can publish for days without. published counts the days with a prediction on a market. closed and disabled say what
// has happened to the account.
func (t Thresholds) renew(r *Row, published int64, closed, disabled bool) {
	switch {
	case r.Rank != nil || r.Reference:
	case disabled:
		r.Reason = disabledReason
	case !r.Provisional && r.Reason == "":
		r.Reason = unbuiltReason
	case !r.Provisional: // over the limit of its owner
	case closed:
		r.Reason = closedReason
	default:
		if reason, _ := t.lacks(r.Category, r, published); reason != "" {
			r.Reason = reason
		}
	}
}

// newRow returns the row of an agent without its rank.
func newRow(w Window, category string, s *sums, prior Prior, c contender) *Row {
	r := &Row{
		Window: w, Category: category, AgentID: c.ID, Model: c.Model, Reference: c.Reference,
		Skill:  s.record.Skill(prior.Kappa),
		Events: s.record.N, ClusterSum: s.record.S, ClusterSquares: s.record.SS,
		Stake: s.record.A, Variance: s.record.V,
		Disagreements: s.disagreements, Resolved: s.resolved, Scored: s.scored,
		Brier:            mean(s.brier, s.scored, brierUnit),
		MarketBrier:      mean(s.marketBrier, s.scored, brierUnit),
		LogEdge:          mean(s.logEdge, s.scored, logEdgeUnit),
		CalibrationError: s.calibrationError(),
	}
	if p, ok := s.record.Posterior(prior.share()); ok {
		r.BestGuess, r.SkillLow, r.SkillHigh = &p.BestGuess, &p.Low, &p.High
	}
	if odds, ok := s.record.Odds(); ok {
		r.Odds = &odds
	}
	return r
}

// rank sets the positions and ranks of rows, sorts them in board order and returns the ranked rows.
func (t Thresholds) rank(category string, rows []*Row, contenders map[uuid.UUID]contender) []*Row {
	for _, r := range rows {
		t.qualify(category, r, contenders[r.AgentID])
	}
	byPosition := func(a, b *Row) int { return bytes.Compare(a.Position, b.Position) }
	slices.SortFunc(rows, byPosition)
	limitOwners(rows, contenders)
	slices.SortFunc(rows, byPosition)
	var ranked []*Row
	for _, r := range rows {
		if !r.Reference && !r.Provisional && r.Reason == "" {
			rank := int64(len(ranked) + 1)
			r.Rank = &rank
			ranked = append(ranked, r)
		}
	}
	return ranked
}

// qualify sets the position of a row from its own values, and makes it provisional with a reason if
// it lacks something. It doesn't apply the limit per owner.
func (t Thresholds) qualify(category string, r *Row, c contender) {
	r.Rank, r.RankLow, r.RankHigh, r.Reason, r.Provisional = nil, nil, nil, "", false
	r.Position = place(sectionRanked, r.Skill, r.Events, r.AgentID)
	if r.Reference {
		return
	}
	var closeness float64
	if r.Reason, closeness = t.lacks(category, r, c.Days); r.Reason != "" {
		r.Provisional = true
		r.Position = place(sectionProvisional, closeness, r.Events, r.AgentID)
	}
}

// lacks says in words what an agent with a row still lacks for a rank, or returns "". published counts the days with
// a prediction on a market. closeness is how much of the thresholds is reached, 0..3.
func (t Thresholds) lacks(category string, r *Row, published int64) (reason string, closeness float64) {
	var parts []string
	for _, m := range t.need(category).Requirements(r, published) {
		closeness += m.share()
		if n := m.missing(); n > 0 {
			plural := "s"
			if n == 1 {
				plural = ""
			}
			parts = append(parts, fmt.Sprintf(m.lack, n, plural, m.Have, m.Need))
		}
	}
	if len(parts) > 0 {
		reason = "Not ranked yet: needs " + strings.Join(parts, "; ") + "."
	}
	return reason, closeness
}

// limitOwners moves all but the best MaxPerOwner agents of each owner below the ranked. rows must
// be in board order.
func limitOwners(rows []*Row, contenders map[uuid.UUID]contender) {
	seen := map[string]int{}
	for _, r := range rows {
		c := contenders[r.AgentID]
		owner := agent.OwnerID(c.Issuer, c.Owner)
		if r.Reference || r.Provisional || owner == "" {
			continue
		}
		if seen[owner]++; seen[owner] > MaxPerOwner {
			r.Reason = overLimit
			r.Position = place(sectionOverLimit, r.Skill, r.Events, r.AgentID)
		}
	}
}
