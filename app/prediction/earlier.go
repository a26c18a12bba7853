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

// linkedTo is an agent with a market, and the market's event.
type linkedTo struct {
	AgentID  uuid.UUID `bun:",type:uuid"`
	MarketID string    `bun:",type:text"`
	EventKey string    `bun:",type:text"`
}

// maxEarlier is the most predictions of an agent on an event that are counted. More make no difference to the
// weight of the next one that an agent could notice.
const maxEarlier = 32

// findEarlier reads what the agents of drafts published before on the same markets and events.
func (known *facts) findEarlier(ctx context.Context, db bun.IDB, list []*item) error {
	known.earlier, known.untilClose = map[agentEvent]int{}, map[agentMarket]bool{}
	links := map[linkedTo]bool{}
	for _, it := range list {
		if to, _, err := known.link(it); err == nil && to.market != nil {
			links[linkedTo{it.agentID, to.market.ID, to.market.EventKey()}] = true
		}
	}
	if len(links) == 0 {
		return nil
	}
	var rows []struct {
		AgentID    uuid.UUID `bun:",type:uuid"`
		MarketID   string
		EventKey   string
		Earlier    int
		UntilClose bool
	}
	err := database.ScanRows(ctx, db, `SELECT v.agent_id, v.market_id, v.event_key,
		(SELECT COUNT(*) FROM (SELECT 1 FROM predictions AS p
			WHERE p.agent_id = v.agent_id AND p.event_key = v.event_key LIMIT `+strconv.Itoa(maxEarlier)+`) AS few) AS earlier,
		EXISTS (SELECT 1 FROM predictions AS p
			WHERE p.agent_id = v.agent_id AND p.market_id = v.market_id AND p.unrevealed AND p.reveal = 'close') AS until_close FROM v`,
		slices.Collect(maps.Keys(links)), &rows)
	if err != nil {
		return fmt.Errorf("read earlier predictions: %w", err)
	}
	for _, r := range rows {
		known.earlier[agentEvent{r.AgentID, r.EventKey}] = r.Earlier
		if r.UntilClose {
			known.untilClose[agentMarket{r.AgentID, r.MarketID}] = true
		}
	}
	return nil
}
