package prediction

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
)

// NewestOpenBy lists open predictions of agents, newest first, at most limit. It looks only at the newest
// perAgent predictions of every agent, so its cost doesn't grow with the number of predictions.
func (s Store) NewestOpenBy(
	ctx context.Context, db bun.IDB, agents []uuid.UUID, perAgent, limit int,
) ([]Record, error) {
	if len(agents) == 0 {
		return nil, nil
	}
	var page []place
	err := db.NewSelect().TableExpr("(?) AS n", newestBy(db, agents, perAgent)).ColumnExpr("n.agent_id, n.id").
		Join("JOIN results AS r ON r.agent_id = n.agent_id AND r.id = n.id").Where("r.status = ?", Open).
		OrderExpr("n.id DESC").Limit(int64(limit)).Scan(ctx, &page)
	if err != nil {
		return nil, fmt.Errorf("list open predictions of agents: %w", err)
	}
	return s.inOrder(ctx, db, page)
}

// newestBy is a subquery of the newest perAgent predictions of every agent, with the columns agent_id and id.
func newestBy(db bun.IDB, agents []uuid.UUID, perAgent int) *bun.RawQuery {
	if database.IsPostgres(db) { // Postgres takes longer to plan a UNION with more parts.
		return db.NewRaw(`SELECT p.agent_id, p.id FROM unnest((SELECT ARRAY[?]::uuid[])) AS v (agent_id)
			CROSS JOIN LATERAL (SELECT w.agent_id, w.id FROM predictions AS w WHERE w.agent_id = v.agent_id
				ORDER BY w.id DESC LIMIT ?) AS p`, bun.List(agents), perAgent)
	}
	parts, args := make([]string, len(agents)), make([]any, len(agents))
	for i, id := range agents {
		parts[i] = "?"
		args[i] = db.NewRaw(`SELECT * FROM (SELECT agent_id, id FROM predictions WHERE agent_id = ?
			ORDER BY id DESC LIMIT ?) AS p`, id, perAgent)
	}
	return db.NewRaw(strings.Join(parts, " UNION ALL "), args...)
}
