package prediction

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
)

const (
	// maxVoices is how many agents of a market are read from each of two groups: those that published as
	// newcomers, and the others. The oldest agents come first. So new agents can't displace older ones, however
	// many register and however much they publish.
	maxVoices = 250
	// maxRepeats is how many of an agent's newest open predictions on a market are read.
	maxRepeats = 10
)

// Opinion is an agent's open prediction on a market.
type Opinion struct {
	ID                 uuid.UUID `bun:",type:uuid"`
	MarketID           string
	AgentID            uuid.UUID `bun:",type:uuid"`
	OutcomeIndex       int
	Confidence         float64
	BaselineState      BaselineState
	BaselineObservedAt time.Time `bun:",nullzero"`
}

// Opinions reads the revealed open predictions on markets, newest first. It reads a bounded number for each
// market; see maxVoices and maxRepeats.
func Opinions(ctx context.Context, db bun.IDB, marketIDs []string) ([]Opinion, error) {
	if len(marketIDs) == 0 {
		return nil, nil
	}
	ids, err := json.Marshal(marketIDs)
	if err != nil {
		return nil, fmt.Errorf("read opinions: %w", err)
	}
	query, markets := opinionsOnSQLite, any(string(ids))
	if database.IsPostgres(db) {
		query, markets = opinionsOnPostgres, bun.List(marketIDs)
	}
	var rows []Opinion
	if err := db.NewRaw(query, markets, maxVoices, maxRepeats, maxRepeats-1, uuid.Nil, uuid.Max).Scan(ctx, &rows); err != nil {
		return nil, fmt.Errorf("read opinions: %w", err)
	}
	slices.SortFunc(rows, func(a, b Opinion) int { return bytes.Compare(b.ID[:], a.ID[:]) })
	for i := range rows {
		rows[i].BaselineObservedAt = rows[i].BaselineObservedAt.UTC()
	}
	return rows, nil
}

// walkVoices returns a recursive query w that goes from agent to agent through the index results_open_agents.
// Each step is one look-up: next finds the first agent after ?a on market ?m with the newcomer mark ?n.
func walkVoices(next string) string {
	step := func(market, mark, after string) string {
		return strings.NewReplacer("?m", market, "?n", mark, "?a", after).Replace(next)
	}
	return `w (market_id, newcomer, agent_id, place) AS (
			SELECT v.market_id, FALSE, ` + step("v.market_id", "FALSE", "?4") + `, 1 FROM v
			UNION ALL SELECT v.market_id, TRUE, ` + step("v.market_id", "TRUE", "?4") + `, 1 FROM v
			UNION ALL SELECT w.market_id, w.newcomer, ` + step("w.market_id", "w.newcomer", "w.agent_id") + `, w.place + 1
			FROM w WHERE w.agent_id IS NOT NULL AND w.place < ?1)
		SELECT s.market_id, s.agent_id, s.id, p.outcome_index, p.confidence, s.baseline_state, s.baseline_observed_at FROM w `
}

// On Postgres, the query compares and orders whole index rows, so that the planner can use no other index.
// After the last agent of a market, the look-up finds another market or the other mark. Likewise, the newest
// predictions of an agent may be followed by those of another, which the last line leaves out. A lower bound in
// their look-up would let the planner read every open prediction on the market for each agent. The ids are one array,
// because planning takes longer with a list of values. OFFSET 0 keeps the planner from joining every prediction
// of an agent before it looks at their ids.
var opinionsOnPostgres = `WITH RECURSIVE v (market_id) AS (SELECT unnest((SELECT ARRAY[?0]::text[]))), ` +
	walkVoices(`(SELECT CASE WHEN r.market_id = ?m AND r.newcomer = ?n THEN r.agent_id END FROM results AS r
			WHERE r.status = 'open' AND r.market_id IS NOT NULL AND (r.market_id, r.newcomer, r.agent_id) > (?m, ?n, ?a)
			ORDER BY r.market_id, r.newcomer, r.agent_id LIMIT 1)`) + `
		CROSS JOIN LATERAL (SELECT r.* FROM results AS r WHERE r.status = 'open' AND r.market_id IS NOT NULL
			AND (r.market_id, r.newcomer, r.agent_id, r.id) <= (w.market_id, w.newcomer, w.agent_id, ?5)
			ORDER BY r.market_id DESC, r.newcomer DESC, r.agent_id DESC, r.id DESC LIMIT ?2) AS s
		CROSS JOIN LATERAL (SELECT p.outcome_index, p.confidence FROM predictions AS p
			WHERE p.agent_id = s.agent_id AND p.id = s.id AND ` + revealed + ` OFFSET 0) AS p
		WHERE s.market_id = w.market_id AND s.newcomer = w.newcomer AND s.agent_id = w.agent_id`

// SQLite has no LATERAL.
var opinionsOnSQLite = `WITH RECURSIVE v (market_id) AS (SELECT value FROM json_each(?0)), ` +
	walkVoices(`(SELECT r.agent_id FROM results AS r WHERE r.market_id = ?m AND r.status = 'open' AND r.newcomer = ?n
			AND r.agent_id > ?a ORDER BY r.agent_id LIMIT 1)`) + `
		CROSS JOIN results AS s ON s.market_id = w.market_id AND s.newcomer = w.newcomer AND s.agent_id = w.agent_id
			AND s.status = 'open' AND s.id >= COALESCE((SELECT r.id FROM results AS r WHERE r.market_id = w.market_id
				AND r.newcomer = w.newcomer AND r.agent_id = w.agent_id AND r.status = 'open'
				ORDER BY r.id DESC LIMIT 1 OFFSET ?3), ?4)
		JOIN predictions AS p ON p.agent_id = s.agent_id AND p.id = s.id AND ` + revealed
