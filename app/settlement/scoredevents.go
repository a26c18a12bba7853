package settlement

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
)

// scoredEvent counts the agents that have a settled prediction on an event. Reference agents don't
// count.
type scoredEvent struct {
	bun.BaseModel `bun:"table:scored_events,alias:e"`

	EventKey string `bun:",pk,type:text"`
	Agents   int64  `bun:",type:bigint"`
}

// eventSlot holds a part of the number of events that have such an agent. The sum of all slots is
// that number. Settlements that run at the same time change different slots, so that they don't
// wait for each other.
type eventSlot struct {
	bun.BaseModel `bun:"table:scored_event_counts,alias:n"`

	Slot   string `bun:",pk,type:text"`
	Events int64  `bun:",type:bigint"`
}

// CountEvents returns the number of events with a scored prediction. It reads one row for each slot.
// There are at most as many slots as settlements that ever ran at the same time.
func CountEvents(ctx context.Context, db bun.IDB) (n int64, err error) {
	err = db.NewSelect().Model((*eventSlot)(nil)).ColumnExpr("CAST(COALESCE(SUM(n.events), 0) AS BIGINT)").Scan(ctx, &n)
	if err != nil {
		return 0, fmt.Errorf("count events: %w", err)
	}
	return n, nil
}

// moveSlot changes a slot that no other transaction has locked, or adds one.
const moveSlot = `WITH free AS (SELECT slot FROM scored_event_counts LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED),
moved AS (UPDATE scored_event_counts AS n SET events = n.events + ?0 FROM free WHERE n.slot = free.slot RETURNING n.slot)
INSERT INTO scored_event_counts (slot, events) SELECT gen_random_uuid()::text, ?0 WHERE NOT EXISTS (SELECT 1 FROM moved)`

// moveAlone is moveSlot for SQLite, which has one writer and needs one slot.
const moveAlone = `INSERT INTO scored_event_counts (slot, events) VALUES ('', ?0)
ON CONFLICT (slot) DO UPDATE SET events = scored_event_counts.events + EXCLUDED.events`

// addEvents adds to the number of events. It doesn't wait for another transaction.
func addEvents(ctx context.Context, tx bun.Tx, n int64) error {
	if n == 0 {
		return nil
	}
	query := moveAlone
	if database.IsPostgres(tx) {
		query = moveSlot
	}
	if _, err := tx.ExecContext(ctx, query, n); err != nil {
		return fmt.Errorf("count events: %w", err)
	}
	return nil
}

// countEvents updates the counts of the events on which the batch gives an agent its first settled
// prediction or takes back its last. It changes rows in the order of their keys, as every settlement
// does.
func (b *batch) countEvents(ctx context.Context, tx bun.Tx) error {
	moved := map[string]int64{}
	for key, before := range b.before {
		if isReference(key.agent) {
			continue
		}
		switch after := b.clusters[key]; {
		case before.Settled == 0 && after.Settled > 0:
			moved[key.event]++
		case before.Settled > 0 && after.Settled == 0:
			moved[key.event]--
		}
	}
	rows := make([]scoredEvent, 0, len(moved))
	for event, n := range moved {
		if n != 0 {
			rows = append(rows, scoredEvent{EventKey: event, Agents: n})
		}
	}
	slices.SortFunc(rows, func(a, b scoredEvent) int { return cmp.Compare(a.EventKey, b.EventKey) })
	events, err := addScored(ctx, tx, rows)
	if err != nil {
		return err
	}
	return addEvents(ctx, tx, events)
}

// addScored adds to the stored counts of agents. It returns by how much that changes the number of
// events with at least one agent.
func addScored(ctx context.Context, tx bun.Tx, rows []scoredEvent) (events int64, err error) {
	if len(rows) == 0 {
		return 0, nil
	}
	_, err = database.ExecRows(ctx, tx, "INSERT INTO scored_events AS e (event_key, agents) SELECT v.event_key, v.agents FROM v WHERE TRUE ORDER BY 1"+
		" ON CONFLICT (event_key) DO UPDATE SET agents = e.agents + EXCLUDED.agents", rows)
	if err != nil {
		return 0, fmt.Errorf("count agents on events: %w", err)
	}
	var now []scoredEvent
	if err := database.ScanRows(ctx, tx, "SELECT e.event_key, e.agents FROM v JOIN scored_events AS e ON e.event_key = v.event_key", rows, &now); err != nil {
		return 0, fmt.Errorf("count agents on events: %w", err)
	}
	added := make(map[string]int64, len(rows))
	for _, r := range rows {
		added[r.EventKey] = r.Agents
	}
	for _, r := range now {
		switch before := r.Agents - added[r.EventKey]; {
		case before <= 0 && r.Agents > 0:
			events++
		case before > 0 && r.Agents <= 0:
			events--
		}
	}
	return events, nil
}

// rebuildEvents counts the agents on every event again from the clusters, and compares the counts
// with the stored ones. With replace, it writes the counts if any differs.
func (s *Service) rebuildEvents(ctx context.Context, replace bool, report *RebuildReport) error {
	err := s.inWholeLedger(ctx, func(ctx context.Context, tx bun.Tx) error {
		var have, want []scoredEvent
		if err := tx.NewSelect().Model(&have).Scan(ctx); err != nil {
			return err
		}
		err := tx.NewSelect().TableExpr("clusters AS c").ColumnExpr("c.event_key, COUNT(c.agent_id) AS agents").
			Where("c.settled > 0").Where("c.agent_id NOT IN (?, ?)", FiftyAgent, ConsensusAgent).
			GroupExpr("c.event_key").Scan(ctx, &want)
		if err != nil {
			return err
		}
		sum, err := CountEvents(ctx, tx)
		if err != nil {
			return err
		}
		if !report.differEvents(have, want, sum) || !replace {
			return nil
		}
		if _, err := tx.NewDelete().Model((*scoredEvent)(nil)).Where("TRUE").Exec(ctx); err != nil {
			return err
		}
		for part := range slices.Chunk(want, chunkSize) {
			if _, err := tx.NewInsert().Model(&part).Exec(ctx); err != nil {
				return err
			}
		}
		return addEvents(ctx, tx, int64(len(want))-sum)
	})
	if err != nil {
		return fmt.Errorf("rebuild the counts of events: %w", err)
	}
	return nil
}

// differEvents adds the counts that differ to r and returns whether there are any. A count of 0
// equals a missing one. sum is the stored number of events.
func (r *RebuildReport) differEvents(have, want []scoredEvent, sum int64) bool {
	counts := map[string][2]int64{}
	for _, e := range have {
		counts[e.EventKey] = [2]int64{e.Agents, 0}
	}
	for _, e := range want {
		counts[e.EventKey] = [2]int64{counts[e.EventKey][0], e.Agents}
	}
	before := len(r.Differences)
	for key, n := range counts {
		if n[0] != n[1] {
			r.differ("event", MarketAgent, key, fmt.Sprint(n[0]), fmt.Sprint(n[1]))
		}
	}
	if sum != int64(len(want)) {
		r.differ("event", MarketAgent, "all", fmt.Sprint(sum), fmt.Sprint(len(want)))
	}
	return len(r.Differences) > before
}
