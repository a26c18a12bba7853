package settlement

import (
	"cmp"
	"context"
	"time"

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

// newWeightIndexes reads the clusters with the given keys. A key may be given several times.
func newWeightIndexes(ctx context.Context, tx bun.Tx, keys []clusterKey) (*weightIndexes, error) {
	wanted := make(map[clusterKey]struct{}, len(keys))
	for _, k := range keys {
		wanted[k] = struct{}{}
	}
	clusters, err := loadClusters(ctx, tx, wanted)
	return &weightIndexes{clusters: clusters, changed: map[clusterKey]struct{}{}}, err
}

// next returns the weight index of the agent's next bet on the event. The first bet fixes the
// cluster's category and day, which is the scheduled close.
func (e *weightIndexes) next(key clusterKey, marketCategory string, closes time.Time) int64 {
	c := e.clusters[key]
	if c == nil {
		c = &Cluster{AgentID: key.agent, EventKey: key.event, Category: categoryOf(marketCategory), Day: dayOf(closes)}
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
