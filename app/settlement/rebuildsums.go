package settlement

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/prediction"
)

type dayKey struct {
	agent uuid.UUID
	cell
}

// sums holds all running sums of some agents.
type sums struct {
	clusters map[clusterKey]*Cluster
	days     map[dayKey][]int64 // in the order of dayColumns
	tallies  map[uuid.UUID]prediction.Tally
}

func newSums() *sums {
	return &sums{map[clusterKey]*Cluster{}, map[dayKey][]int64{}, map[uuid.UUID]prediction.Tally{}}
}

// add adds a term to its day and to the day over all categories.
func (s *sums) add(t dayTerm) {
	s.addTo(t)
	if b, ok := t.block(); ok {
		s.addTo(b)
	}
}

func (s *sums) addTo(t dayTerm) {
	key := dayKey{t.AgentID, cell{t.Category, t.Day}}
	row := s.days[key]
	if row == nil {
		row = make([]int64, len(dayColumns))
		s.days[key] = row
	}
	for i, n := range t.vector() {
		row[i] += n
	}
}

// countClusters adds each cluster with a settled prediction to its day.
func (s *sums) countClusters() {
	for _, c := range s.clusters {
		c.clearDay()
		if c.Settled > 0 {
			s.add(c.share(1))
		}
	}
}

func loadSums(ctx context.Context, tx bun.Tx, agents []uuid.UUID) (*sums, error) {
	s := newSums()
	var clusters []Cluster
	if err := tx.NewSelect().Model(&clusters).Where("c.agent_id IN (?)", bun.List(agents)).Scan(ctx); err != nil {
		return nil, fmt.Errorf("read clusters: %w", err)
	}
	for i := range clusters {
		s.clusters[clusterKey{clusters[i].AgentID, clusters[i].EventKey}] = &clusters[i]
	}
	tallies, err := prediction.Tallies(ctx, tx, agents)
	if err != nil {
		return nil, err
	}
	s.tallies = tallies
	return s, s.loadDays(ctx, tx, agents)
}

func (s *sums) loadDays(ctx context.Context, tx bun.Tx, agents []uuid.UUID) error {
	columns := "COALESCE(" + strings.Join(dayColumns, ", 0), COALESCE(") + ", 0)"
	rows, err := tx.QueryContext(ctx, "SELECT agent_id, category, day, "+columns+
		" FROM agent_days WHERE agent_id IN (?)", bun.List(agents))
	if err != nil {
		return fmt.Errorf("read days: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var key dayKey
		row := make([]int64, len(dayColumns))
		into := []any{&key.agent, &key.Category, &key.Day}
		for i := range row {
			into = append(into, &row[i])
		}
		if err := rows.Scan(into...); err != nil {
			return fmt.Errorf("read days: %w", err)
		}
		s.days[key] = row
	}
	return rows.Err()
}

// compare lists the differences between the stored sums s and the recomputed sums want. A row of
// zeros equals a missing row.
func (s *sums) compare(want *sums) []Difference {
	var out []Difference
	differ := func(what Compared, agent uuid.UUID, key, have, should string) {
		if have != should {
			out = append(out, Difference{what, agent, key, have, should})
		}
	}
	for key := range union(s.clusters, want.clusters) {
		differ(ComparedClusters, key.agent, key.event, s.clusters[key].String(), want.clusters[key].String())
	}
	for key := range union(s.days, want.days) {
		differ(ComparedDays, key.agent, key.Category+" "+key.Day, dayString(s.days[key]), dayString(want.days[key]))
	}
	for id := range union(s.tallies, want.tallies) {
		differ(ComparedTallies, id, "", tallyString(s.tallies[id]), tallyString(want.tallies[id]))
	}
	slices.SortFunc(out, func(a, b Difference) int { return cmp.Compare(a.String(), b.String()) })
	return out
}

func union[K comparable, V any](a, b map[K]V) map[K]struct{} {
	all := make(map[K]struct{}, len(a))
	for k := range a {
		all[k] = struct{}{}
	}
	for k := range b {
		all[k] = struct{}{}
	}
	return all
}

// String returns all numbers of a cluster.
func (c *Cluster) String() string {
	if c == nil {
		return "nothing"
	}
	return fmt.Sprintf("%s %s (%s): next %d, settled %d, disagreements %d, value %d, stake %d, spread %d",
		c.Category, c.Day, c.SettledDay, c.NextIndex, c.Settled, c.Disagreements, c.Value, c.Stake, c.Spread)
}

func dayString(row []int64) string {
	var b strings.Builder
	for i, n := range row {
		if n != 0 {
			fmt.Fprintf(&b, "%s %d ", dayColumns[i], n)
		}
	}
	return b.String()
}

func tallyString(t prediction.Tally) string {
	return fmt.Sprintf("total %d, open %d, resolved %d, void %d, days %d, last %s, %s",
		t.Total, t.Open, t.Resolved, t.Void, t.PublicationDays, t.LastRankedDay, t.LastPublishedAt)
}

// replace writes s in place of the stored sums of the given agents.
func (s *sums) replace(ctx context.Context, tx bun.Tx, agents []uuid.UUID) error {
	for _, table := range []string{"clusters", "agent_days"} {
		if _, err := tx.ExecContext(ctx, "DELETE FROM "+table+" WHERE agent_id IN (?)", bun.List(agents)); err != nil {
			return fmt.Errorf("clear %s: %w", table, err)
		}
	}
	clusters := make([]Cluster, 0, len(s.clusters))
	for _, c := range s.clusters {
		clusters = append(clusters, *c)
	}
	for chunk := range slices.Chunk(clusters, chunkSize) {
		if err := addClusters(ctx, tx, chunk); err != nil {
			return err
		}
	}
	for key, row := range s.days {
		if err := insertDay(ctx, tx, key, row); err != nil {
			return err
		}
	}
	return prediction.ReplaceTallies(ctx, tx, agents, slices.Collect(maps.Values(s.tallies)))
}

func insertDay(ctx context.Context, tx bun.Tx, key dayKey, row []int64) error {
	columns := dayColumns
	if key.Category == AllCategories {
		columns = blockColumns
	}
	args := []any{key.agent, key.Category, key.Day}
	for _, n := range row[:len(columns)] {
		args = append(args, n)
	}
	_, err := tx.ExecContext(ctx, "INSERT INTO agent_days (agent_id, category, day, "+strings.Join(columns, ", ")+
		") VALUES (?"+strings.Repeat(", ?", len(args)-1)+")", args...)
	if err != nil {
		return fmt.Errorf("write days: %w", err)
	}
	return nil
}
