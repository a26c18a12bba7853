package load

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/score"
)

// record is one made-up prediction. Its number decides all its values.
type record struct {
	number, agent, market int
	published, closes     time.Time
	p, q, y               float64
	settled               bool
}

// record makes the prediction with a number. The agents publish in turn. The market's price is q
// and its outcome y. The confidence p lies between them, nearer to y the better the agent is, plus
// noise.
func (l *loader) record(number int) record {
	agent, turn := 1+(number-1)%l.agents, (number-1)/l.agents
	market := (agent*7919 + turn) % l.markets
	closes := l.at.AddDate(0, 0, -(market/2)%180)
	y := float64((market*7919/13 + market) % 2)
	q := .1 + .8*float64((market*31+agent*7)%1000)/1000
	insight, noise := float64(agent*37%100)/500-.05, (float64((agent*13+market*7+number)%100)/100-.5)*.3
	p := min(max(q+insight*(y-q)+noise, .01), .99)
	return record{
		number: number, agent: agent, market: market,
		published: closes.AddDate(0, 0, -2).Add(-time.Duration(number%1000) * time.Second), closes: closes,
		p: math.Round(p*1e4) / 1e4, q: q, y: y, settled: turn%10 != 9,
	}
}

// id returns a UUIDv7 that holds the moment of publication and the number.
func (r record) id() uuid.UUID {
	id := database.FirstID(r.published)
	binary.BigEndian.PutUint64(id[8:], 1<<63|uint64(r.number))
	return id
}

var predictionColumns = []string{
	"id", "agent_id", "title", "thesis", "confidence", "horizon_at", "category", "model", "evidence",
	"market_id", "outcome", "outcome_index", "event_key", "scheduled_close_at", "hidden", "sample", "created_at",
}

// prediction returns the values of predictionColumns.
func (r record) prediction() []any {
	market, title := fmt.Sprintf("load-%d", r.market), fmt.Sprintf("Load %d", r.market)
	return []any{
		r.id(), AgentID(r.agent), title, thesis(r.number), r.p, r.closes, r.category(), "", "[]",
		market, "Yes", 0, "m:" + market, r.closes, false, false, r.published,
	}
}

// category returns the category of the market.
func (r record) category() string { return fmt.Sprintf("category-%d", r.market/100%8) }

var resultColumns = []string{
	"id", "agent_id", "market_id", "horizon_at", "scheduled_close_at", "sample", "created_at",
	"baseline_state", "baseline", "baseline_before", "baseline_after", "baseline_observed_at", "weight_index", "status",
	"resolution_value", "resolution_outcome", "resolution_source", "resolved_at", "brier", "edge", "log_edge", "day", "score_category", "rules_version",
}

// result returns the values of resultColumns.
func (r record) result() []any {
	row := []any{
		r.id(), AgentID(r.agent), fmt.Sprintf("load-%d", r.market), r.closes, r.closes, false, r.published,
		string(prediction.Fixed), r.q, r.q, r.q, r.published, 0,
	}
	if !r.settled {
		return append(row, string(prediction.Open), nil, nil, nil, nil, nil, nil, nil, nil, nil, nil)
	}
	winner := "No"
	if r.y == 1 {
		winner = "Yes"
	}
	return append(row, string(prediction.Resolved), r.y, winner, "market", r.closes,
		score.Brier(r.p, r.y), int64(score.Edge(r.p, r.q, r.y)), score.LogEdge(r.p, r.q, r.y), r.closes.Format(time.DateOnly), r.category(), score.RulesVersion)
}

// AgentID returns the id of the nth loaded agent, from 1. AgentID(0) is no agent's id and sorts
// before all others.
func AgentID(n int) uuid.UUID {
	id := uuid.MustParse("0198bbbb-0000-7000-8000-000000000000")
	binary.BigEndian.PutUint32(id[12:], uint32(n))
	return id
}
