package leaderboard

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/generation"
	"github.com/pulsecast/pulsecast/app/settlement"
	"github.com/pulsecast/pulsecast/app/update"
)

// job describes one board to build. If touched is nil, the rows of all agents are computed.
// Otherwise only the rows of the touched agents are, and the ranked agents are ranked again.
type job struct {
	window     Window
	category   string
	at         time.Time
	prior      Prior
	contenders map[uuid.UUID]contender
	sums       agentSums // of the touched agents, or of all if touched is nil
	touched    []uuid.UUID
}

func (p *job) main() bool { return p.window == All && p.category == AllCategories }

// build brings one board up to date in the database.
func (b *Builder) build(ctx context.Context, p job) error {
	if err := b.buildBoard(ctx, p); err != nil {
		return fmt.Errorf("build board %s %q: %w", p.window, p.category, err)
	}
	return nil
}

func (b *Builder) buildBoard(ctx context.Context, p job) error {
	old, err := readBoard(ctx, b.db.Reader, p.window, p.category)
	if err != nil {
		return err
	}
	rows, err := freshRows(p)
	if err != nil {
		return err
	}
	before, err := b.readBefore(ctx, p, rows)
	if err != nil || (before == nil && old != nil) {
		return err
	}
	if p.touched != nil {
		rows = append(rows, untouched(before, p)...)
	}
	ranked := b.thresholds.rank(p.category, rows, p.contenders)
	grid, err := readGrid(ctx, b.db.Reader, old, p.at)
	if err != nil {
		return err
	}
	if grid, err = rankRanges(ranked, grid, before); err != nil {
		return err
	}
	d := difference(before, rows)
	next := &Board{
		Window: p.window, Category: p.category, AsOf: p.at, Ranked: int64(len(ranked)), Proven: countProven(ranked), Grid: grid,
		Kappa: p.prior.Kappa, Sigma2: p.prior.Sigma2, Mu: p.prior.Mu, Tau: p.prior.Tau, PriorDay: p.prior.Day,
	}
	if old != nil && !next.AsOf.After(old.AsOf) {
		next.AsOf = old.AsOf.Add(time.Microsecond) // so that a cached page sees a new version
	}
	if old != nil {
		next.Version = old.Version
	}
	if b.db.Kind == database.SQLite && len(d.changed)+len(d.gone) > mostInPlace(len(rows)) {
		return b.writeVersion(ctx, p, old, next, d, rows)
	}
	err = b.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		if err := b.show(ctx, tx, p, old, next, d); err != nil {
			return err
		}
		if err := d.write(ctx, tx, p, next.Version); err != nil || !p.main() {
			return err
		}
		for chunk := range chunks(historyOf(d, day(p.at))) {
			if err := writeHistory(ctx, tx, chunk); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return b.deleteVersions(ctx, p) // of an interrupted build
}

// show makes next the board that readers see, and announces its changes.
func (b *Builder) show(ctx context.Context, tx bun.Tx, p job, old, next *Board, d delta) error {
	if err := publish(ctx, tx, old, next); err != nil {
		return err
	}
	if err := generation.Move(ctx, tx, generation.Boards); err != nil || !p.main() {
		return err
	}
	return d.announce(ctx, tx, next)
}

func countProven(ranked []*Row) (n int64) {
	for _, r := range ranked {
		if r.Proven() {
			n++
		}
	}
	return n
}

// readBoard reads a board without its grid. It returns nil if the board was never built.
func readBoard(ctx context.Context, db bun.IDB, w Window, category string) (*Board, error) {
	board := new(Board)
	err := db.NewSelect().Model(board).ExcludeColumn("rank_grid").Where("span = ?", w).
		Where("category = ?", category).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read board: %w", err)
	}
	board.AsOf = board.AsOf.UTC()
	return board, nil
}

// readBefore reads the rows that the job may change. Without touched agents these are all rows.
// Otherwise they are the rows of the touched agents and all rows above the provisional ones,
// because their ranks can move. It returns nil if the touched agents' rows wouldn't change.
func (b *Builder) readBefore(ctx context.Context, p job, fresh []*Row) (map[uuid.UUID]*Row, error) {
	before := map[uuid.UUID]*Row{}
	if p.touched == nil {
		return before, p.read(ctx, b.db.Reader, before, nil)
	}
	for chunk := range chunks(p.touched) {
		err := p.read(ctx, b.db.Reader, before, func(q *bun.SelectQuery) *bun.SelectQuery {
			return q.Where("agent_id IN (?)", bun.List(chunk))
		})
		if err != nil {
			return nil, err
		}
	}
	if b.unmoved(p, before, fresh) {
		return nil, nil
	}
	return before, p.read(ctx, b.db.Reader, before, func(q *bun.SelectQuery) *bun.SelectQuery {
		return q.Where("position < ?", []byte{byte(sectionProvisional)})
	})
}

// read adds the rows of the board that where selects to before.
func (p *job) read(
	ctx context.Context, db bun.IDB, before map[uuid.UUID]*Row, where func(*bun.SelectQuery) *bun.SelectQuery,
) error {
	var rows []*Row
	q := db.NewSelect().Model(&rows).Where("span = ?", p.window).Where("category = ?", p.category).
		Where("version = ("+versionShown+")", p.window, p.category)
	if where != nil {
		q = q.Apply(where)
	}
	if err := q.Scan(ctx); err != nil {
		return fmt.Errorf("read rows: %w", err)
	}
	for _, r := range rows {
		before[r.AgentID] = r
	}
	return nil
}

// unmoved reports whether the rows of the touched agents are the same as before. It ignores ranks
// and the limit per owner, because these follow from the positions.
func (b *Builder) unmoved(p job, before map[uuid.UUID]*Row, fresh []*Row) bool {
	if len(fresh) != len(before) {
		return false
	}
	for _, r := range fresh {
		old := before[r.AgentID]
		if old == nil {
			return false
		}
		was, is := *old, *r
		b.thresholds.qualify(p.category, &was, p.contenders[r.AgentID])
		b.thresholds.qualify(p.category, &is, p.contenders[r.AgentID])
		if !was.equal(&is) || was.Provisional != old.Provisional || (old.Provisional && was.Reason != old.Reason) {
			return false
		}
	}
	return true
}

// freshRows computes the rows of the job's agents. It returns an error if the market's own row
// isn't 0.
func freshRows(p job) ([]*Row, error) {
	var rows []*Row
	has := map[uuid.UUID]bool{}
	add := func(id uuid.UUID, s *sums) {
		c, ok := p.contenders[id]
		if !ok || has[id] {
			return
		}
		has[id] = true
		r := newRow(p.window, p.category, s, p.prior, c)
		if t := p.sums.totals[id]; p.main() {
			r.Totals = t.encode()
		}
		rows = append(rows, r)
	}
	p.sums.each(p.window, p.category, add)
	add(settlement.MarketAgent, &sums{})
	if p.main() {
		// The main board also lists agents that have published but have no settled prediction yet.
		for _, id := range p.listed() {
			if p.contenders[id].Published {
				add(id, &sums{})
			}
		}
	}
	for _, r := range rows {
		if r.AgentID == settlement.MarketAgent && (r.ClusterSum != 0 || r.ClusterSquares != 0 || r.Skill != 0) {
			return nil, fmt.Errorf("the market scored %v points against itself, which must be 0; settlement is broken, so this board was not published", r.ClusterSum.Float())
		}
	}
	return rows, nil
}

// listed returns the ids of the job's agents.
func (p *job) listed() []uuid.UUID {
	if p.touched != nil {
		return p.touched
	}
	return slices.Collect(maps.Keys(p.contenders))
}

// untouched copies the rows that are only ranked again. It leaves out agents that were disabled in
// the meantime.
func untouched(before map[uuid.UUID]*Row, p job) []*Row {
	touched := make(map[uuid.UUID]bool, len(p.touched))
	for _, id := range p.touched {
		touched[id] = true
	}
	var rows []*Row
	for id, r := range before {
		c, ok := p.contenders[id]
		if touched[id] || !ok || id == settlement.MarketAgent {
			continue
		}
		kept := *r
		kept.Model = c.Model
		rows = append(rows, &kept)
	}
	return rows
}

// delta lists the rows to write and to delete, so that one version of a board becomes the next.
type delta struct {
	changed []*Row
	gone    []uuid.UUID
	before  map[uuid.UUID]*Row
}

func difference(before map[uuid.UUID]*Row, rows []*Row) delta {
	d := delta{before: before}
	stays := make(map[uuid.UUID]bool, len(rows))
	for _, r := range rows {
		stays[r.AgentID] = true
		if old := before[r.AgentID]; old == nil || !old.equal(r) {
			d.changed = append(d.changed, r)
		}
	}
	for id := range before {
		if !stays[id] {
			d.gone = append(d.gone, id)
		}
	}
	return d
}

// announce records an update for a new version of the main board, unless no row differs.
func (d *delta) announce(ctx context.Context, tx bun.Tx, b *Board) error {
	if len(d.changed)+len(d.gone) == 0 {
		return nil
	}
	return update.Record(ctx, tx, update.Update{
		Type: update.LeaderboardChanged, At: b.AsOf, Ref: update.Ref{Board: &update.Board{AsOf: b.AsOf, Ranked: b.Ranked}},
	})
}

// equal reports whether two rows show the same values.
func (r *Row) equal(o *Row) bool {
	return string(r.Position) == string(o.Position) && r.Model == o.Model &&
		r.Reference == o.Reference && r.Provisional == o.Provisional && r.Reason == o.Reason &&
		equal(r.Rank, o.Rank) && equal(r.RankLow, o.RankLow) && equal(r.RankHigh, o.RankHigh) &&
		r.Skill == o.Skill && equal(r.BestGuess, o.BestGuess) && equal(r.SkillLow, o.SkillLow) &&
		equal(r.SkillHigh, o.SkillHigh) && equal(r.Odds, o.Odds) &&
		r.Tally() == o.Tally() && r.Stake == o.Stake && r.Variance == o.Variance &&
		r.Disagreements == o.Disagreements && r.Resolved == o.Resolved && r.Scored == o.Scored &&
		equal(r.Brier, o.Brier) && equal(r.MarketBrier, o.MarketBrier) &&
		equal(r.LogEdge, o.LogEdge) && equal(r.CalibrationError, o.CalibrationError) && bytes.Equal(r.Totals, o.Totals)
}

// equal reports whether both are nil or point to the same value.
func equal[T comparable](a, b *T) bool { return a == b || (a != nil && b != nil && *a == *b) }

// publish replaces version old of the board by next. It returns ErrRaced if the stored version
// isn't old, so that two Builders can't mix their rows.
func publish(ctx context.Context, tx bun.Tx, old, next *Board) error {
	var res sql.Result
	var err error
	if old == nil {
		res, err = tx.NewInsert().Model(next).On("CONFLICT DO NOTHING").Exec(ctx)
	} else {
		res, err = tx.NewUpdate().Model(next).WherePK().Where("as_of = ?", old.AsOf).Exec(ctx)
	}
	if err != nil {
		return fmt.Errorf("write board: %w", err)
	}
	if n, err := res.RowsAffected(); err != nil || n == 1 {
		return err
	}
	return ErrRaced
}

// write applies the delta to the rows of a version.
func (d *delta) write(ctx context.Context, tx bun.Tx, p job, version int64) error {
	for chunk := range chunks(d.gone) {
		if err := deleteRows(ctx, tx, p, version, chunk); err != nil {
			return err
		}
	}
	for chunk := range chunks(d.changed) {
		if err := writeRows(ctx, tx, p, version, chunk); err != nil {
			return err
		}
	}
	return nil
}

func deleteRows(ctx context.Context, tx bun.Tx, p job, version int64, agents []uuid.UUID) error {
	_, err := tx.NewDelete().Model((*Row)(nil)).Where("span = ?", p.window).Where("category = ?", p.category).
		Where("agent_id IN (?)", bun.List(agents)).Where("version = ?", version).Exec(ctx)
	if err != nil {
		return fmt.Errorf("delete rows: %w", err)
	}
	return nil
}

func writeRows(ctx context.Context, tx bun.Tx, p job, version int64, list []*Row) error {
	rows := make([]Row, len(list))
	for i, r := range list {
		rows[i] = *r
		rows[i].Version = version
	}
	if _, err := database.ExecRows(ctx, tx, upsertRows, rows); err != nil {
		return fmt.Errorf("write rows: %w", err)
	}
	ids := make([]uuid.UUID, len(rows))
	for i := range rows {
		ids[i] = rows[i].AgentID
	}
	return relabelRows(ctx, tx, p, version, ids)
}

// relabelRows sets the models in the written rows to the ones that the agents declare now. An admin
// may have hidden a model since the agents were read, and writing the rows has undone that Relabel.
func relabelRows(ctx context.Context, tx bun.Tx, p job, version int64, ids []uuid.UUID) error {
	_, err := tx.NewRaw(`UPDATE board_rows SET model = (SELECT a.model FROM (?0) AS a WHERE a.id = board_rows.agent_id)
		WHERE span = ?1 AND category = ?2 AND agent_id IN (?3) AND version = ?4
		AND EXISTS (SELECT 1 FROM (?0) AS a WHERE a.id = board_rows.agent_id AND a.model <> board_rows.model)`,
		agent.Select(tx), p.window, p.category, bun.List(ids), version).Exec(ctx)
	if err != nil {
		return fmt.Errorf("relabel rows: %w", err)
	}
	return nil
}

var upsertRows = upsert("board_rows", []string{"span", "category", "agent_id", "version"}, []string{
	"position", "model", "reference", "provisional", "reason", "rank", "rank_low", "rank_high",
	"skill", "best_guess", "skill_low", "skill_high", "odds",
	"events", "cluster_sum", "cluster_squares", "stake", "variance", "disagreements", "resolved", "scored",
	"brier", "market_brier", "log_edge", "calibration_error", "totals",
})

// upsert returns a statement for database.ExecRows that inserts rows and replaces existing ones.
func upsert(table string, key, columns []string) string {
	sets := make([]string, len(columns))
	for i, c := range columns {
		sets[i] = c + " = EXCLUDED." + c
	}
	all := strings.Join(append(slices.Clone(key), columns...), ", ")
	return "INSERT INTO " + table + " (" + all + ") SELECT " + all + " FROM v WHERE TRUE ON CONFLICT (" + strings.Join(key, ", ") + ") DO UPDATE SET " + strings.Join(sets, ", ")
}
