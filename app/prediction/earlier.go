package prediction

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
)

// agentEvent is the pair of an agent and an event.
type agentEvent struct {
	AgentID  uuid.UUID
	EventKey string
}

func eventOf(p *Prediction) agentEvent { return agentEvent{p.AgentID, p.EventKey} }

// agentMarket is the pair of an agent and a market.
type agentMarket struct {
	AgentID  uuid.UUID
	MarketID string
}

// agentOutcome is an agent with an outcome of a market. Outcome is "" if the market has two, because a prediction on one of
// them says something about the other too; see ScanPending.
type agentOutcome struct {
	AgentID  uuid.UUID
	MarketID string
	Outcome  string
}

// saidBy returns what an agent says something about by a prediction with this link.
func (to link) saidBy(agentID uuid.UUID) agentOutcome {
	about := agentOutcome{agentID, to.market.ID, ""}
	if len(to.market.Outcomes) != 2 {
		about.Outcome = to.market.Outcomes[to.outcome]
	}
	return about
}

// linkedTo is an agent with a market, the event that it belongs to now, and the outcome of an agentOutcome.
type linkedTo struct {
	AgentID  uuid.UUID `bun:",type:uuid"`
	MarketID string    `bun:",type:text"`
	EventKey string    `bun:",type:text"`
	Outcome  string    `bun:",type:text"`
}

// maxEarlier is how many of an agent's newest predictions on an event, or on a market, are looked at. More make no
// difference to the weight of the next one that an agent could notice.
const maxEarlier = 32

// repeats tells what is known of an agent's earlier predictions on an event.
type repeats struct {
	looked  int  // how many were looked at; there may be more from maxEarlier on
	pending int  // how many of these wait for a baseline
	weighed *int // how many predictions on the event have a baseline; nil if none of those looked at has one
}

// and returns r after n more predictions, which wait for a baseline.
func (r repeats) and(n int) repeats { return repeats{r.looked + n, r.pending + n, r.weighed} }

// findEarlier reads what the agents of drafts published before on the same markets and events. The baselines of an event
// are decided in the order of publication, so the newest one has the highest index.
//
// A source may move a market to another event. An agent's first prediction on the market fixes its event for the agent.
// Otherwise later ones would weigh fully again, and one question would count as two events.
func (known *facts) findEarlier(ctx context.Context, db bun.IDB, list []*item) error {
	known.earlier, known.said, known.untilClose = map[agentEvent]repeats{}, map[agentOutcome]bool{}, map[agentMarket]bool{}
	known.events = map[agentMarket]string{}
	links := map[linkedTo]bool{}
	for _, it := range list {
		if to, _, err := known.link(it); err == nil && to.market != nil {
			links[linkedTo{it.agentID, to.market.ID, to.market.EventKey(), to.saidBy(it.agentID).Outcome}] = true
		}
	}
	if len(links) == 0 {
		return nil
	}
	var rows []struct {
		AgentID    uuid.UUID `bun:",type:uuid"`
		MarketID   string
		EventKey   string
		Outcome    string
		Repeats    string // the numbers of repeats, -1 for nil; in one text, because a subquery has one column
		Said       bool
		UntilClose bool
	}
	// The limit keeps the planner from looking an event up again wherever it is compared.
	fixed := `(SELECT v.agent_id, v.market_id, v.outcome, COALESCE((SELECT p.event_key FROM predictions AS p
		WHERE p.agent_id = v.agent_id AND p.market_id = v.market_id ORDER BY p.id LIMIT 1), v.event_key) AS event_key FROM v LIMIT 100000) AS v`
	newest := func(column, of string) string {
		return "(SELECT p." + column + " FROM predictions AS p WHERE p.agent_id = v.agent_id AND p." + of + " = v." + of +
			" ORDER BY p.id DESC LIMIT " + strconv.Itoa(maxEarlier) + ") AS p"
	}
	err := database.ScanRows(ctx, db, `SELECT v.agent_id, v.market_id, v.event_key, v.outcome,
		(SELECT COUNT(*) || ' ' || COUNT(CASE WHEN r.baseline_state = 'pending' THEN 1 END) || ' ' || COALESCE(MAX(r.weight_index) + 1, -1)
			FROM `+newest("id", "event_key")+` JOIN results AS r ON r.agent_id = v.agent_id AND r.id = p.id) AS repeats,
		EXISTS (SELECT 1 FROM `+newest("outcome", "market_id")+` WHERE v.outcome IN ('', p.outcome)) AS said,
		EXISTS (SELECT 1 FROM predictions AS p
			WHERE p.agent_id = v.agent_id AND p.market_id = v.market_id AND p.unrevealed AND p.reveal = 'close') AS until_close FROM `+fixed,
		slices.Collect(maps.Keys(links)), &rows)
	if err != nil {
		return fmt.Errorf("read earlier predictions: %w", err)
	}
	for _, r := range rows {
		known.events[agentMarket{r.AgentID, r.MarketID}] = r.EventKey
		earlier, weighed := repeats{}, 0
		if _, err := fmt.Sscan(r.Repeats, &earlier.looked, &earlier.pending, &weighed); err != nil {
			return fmt.Errorf("read earlier predictions: %w", err)
		}
		if weighed >= 0 {
			earlier.weighed = &weighed
		}
		known.earlier[agentEvent{r.AgentID, r.EventKey}] = earlier
		if r.Said {
			known.said[agentOutcome{r.AgentID, r.MarketID, r.Outcome}] = true
		}
		if r.UntilClose {
			known.untilClose[agentMarket{r.AgentID, r.MarketID}] = true
		}
	}
	return nil
}

// note remembers a prediction for the checks and the advice of later ones in the batch.
func (known *facts) note(made *Record) {
	if made.Market != nil {
		known.said[link{made.Market, *made.OutcomeIndex}.saidBy(made.AgentID)] = true
	}
	if made.Unrevealed && made.Reveal == RevealClose {
		known.untilClose[agentMarket{made.AgentID, made.MarketID}] = true
	}
}
