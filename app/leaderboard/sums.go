package leaderboard

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/score"
	"github.com/pulsecast/pulsecast/app/settlement"
)

// Units of the integer columns of agent_days.
const (
	brierUnit   = 1e8
	logEdgeUnit = 1e6
	binUnit     = 1e9
)

// sums holds the totals over some of an agent's days. A board row is computed from it.
type sums struct {
	record        score.Sums
	disagreements int64
	resolved      int64
	scored        int64
	brier         int64
	marketBrier   int64
	logEdge       int64
	// gaps holds Σp − Σy of each calibration bin, in billionths.
	gaps [score.BinCount]int64
}

func (s *sums) add(o *sums) {
	s.record = s.record.Plus(o.record)
	s.disagreements += o.disagreements
	s.resolved += o.resolved
	s.scored += o.scored
	s.brier += o.brier
	s.marketBrier += o.marketBrier
	s.logEdge += o.logEdge
	for i, gap := range o.gaps {
		s.gaps[i] += gap
	}
}

// calibrationError returns the calibration error, and nil without settled predictions.
func (s *sums) calibrationError() *float64 {
	if s.resolved <= 0 {
		return nil
	}
	var bins [score.BinCount]score.BinSum
	for i, gap := range s.gaps {
		bins[i].P = gap
	}
	bins[0].Count = s.resolved // the error needs only the total
	e := score.CalibrationError(bins)
	return &e
}

// mean returns total/unit/count, or nil if count is 0.
func mean(total, count int64, unit float64) *float64 {
	if count <= 0 {
		return nil
	}
	m := float64(total) / unit / float64(count)
	return &m
}

// windowSums holds an agent's sums in one category, over the days that belong to the same windows.
type windowSums struct {
	agent    uuid.UUID
	category string
	// window is the shortest window that holds the days, as an index into Windows.
	window int
	sums
}

// agentSums holds the sums of some agents. All windows and categories are built from it, so a build
// reads agent_days only once.
type agentSums struct {
	// windows holds the entries of one agent next to each other. An entry takes 200 bytes. With
	// 100,000 agents that have events in three categories, a full build takes some 100 MB.
	windows []windowSums
	totals  map[uuid.UUID]totals // 300 bytes for each agent
}

// readAgentSums sums up the days of some agents up to the day of at. It queries a few hundred
// agents at a time by the primary key, so that the database doesn't sort on disk.
func readAgentSums(ctx context.Context, db bun.IDB, agents []uuid.UUID, at time.Time) (agentSums, error) {
	h := agentSums{totals: map[uuid.UUID]totals{}}
	names := map[string]string{} // one string for each category
	for chunk := range chunks(agents) {
		rows, err := sumDays(db, chunk, at).Rows(ctx)
		if err != nil {
			return agentSums{}, fmt.Errorf("sum up days: %w", err)
		}
		for rows.Next() {
			var p windowSums
			var t totals
			if err = p.scan(rows, &t); err != nil {
				break
			}
			if name, ok := names[p.category]; ok {
				p.category = name
			} else {
				names[p.category] = p.category
			}
			h.windows = append(h.windows, p)
			h.totals[p.agent] = h.totals[p.agent].plus(&t)
		}
		if err == nil {
			err = rows.Err()
		}
		rows.Close()
		if err != nil {
			return agentSums{}, fmt.Errorf("sum up days: %w", err)
		}
	}
	return h, nil
}

// scan reads a row of the query sumDays, and what it adds to the agent's totals.
func (p *windowSums) scan(rows *sql.Rows, t *totals) error {
	fields := []any{
		&p.agent, &p.category, &p.window, &p.record.N, &p.record.S, &p.record.SS, &p.record.A, &p.record.V,
		&t.squares.high, &t.squares.cross, &t.squares.low, &t.w, &t.q,
		&p.disagreements, &p.resolved, &p.scored, &p.brier, &p.marketBrier, &p.logEdge, &t.brier, &t.observed,
	}
	for i := range t.bins {
		fields = append(fields, &t.bins[i].Count, &t.bins[i].P, &t.bins[i].Y)
	}
	if err := rows.Scan(fields...); err != nil {
		return err
	}
	p.record.Days = t.days()
	for i, bin := range t.bins {
		p.gaps[i] = bin.P - bin.Y
	}
	if p.category != AllCategories {
		t.squares, t.w, t.q = daySquares{}, 0, 0
	}
	return nil
}

// dayColumns are the columns of sumDays after agent, category and window.
var dayColumns = func() string {
	columns := []string{"d.clusters", "d.cluster_sum", "d.cluster_squares", "d.stake", "d.variance"}
	columns = append(columns, dayBlockColumns...)
	columns = append(columns, "d.disagreements", "d.resolved", "d.scored", "d.brier", "d.market_brier", "d.log_edge",
		"d.resolved_brier", "d.observed_squares")
	for i := range score.BinCount {
		columns = append(columns, fmt.Sprintf("d.b%d_count", i), fmt.Sprintf("d.b%d_confidence", i), fmt.Sprintf("d.b%d_observed", i))
	}
	for i, c := range columns {
		// Postgres would sum up to numerics. Without the columns of single predictions, which are null in the
		// rows over all categories, the sum is 0.
		columns[i] = "CAST(COALESCE(SUM(" + c + "), 0) AS BIGINT)"
	}
	return strings.Join(columns, ", ")
}()

// dayBlockColumns are the terms of daySquares and then those of W and Q of score.Days.
var dayBlockColumns = func() []string {
	const high, low = "(d.cluster_sum / 1048576)", "(d.cluster_sum % 1048576)"
	return []string{
		high + " * " + high, high + " * " + low, low + " * " + low, "d.clusters * d.cluster_sum", "d.clusters * d.clusters",
	}
}()

func sumDays(db bun.IDB, agents []uuid.UUID, at time.Time) *bun.SelectQuery {
	return db.NewSelect().TableExpr("(?) AS d", settlement.SelectDays(db)).
		ColumnExpr("d.agent_id, d.category").
		ColumnExpr("CASE WHEN d.day >= ? THEN 0 WHEN d.day >= ? THEN 1 WHEN d.day >= ? THEN 2 ELSE 3 END AS shortest",
			Days30.since(at), Days90.since(at), Days365.since(at)).
		ColumnExpr(dayColumns).
		Where("d.agent_id IN (?)", bun.List(agents)).Where("d.day <= ?", day(at)).
		GroupExpr("d.agent_id, d.category, shortest").OrderExpr("d.agent_id")
}

// addTo adds p to the total of a category's board. The board over all categories adds up the
// categories, but takes its day blocks from the rows over all categories.
func (p *windowSums) addTo(total *sums, category string) {
	switch {
	case category != AllCategories:
		if p.category == category {
			total.add(&p.sums)
		}
	case p.category == AllCategories:
		total.record.Days = total.record.Days.Plus(p.record.Days)
	default:
		s := p.sums
		s.record.Days = score.Days{}
		total.add(&s)
	}
}

// each calls fn with the sums of every agent that has a settled event on the board of a category, or
// a settled prediction on a board over all categories. A prediction without a market counts under a
// free label, which is often no market's category, so it brings no agent onto the board of a
// category. Agents whose predictions were all reversed are left out too.
func (h agentSums) each(w Window, category string, fn func(agent uuid.UUID, s *sums)) {
	last := windowIndex(w)
	for list := h.windows; len(list) > 0; {
		agent, total := list[0].agent, sums{}
		for ; len(list) > 0 && list[0].agent == agent; list = list[1:] {
			if list[0].window <= last {
				list[0].addTo(&total, category)
			}
		}
		if total.resolved > 0 && (category == AllCategories || total.record.N > 0) {
			fn(agent, &total)
		}
	}
}

func windowIndex(w Window) int {
	for i, one := range Windows {
		if one == w {
			return i
		}
	}
	return len(Windows) - 1
}
