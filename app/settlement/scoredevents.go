package settlement

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
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

// eventChange is a change of a scoredEvent that isn't counted yet. Each transaction adds rows and
// changes none, so that workers on sibling markets don't wait for each other. applyEventChanges counts
// them.
type eventChange struct {
	ID       uuid.UUID `bun:",type:uuid"`
	EventKey string    `bun:",type:text"`
	Agents   int64     `bun:",type:bigint"`
}

// CountEvents returns the number of events with a scored prediction. It reads one row, which a
// settlement changes in its reference step.
func CountEvents(ctx context.Context, db bun.IDB) (n int64, err error) {
	err = db.NewRaw("SELECT COALESCE((SELECT events FROM scored_event_count WHERE id = 1), 0)").Scan(ctx, &n)
	if err != nil {
		return 0, fmt.Errorf("count events: %w", err)
	}
	return n, nil
}

// addEvents adds to the number of events.
func addEvents(ctx context.Context, tx bun.Tx, n int64) error {
	if n == 0 {
		return nil
	}
	_, err := tx.ExecContext(ctx, "INSERT INTO scored_event_count AS n (id, events) VALUES (1, ?)"+
		" ON CONFLICT (id) DO UPDATE SET events = n.events + EXCLUDED.events", n)
	if err != nil {
		return fmt.Errorf("count events: %w", err)
	}
	return nil
}

// writeEvents stores on which events the batch gives agents their first settled prediction or takes
// back their last. applyEventChanges counts these changes later.
func (b *batch) writeEvents(ctx context.Context, tx bun.Tx) error {
	moved := map[string]int64{}
	for key, n := range b.gains() {
		if !isReference(key.agent) {
			moved[key.event] += n
		}
	}
	rows := make([]eventChange, 0, len(moved))
	for event, n := range moved {
		if n != 0 {
			rows = append(rows, eventChange{database.NewID(b.now), event, n})
		}
	}
	if len(rows) == 0 {
		return nil
	}
	_, err := database.ExecRows(ctx, tx, "INSERT INTO scored_event_changes (id, event_key, agents) SELECT id, event_key, agents FROM v", rows)
	if err != nil {
		return fmt.Errorf("write changes of events: %w", err)
	}
	return nil
}

// applyEventChanges adds all committed changes to the counts of agents and events. tx must hold
// lockReferences, so only one transaction counts at a time.
func applyEventChanges(ctx context.Context, tx bun.Tx) error {
	var changes []scoredEvent
	if err := tx.NewRaw("DELETE FROM scored_event_changes RETURNING event_key, agents").Scan(ctx, &changes); err != nil {
		return fmt.Errorf("read changes of events: %w", err)
	}
	moved := map[string]int64{}
	for _, c := range changes {
		moved[c.EventKey] += c.Agents
	}
	rows := make([]scoredEvent, 0, len(moved))
	for event, n := range moved {
		if n != 0 {
			rows = append(rows, scoredEvent{EventKey: event, Agents: n})
		}
	}
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
	_, err = database.ExecRows(ctx, tx, "INSERT INTO scored_events AS e (event_key, agents) SELECT v.event_key, v.agents FROM v WHERE TRUE"+
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
	differ, err := eventsDiffer(ctx, s.db.Reader)
	if err != nil || !differ {
		return err
	}
	err = s.inWholeLedger(ctx, func(ctx context.Context, tx bun.Tx) error {
		if err := applyEventChanges(ctx, tx); err != nil {
			return err
		}
		var have, want []scoredEvent
		if err := tx.NewSelect().Model(&have).Scan(ctx); err != nil {
			return err
		}
		err := tx.NewSelect().TableExpr("clusters AS c").ColumnExpr("c.event_key, COUNT(c.agent_id) AS agents").
			Where("c.settled > 0").Where("c.agent_id NOT IN (?)", bun.List(referenceAgents)).
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

// eventsDiffer reports whether a count of agents or events differs from the clusters, including the changes that
// aren't counted yet. Because it reads all clusters, it uses the reader and takes no lock. One statement reads
// everything, so the counts are of the same moment.
func eventsDiffer(ctx context.Context, db bun.IDB) (differ bool, err error) {
	err = db.NewRaw(`WITH counted AS (
			SELECT k.event_key, SUM(k.have) AS have, SUM(k.want) AS want, SUM(k.stored) AS stored FROM (
				SELECT e.event_key, e.agents AS have, 0 AS want, e.agents AS stored FROM scored_events AS e
				UNION ALL SELECT h.event_key, h.agents, 0, 0 FROM scored_event_changes AS h
				UNION ALL SELECT c.event_key, 0, COUNT(c.agent_id), 0 FROM clusters AS c
					WHERE c.settled > 0 AND c.agent_id NOT IN (?) GROUP BY c.event_key
			) AS k GROUP BY k.event_key)
		SELECT EXISTS (SELECT 1 FROM counted WHERE have <> want)
			OR (SELECT COUNT(*) FROM counted WHERE stored > 0) <> COALESCE((SELECT events FROM scored_event_count WHERE id = 1), 0)`,
		bun.List(referenceAgents)).Scan(ctx, &differ)
	if err != nil {
		return false, fmt.Errorf("rebuild the counts of events: %w", err)
	}
	return differ, nil
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
			r.differ(ComparedEvents, uuid.Nil, key, fmt.Sprint(n[0]), fmt.Sprint(n[1]))
		}
	}
	if sum != int64(len(want)) {
		r.differ(ComparedEvents, uuid.Nil, "all", fmt.Sprint(sum), fmt.Sprint(len(want)))
	}
	return len(r.Differences) > before
}
