package settlement

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/score"
)

// dayTerm is a change to one row of agent_days. It changes at most one calibration bin; Bin is −1
// if it changes none.
type dayTerm struct {
	AgentID  uuid.UUID `bun:",type:uuid"`
	Category string    `bun:",type:text"`
	Day      string    `bun:",type:text"`

	Clusters        int64 `bun:",type:bigint"`
	ClusterSum      int64 `bun:",type:bigint"` // 1/10,000 point
	ClusterSquares  int64 `bun:",type:bigint"` // square of the sum
	Stake           int64 `bun:",type:bigint"` // A: 1/10,000 point
	Variance        int64 `bun:",type:bigint"` // V: the squares of the clusters' spreads, 1e-8 point²
	Disagreements   int64 `bun:",type:bigint"` // clusters with a disagreement
	Resolved        int64 `bun:",type:bigint"`
	Scored          int64 `bun:",type:bigint"` // resolved predictions with a baseline
	ResolvedBrier   int64 `bun:",type:bigint"` // 1e-8, over the resolved
	Brier           int64 `bun:",type:bigint"` // 1e-8, over the scored
	MarketBrier     int64 `bun:",type:bigint"` // 1e-8, over the scored
	LogEdge         int64 `bun:",type:bigint"` // 1e-6 bit, over the scored
	ObservedSquares int64 `bun:",type:bigint"` // Σy² in 1e-9, over the resolved

	Bin           int64 `bun:",type:bigint"`
	BinCount      int64 `bun:",type:bigint"`
	BinConfidence int64 `bun:",type:bigint"`
	BinObserved   int64 `bun:",type:bigint"`
}

// plainSums are the columns of agent_days outside the bins, in the order of dayTerm.
var plainSums = []string{
	"clusters", "cluster_sum", "cluster_squares", "stake", "variance", "disagreements", "resolved", "scored",
	"resolved_brier", "brier", "market_brier", "log_edge", "observed_squares",
}

// dayColumns are all columns of sums in agent_days: the plain ones, then three for each bin.
var dayColumns = func() []string {
	columns := append([]string(nil), plainSums...)
	for bin := range score.BinCount {
		for _, part := range binParts {
			columns = append(columns, fmt.Sprintf("b%d_%s", bin, part))
		}
	}
	return columns
}()

// blockColumns are the columns that rows over all categories have.
var blockColumns = plainSums[:2]

var binParts = []string{"count", "confidence", "observed"}

// vector returns the term's numbers in the order of dayColumns.
func (t *dayTerm) vector() []int64 {
	v := append(make([]int64, 0, len(dayColumns)),
		t.Clusters, t.ClusterSum, t.ClusterSquares, t.Stake, t.Variance, t.Disagreements, t.Resolved, t.Scored,
		t.ResolvedBrier, t.Brier, t.MarketBrier, t.LogEdge, t.ObservedSquares)[:len(dayColumns)]
	if t.Bin >= 0 {
		copy(v[len(plainSums)+int(t.Bin)*len(binParts):], []int64{t.BinCount, t.BinConfidence, t.BinObserved})
	}
	return v
}

// join adds another term of the same row and bin. A term without a bin joins any term of its row.
func (t *dayTerm) join(o *dayTerm) {
	t.Clusters += o.Clusters
	t.ClusterSum += o.ClusterSum
	t.ClusterSquares += o.ClusterSquares
	t.Stake += o.Stake
	t.Variance += o.Variance
	t.Disagreements += o.Disagreements
	t.Resolved += o.Resolved
	t.Scored += o.Scored
	t.ResolvedBrier += o.ResolvedBrier
	t.Brier += o.Brier
	t.MarketBrier += o.MarketBrier
	t.LogEdge += o.LogEdge
	t.ObservedSquares += o.ObservedSquares
	t.BinCount += o.BinCount
	t.BinConfidence += o.BinConfidence
	t.BinObserved += o.BinObserved
}

// AllCategories is the category of the daily rows over all categories. They hold only clusters and
// cluster_sum. Both are squared by day, and the square of a day's sum doesn't follow from the
// squares of its categories. All other sums can be added up over the categories.
const AllCategories = ""

// block returns what a term adds to the day over all categories. ok is false if it adds nothing.
func (t *dayTerm) block() (b dayTerm, ok bool) {
	b = dayTerm{
		AgentID: t.AgentID, Category: AllCategories, Day: t.Day, Clusters: t.Clusters, ClusterSum: t.ClusterSum, Bin: -1,
	}
	return b, t.Clusters != 0 || t.ClusterSum != 0
}

// dayTerms are the changes to each row of agent_days, one for every bin they change.
type dayTerms map[dayKey][]dayTerm

// add adds a term to its category's day and to the day over all categories.
func (d dayTerms) add(t dayTerm) {
	d.addTo(t)
	if b, ok := t.block(); ok {
		d.addTo(b)
	}
}

func (d dayTerms) addTo(t dayTerm) {
	key := dayKey{t.AgentID, cell{t.Category, t.Day}}
	terms := d[key]
	for i := range terms {
		if t.Bin < 0 || t.Bin == terms[i].Bin {
			terms[i].join(&t)
			return
		}
	}
	d[key] = append(terms, t)
}

// rounds splits the terms so that no round holds a row twice, because one upsert can't change a row
// twice. Each round is in the order of the table's key.
func (d dayTerms) rounds() [][]dayTerm {
	var rounds [][]dayTerm
	for _, terms := range d {
		for i, t := range terms {
			if i == len(rounds) {
				rounds = append(rounds, nil)
			}
			rounds[i] = append(rounds[i], t)
		}
	}
	for _, terms := range rounds {
		slices.SortFunc(terms, func(a, b dayTerm) int {
			return cmp.Or(bytes.Compare(a.AgentID[:], b.AgentID[:]), cmp.Compare(a.Category, b.Category), cmp.Compare(a.Day, b.Day))
		})
	}
	return rounds
}

var addDaysSQL = func() string {
	var terms, sets []string
	for _, c := range plainSums {
		terms = append(terms, "v."+c)
	}
	for bin := range score.BinCount {
		for _, part := range binParts {
			terms = append(terms, fmt.Sprintf("CASE WHEN v.bin = %d THEN v.bin_%s ELSE 0 END", bin, part))
		}
	}
	for _, c := range dayColumns {
		sets = append(sets, c+" = d."+c+" + EXCLUDED."+c)
	}
	return "INSERT INTO agent_days AS d (agent_id, category, day, " + strings.Join(dayColumns, ", ") + ")" +
		" SELECT v.agent_id, v.category, v.day, " + strings.Join(terms, ", ") + " FROM v WHERE TRUE" +
		" ON CONFLICT (agent_id, category, day) DO UPDATE SET " + strings.Join(sets, ", ")
}()

// dayBlock is a change to a row over all categories.
type dayBlock struct {
	AgentID    uuid.UUID `bun:",type:uuid"`
	Day        string    `bun:",type:text"`
	Clusters   int64     `bun:",type:bigint"`
	ClusterSum int64     `bun:",type:bigint"`
}

const addBlocksSQL = "INSERT INTO agent_days AS d (agent_id, category, day, clusters, cluster_sum)" +
	" SELECT v.agent_id, '', v.day, v.clusters, v.cluster_sum FROM v WHERE TRUE" +
	" ON CONFLICT (agent_id, category, day) DO UPDATE" +
	" SET clusters = d.clusters + EXCLUDED.clusters, cluster_sum = d.cluster_sum + EXCLUDED.cluster_sum"

func addDays(ctx context.Context, tx bun.Tx, days dayTerms) error {
	for _, terms := range days.rounds() {
		var blocks []dayBlock
		terms = slices.DeleteFunc(terms, func(t dayTerm) bool {
			if t.Category != AllCategories {
				return false
			}
			blocks = append(blocks, dayBlock{t.AgentID, t.Day, t.Clusters, t.ClusterSum})
			return true
		})
		if len(blocks) > 0 {
			if _, err := database.ExecRows(ctx, tx, addBlocksSQL, blocks); err != nil {
				return fmt.Errorf("add to the days over all categories: %w", err)
			}
		}
		if len(terms) == 0 {
			continue
		}
		if _, err := database.ExecRows(ctx, tx, addDaysSQL, terms); err != nil {
			return fmt.Errorf("add to the days: %w", err)
		}
	}
	return nil
}

// Cluster is an agent's predictions on one event.
type Cluster struct {
	bun.BaseModel `bun:"table:clusters,alias:c"`

	AgentID  uuid.UUID `bun:",pk,type:uuid"`
	EventKey string    `bun:",pk,type:text"`
	// Category and Day, the scheduled close, are fixed by the agent's first prediction on the
	// event. If the market had no end date, Day is empty, and SettledDay is the day of the first
	// settlement as long as something is settled.
	Category   string `bun:",type:text"`
	Day        string `bun:",nullzero,type:text"`
	SettledDay string `bun:",nullzero,type:text"`
	// NextIndex is the weight index of the next prediction.
	NextIndex int64 `bun:",type:bigint"`
	// Settled counts the scored predictions. Disagreements counts those at least
	// score.MinDisagreement from their baseline. Value is C, the sum of their contributions.
	Settled       int64 `bun:",type:bigint"`
	Disagreements int64 `bun:",type:bigint"`
	Value         int64 `bun:",type:bigint"`
	// Stake and Spread are Σa and Σu of the scored predictions, each times its weight.
	Stake  int64 `bun:",type:bigint"`
	Spread int64 `bun:",type:bigint"`
}

type clusterKey struct {
	agent uuid.UUID
	event string
}

// countsOn returns the day the cluster counts on, empty if it doesn't count.
func (c *Cluster) countsOn() string { return cmp.Or(c.Day, c.SettledDay) }

// count adds one scored bet (sign 1) or takes it back (−1). settled is the day that the cluster
// counts on if its market has no end date.
func (c *Cluster) count(b *bet, r result, sign int64, settled string) {
	if c.Day == "" && c.SettledDay == "" {
		c.SettledDay = settled
	}
	c.Settled += sign
	c.Value += sign * int64(*r.Contribution)
	c.Stake += sign * int64(*r.Stake)
	c.Spread += sign * int64(*r.Spread)
	c.Disagreements += sign * b.disagrees()
}

// clearDay clears the day of settlement when nothing is settled any longer.
func (c *Cluster) clearDay() {
	if c.Settled == 0 {
		c.SettledDay = ""
	}
}

// share returns what a cluster with a settled prediction adds to its day.
func (c *Cluster) share(sign int64) dayTerm {
	t := dayTerm{
		AgentID: c.AgentID, Category: c.Category, Day: c.countsOn(), Bin: -1,
		Clusters: sign, ClusterSum: sign * c.Value, ClusterSquares: sign * c.Value * c.Value,
		Stake: sign * c.Stake, Variance: sign * c.Spread * c.Spread,
	}
	if c.Disagreements > 0 {
		t.Disagreements = sign
	}
	return t
}

// loadClusters reads the wanted clusters that exist.
func loadClusters(ctx context.Context, tx bun.Tx, wanted map[clusterKey]struct{}) (map[clusterKey]*Cluster, error) {
	found := make(map[clusterKey]*Cluster, len(wanted))
	if len(wanted) == 0 {
		return found, nil
	}
	type key struct {
		AgentID  uuid.UUID `bun:",type:uuid"`
		EventKey string    `bun:",type:text"`
	}
	list := make([]key, 0, len(wanted))
	for k := range wanted {
		list = append(list, key{k.agent, k.event})
	}
	rows := make([]Cluster, 0, len(wanted))
	err := database.ScanRows(ctx, tx, "SELECT c.agent_id, c.event_key, c.category, c.day, c.settled_day, c.next_index, c.settled, c.disagreements,"+
		" c.value, c.stake, c.spread FROM v JOIN clusters AS c ON c.agent_id = v.agent_id AND c.event_key = v.event_key", list, &rows)
	if err != nil {
		return nil, fmt.Errorf("read clusters: %w", err)
	}
	for i := range rows {
		found[clusterKey{rows[i].AgentID, rows[i].EventKey}] = &rows[i]
	}
	return found, nil
}

// addClusters inserts new clusters. Of existing ones it updates only the next index, which is all
// that a prediction changes before it is settled.
func addClusters(ctx context.Context, tx bun.Tx, rows []Cluster) error {
	if len(rows) == 0 {
		return nil
	}
	_, err := database.ExecRows(ctx, tx, "INSERT INTO clusters (agent_id, event_key, category, day, settled_day, next_index, settled, disagreements, value, stake, spread)"+
		" SELECT v.agent_id, v.event_key, v.category, v.day, v.settled_day, v.next_index, v.settled, v.disagreements,"+
		" v.value, v.stake, v.spread FROM v WHERE TRUE"+
		" ON CONFLICT (agent_id, event_key) DO UPDATE SET next_index = EXCLUDED.next_index", rows)
	if err != nil {
		return fmt.Errorf("write clusters: %w", err)
	}
	return nil
}

// settleClusters writes the columns that a settlement changes.
func settleClusters(ctx context.Context, tx bun.Tx, rows []Cluster) error {
	if len(rows) == 0 {
		return nil
	}
	_, err := database.ExecRows(ctx, tx, "UPDATE clusters AS c SET settled_day = v.settled_day, settled = v.settled,"+
		" disagreements = v.disagreements, value = v.value, stake = v.stake, spread = v.spread FROM v WHERE c.agent_id = v.agent_id AND c.event_key = v.event_key", rows)
	if err != nil {
		return fmt.Errorf("settle clusters: %w", err)
	}
	return nil
}
