package prediction

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/update"
)

// created returns the updates for new predictions.
func created(list []*Prediction) []update.Update {
	updates := make([]update.Update, len(list))
	for i, p := range list {
		ref := &update.Prediction{ID: p.ID, AgentID: p.AgentID, Status: string(p.Status)}
		if !p.Unrevealed {
			ref.Confidence = &p.Confidence
		}
		updates[i] = update.Update{
			Type: update.PredictionCreated, At: p.CreatedAt,
			Ref: update.Ref{Prediction: ref, Market: MarketRef(p.MarketID, p.EventKey, p.MarketCategory)},
		}
	}
	return updates
}

// MarketRef names the market of a prediction in an update. It returns nil without a market.
func MarketRef(id, eventKey, category string) *update.Market {
	if id == "" {
		return nil
	}
	return &update.Market{ID: id, EventID: market.EventID(eventKey), Category: category}
}

// firstLooked is how many of an agent's predictions on a market FirstOn looks at.
const firstLooked = 32

// FirstOn returns, by market, when an agent first published on each of the given markets. It leaves out voided
// predictions, and markets without a prediction. It looks at the first 32 predictions on each market. If they
// are all void, the next one counts whatever its status, so that the time may be too early but never too late.
func (Store) FirstOn(ctx context.Context, db bun.IDB, agentID uuid.UUID, marketIDs []string) (map[string]time.Time, error) {
	first := map[string]time.Time{}
	if len(marketIDs) == 0 {
		return first, nil
	}
	type row struct {
		AgentID  uuid.UUID `bun:",type:uuid"`
		MarketID string    `bun:",type:text"`
	}
	rows := make([]row, len(marketIDs))
	for i, id := range marketIDs {
		rows[i] = row{agentID, id}
	}
	var found []struct {
		MarketID  string
		CreatedAt time.Time `bun:",nullzero"`
	}
	err := database.ScanRows(ctx, db, fmt.Sprintf(`SELECT v.market_id, COALESCE((SELECT MIN(few.created_at) FROM (
			SELECT p.agent_id, p.id, p.created_at FROM predictions AS p
			WHERE p.agent_id = v.agent_id AND p.market_id = v.market_id ORDER BY p.id LIMIT %[1]d) AS few
		JOIN results AS s ON s.agent_id = few.agent_id AND s.id = few.id WHERE s.status <> 'void'),
		(SELECT p.created_at FROM predictions AS p
			WHERE p.agent_id = v.agent_id AND p.market_id = v.market_id ORDER BY p.id LIMIT 1 OFFSET %[1]d)) AS created_at FROM v`,
		firstLooked), rows, &found)
	if err != nil {
		return nil, fmt.Errorf("look for an agent's predictions on markets: %w", err)
	}
	for _, f := range found {
		if !f.CreatedAt.IsZero() {
			first[f.MarketID] = f.CreatedAt.UTC()
		}
	}
	return first, nil
}
