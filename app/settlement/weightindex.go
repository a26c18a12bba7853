package settlement

import (
	"cmp"
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/score"
)

// categoryOf returns the category that a prediction on a market counts under.
func categoryOf(marketCategory string) string { return cmp.Or(marketCategory, score.OtherCategory) }

// dayOf returns the UTC day of a moment, or "" for the zero time.
func dayOf(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(prediction.DayLayout)
}

// weightIndexes assigns weight indexes within one transaction and creates missing clusters.
type weightIndexes struct {
	clusters map[clusterKey]*Cluster
	changed  map[clusterKey]struct{}
}

func newWeightIndexes(ctx context.Context, tx bun.Tx, rows []pending) (*weightIndexes, error) {
	wanted := make(map[clusterKey]struct{}, len(rows))
	for _, p := range rows {
		wanted[clusterKey{p.AgentID, p.EventKey}] = struct{}{}
	}
	clusters, err := loadClusters(ctx, tx, wanted)
	return &weightIndexes{clusters: clusters, changed: map[clusterKey]struct{}{}}, err
}

// next returns the weight index of the agent's next bet on the event. The first bet fixes the
// cluster's category and day, which is the scheduled close.
func (e *weightIndexes) next(agent uuid.UUID, event, marketCategory string, closes time.Time) int64 {
	key := clusterKey{agent, event}
	c := e.clusters[key]
	if c == nil {
		c = &Cluster{AgentID: agent, EventKey: event, Category: categoryOf(marketCategory), Day: dayOf(closes)}
		e.clusters[key] = c
	}
	e.changed[key] = struct{}{}
	c.NextIndex++
	return c.NextIndex - 1
}

func (e *weightIndexes) save(ctx context.Context, tx bun.Tx) error {
	rows := make([]Cluster, 0, len(e.changed))
	for key := range e.changed {
		rows = append(rows, *e.clusters[key])
	}
	return addClusters(ctx, tx, rows)
}
