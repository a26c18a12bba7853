package prediction

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/generation"
)

// DayLayout is the format of a UTC day in the tables: "2026-11-21".
const DayLayout = time.DateOnly

// tallyRow is a row of agent_tallies as publishing writes it.
type tallyRow struct {
	AgentID         uuid.UUID `bun:",type:uuid"`
	Total           int64     `bun:",type:bigint"`
	Open            int64     `bun:",type:bigint"`
	Resolved        int64     `bun:",type:bigint"`
	Void            int64     `bun:",type:bigint"`
	PublicationDays int64     `bun:",type:bigint"`
	LastRankedDay   string    `bun:",nullzero,type:text"`
	LastPublishedAt time.Time `bun:",nullzero,type:timestamptz"`
}

// agentRow is a row of v that names an agent.
type agentRow struct {
	AgentID uuid.UUID `bun:",type:uuid"`
}

func agentRows(agents []uuid.UUID) []agentRow {
	rows := make([]agentRow, len(agents))
	for i, id := range agents {
		rows[i].AgentID = id
	}
	return rows
}

// newTallyLock is the key of the advisory lock under which a transaction inserts the tally of v. Without it, the
// insert would wait for another transaction that inserts the same one.
const newTallyLock = "hashtextextended('agent_tallies' || v.agent_id::text, 0)"

// lockFreeTallies locks the tallies of agents until the transaction ends, and adds them to locked. Unlike LockTallies it
// never waits. It leaves out agents that another transaction holds, and those that have no tally; see makeTallies.
func lockFreeTallies(db bun.IDB, agents []uuid.UUID, locked map[uuid.UUID]*Tally) database.Read {
	const columns = "t.agent_id, t.total, t.open, t.resolved, t.publication_days, t.last_ranked_day, t.last_published_at FROM "
	query := "SELECT " + columns + "v JOIN agent_tallies AS t ON t.agent_id = v.agent_id"
	if database.IsPostgres(db) {
		// Postgres looks up each agent of v for LATERAL. For a join it may read all tallies.
		query = "SELECT t.* FROM v CROSS JOIN LATERAL (SELECT " + columns +
			"agent_tallies AS t WHERE t.agent_id = v.agent_id FOR NO KEY UPDATE SKIP LOCKED) AS t"
	}
	return database.NewRead("lock tallies", query, agentRows(agents), func(list []Tally) { addTallies(list, locked) })
}

// makeTallies inserts the missing tallies of agents and adds them to locked. It doesn't wait for another transaction that
// inserts the same ones.
func makeTallies(ctx context.Context, tx bun.Tx, agents []uuid.UUID, locked map[uuid.UUID]*Tally) error {
	alone := ""
	if database.IsPostgres(tx) {
		alone = " AND pg_try_advisory_xact_lock(" + newTallyLock + ")"
	}
	var made []Tally
	err := database.ScanRows(ctx, tx, `INSERT INTO agent_tallies (agent_id, total, open, resolved, void, publication_days)
		SELECT v.agent_id, 0, 0, 0, 0, 0 FROM v WHERE NOT EXISTS (SELECT 1 FROM agent_tallies AS t WHERE t.agent_id = v.agent_id)`+alone+`
		ORDER BY v.agent_id ON CONFLICT DO NOTHING RETURNING agent_id`, agentRows(agents), &made)
	if err != nil {
		return fmt.Errorf("make tallies: %w", err)
	}
	addTallies(made, locked)
	return nil
}

func addTallies(list []Tally, to map[uuid.UUID]*Tally) {
	for i := range list {
		list[i].LastPublishedAt = list[i].LastPublishedAt.UTC()
		to[list[i].AgentID] = &list[i]
	}
}

// notCome is an agent whose tally counts days that have not come yet. From sorts before the ids of these days.
type notCome struct {
	AgentID uuid.UUID `bun:",type:uuid"`
	From    uuid.UUID `bun:"from_id,type:uuid"`
}

// forgetAhead corrects tallies that count predictions from a clock that was far ahead. Until the wrong time has come,
// the agents' predictions would otherwise bear it, and their days wouldn't count. tx must hold the tallies.
func forgetAhead(ctx context.Context, tx bun.Tx, tallies map[uuid.UUID]*Tally, now time.Time) error {
	latest := database.LatestPlausible(now)
	var ahead []notCome
	for id, t := range tallies {
		if t.LastPublishedAt.After(latest) {
			t.LastPublishedAt = time.Time{}
		}
		if t.LastRankedDay > latest.Format(DayLayout) {
			ahead = append(ahead, notCome{id, database.FirstID(latest.Truncate(24 * time.Hour).Add(24 * time.Hour))})
		}
	}
	if len(ahead) == 0 {
		return nil
	}
	day := "substr(p.created_at, 1, 10)"
	if database.IsPostgres(tx) {
		day = "to_char(p.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD')"
	}
	const come = " FROM predictions AS p WHERE p.agent_id = v.agent_id AND p.market_id IS NOT NULL AND p.id < v.from_id"
	var found []struct {
		AgentID uuid.UUID `bun:",type:uuid"`
		Days    int64
		Last    string `bun:",nullzero"`
	}
	// All days are counted again, because an earlier correction may have taken out some of those ahead.
	err := database.ScanRows(ctx, tx, "SELECT v.agent_id, (SELECT COUNT(DISTINCT "+day+")"+come+") AS days, (SELECT "+day+come+
		" ORDER BY p.id DESC LIMIT 1) AS last FROM v", ahead, &found)
	if err != nil {
		return fmt.Errorf("correct the days of tallies: %w", err)
	}
	for _, f := range found {
		tallies[f.AgentID].PublicationDays, tallies[f.AgentID].LastRankedDay = f.Days, f.Last
	}
	return nil
}

// next returns the time of the agent's next prediction: now, but always after its latest prediction, which a
// node with a faster clock may have published.
func (t *Tally) next(now time.Time) time.Time {
	if now.After(t.LastPublishedAt) {
		return now
	}
	return t.LastPublishedAt.Add(time.Microsecond)
}

// addNew counts a prediction that is being published. It marks the prediction if its agent has no settlement yet.
func (t *Tally) addNew(p *Prediction) {
	p.Newcomer = t.Resolved == 0
	t.add(p)
}

// add counts an open prediction. The number of UTC days with a prediction linked to a market counts towards the
// ranking. Days normally arrive in order. If nodes' clocks differ around midnight, a day may be missed, but is never
// counted twice.
func (t *Tally) add(p *Prediction) {
	t.Total++
	t.Open++
	if p.CreatedAt.After(t.LastPublishedAt) {
		t.LastPublishedAt = p.CreatedAt
	}
	if day := p.CreatedAt.UTC().Format(DayLayout); p.MarketID != "" && day > t.LastRankedDay {
		t.PublicationDays++
		t.LastRankedDay = day
	}
}

// talliesWrite writes the values that add changed. The transaction must hold the tallies. It is an upsert,
// because for an update joined to v Postgres may read all tallies.
func talliesWrite(list []*Tally) database.Write {
	rows := make([]tallyRow, len(list))
	for i, t := range list {
		rows[i] = tallyRow{t.AgentID, t.Total, t.Open, t.Resolved, t.Void, t.PublicationDays, t.LastRankedDay, t.LastPublishedAt}
	}
	return database.NewInsert("agent_tallies", rows, `ON CONFLICT (agent_id) DO UPDATE SET
		total = EXCLUDED.total, open = EXCLUDED.open, publication_days = EXCLUDED.publication_days,
		last_ranked_day = EXCLUDED.last_ranked_day, last_published_at = EXCLUDED.last_published_at`)
}

// TallyMove is a change of an agent's counts.
type TallyMove struct {
	AgentID  uuid.UUID `bun:",type:uuid"`
	Open     int64     `bun:",type:bigint"`
	Resolved int64     `bun:",type:bigint"`
	Void     int64     `bun:",type:bigint"`
}

// Count adds n predictions with the given status. n may be negative.
func (m *TallyMove) Count(s Status, n int64) {
	switch s {
	case Open:
		m.Open += n
	case Resolved:
		m.Resolved += n
	case Void:
		m.Void += n
	}
}

// LockTalliesOf is LockTallies for the agents of predictions.
func LockTalliesOf(ctx context.Context, tx bun.Tx, keys []Key) error {
	agents := make([]uuid.UUID, len(keys))
	for i, k := range keys {
		agents[i] = k.AgentID
	}
	return LockTallies(ctx, tx, agents)
}

// LockTallies locks the tallies of agents until the transaction ends, in ascending order. Publishing and
// settling hold an agent's tally before they read or change its predictions, results and sums. Agents without a
// tally get an empty one. On SQLite it does nothing, because there is only one writer.
func LockTallies(ctx context.Context, tx bun.Tx, agents []uuid.UUID) error {
	agents = slices.Clone(agents)
	slices.SortFunc(agents, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	agents = slices.Compact(agents)
	if !database.IsPostgres(tx) || len(agents) == 0 {
		return nil
	}
	locked, err := waitForTallies(ctx, tx, agents)
	if err != nil || len(locked) == len(agents) {
		return err
	}
	missing := slices.DeleteFunc(slices.Clone(agents), func(id uuid.UUID) bool { return slices.Contains(locked, id) })
	_, err = database.ExecRows(
		ctx, tx, "SELECT pg_advisory_xact_lock("+newTallyLock+") FROM (SELECT * FROM v ORDER BY agent_id) AS v", agentRows(missing),
	)
	if err != nil {
		return fmt.Errorf("lock new tallies: %w", err)
	}
	empty := make([]Tally, len(missing))
	for i, id := range missing {
		empty[i].AgentID = id
	}
	if _, err := tx.NewInsert().Model(&empty).On("CONFLICT DO NOTHING").Exec(ctx); err != nil {
		return fmt.Errorf("add tallies: %w", err)
	}
	_, err = waitForTallies(ctx, tx, agents)
	return err
}

// waitForTallies returns the agents that have a tally, and locks these.
func waitForTallies(ctx context.Context, tx bun.Tx, agents []uuid.UUID) (ids []uuid.UUID, err error) {
	err = database.ForUpdate(database.WhereIDs(SelectTallies(tx).Column("t.agent_id"), "t.agent_id", agents).
		Order("t.agent_id")).Scan(ctx, &ids)
	if err != nil {
		return nil, fmt.Errorf("lock tallies: %w", err)
	}
	return ids, nil
}

// DropEmptyTallies deletes those tallies of the agents that LockTallies inserted and that still count nothing.
func DropEmptyTallies(ctx context.Context, tx bun.Tx, agents []uuid.UUID) error {
	_, err := tx.NewDelete().Model((*Tally)(nil)).Where("agent_id IN (?)", bun.List(agents)).
		Where("total = 0 AND open = 0 AND resolved = 0 AND void = 0").Exec(ctx)
	if err != nil {
		return fmt.Errorf("drop empty tallies: %w", err)
	}
	return nil
}

// MoveTallies applies moves in one statement, at most one for each agent. It doesn't insert missing tallies.
func MoveTallies(ctx context.Context, tx bun.Tx, moves []TallyMove) error {
	moves = slices.DeleteFunc(moves, func(m TallyMove) bool { return m.Open == 0 && m.Resolved == 0 && m.Void == 0 })
	if len(moves) == 0 {
		return nil
	}
	slices.SortFunc(moves, func(a, b TallyMove) int { return bytes.Compare(a.AgentID[:], b.AgentID[:]) })
	if err := establish(ctx, tx, moves); err != nil {
		return err
	}
	_, err := database.ExecRows(ctx, tx, `UPDATE agent_tallies AS t SET open = t.open + v.open, resolved = t.resolved + v.resolved,
		void = t.void + v.void FROM v WHERE t.agent_id = v.agent_id`, moves)
	if err != nil {
		return fmt.Errorf("move tallies: %w", err)
	}
	return nil
}

// Tally returns an agent's tally, which is all zero if it never published.
func (Store) Tally(ctx context.Context, db bun.IDB, agentID uuid.UUID) (Tally, error) {
	planned := database.NewPlanned(db)
	var t Tally
	err := planned.Scan(ctx, SelectTallies(db).Where("t.agent_id = ?", planned.Value(agentID)), &t)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return t, fmt.Errorf("read a tally: %w", err)
	}
	t.LastPublishedAt = t.LastPublishedAt.UTC()
	return t, nil
}

// Publishers returns how many agents have ever published.
func (Store) Publishers(ctx context.Context, db bun.IDB) (n int64, err error) {
	if err := SelectTallies(db).ColumnExpr("COUNT(*)").Where("t.total > 0").Scan(ctx, &n); err != nil {
		return 0, fmt.Errorf("count publishers: %w", err)
	}
	return n, nil
}

// PublishersOn returns how many agents have ever published, and how many have published on a market on at least days
// different UTC days. One read counts both.
func (Store) PublishersOn(ctx context.Context, db bun.IDB, days int64) (all, enough int64, err error) {
	err = SelectTallies(db).ColumnExpr("COUNT(CASE WHEN t.total > 0 THEN 1 END)").
		ColumnExpr("COUNT(CASE WHEN t.publication_days >= ? THEN 1 END)", days).Scan(ctx, &all, &enough)
	if err != nil {
		return 0, 0, fmt.Errorf("count publishers: %w", err)
	}
	return all, enough, nil
}

// ReplaceTallies replaces all tallies of the given agents.
func ReplaceTallies(ctx context.Context, tx bun.Tx, agents []uuid.UUID, tallies []Tally) error {
	if _, err := tx.NewDelete().Model((*Tally)(nil)).Where("agent_id IN (?)", bun.List(agents)).Exec(ctx); err != nil {
		return fmt.Errorf("clear tallies: %w", err)
	}
	if len(tallies) > 0 {
		if _, err := tx.NewInsert().Model(&tallies).Exec(ctx); err != nil {
			return fmt.Errorf("write tallies: %w", err)
		}
	}
	return generation.Move(ctx, tx, generation.Results)
}

// Tallies returns the tallies of agents. It leaves out agents that never published.
func Tallies(ctx context.Context, db bun.IDB, agents []uuid.UUID) (map[uuid.UUID]Tally, error) {
	found := make(map[uuid.UUID]Tally, len(agents))
	if len(agents) == 0 {
		return found, nil
	}
	var list []Tally
	if err := db.NewSelect().Model(&list).Where("t.agent_id IN (?)", bun.List(agents)).Scan(ctx); err != nil {
		return nil, fmt.Errorf("read tallies: %w", err)
	}
	for _, t := range list {
		t.LastPublishedAt = t.LastPublishedAt.UTC()
		found[t.AgentID] = t
	}
	return found, nil
}

// Totals counts predictions by status.
type Totals struct{ Open, Resolved, Void int64 }

// Totals counts all predictions by status, including samples.
func (Store) Totals(ctx context.Context, db bun.IDB) (t Totals, err error) {
	err = db.NewSelect().Model((*Tally)(nil)).
		ColumnExpr("CAST(COALESCE(SUM(t.open), 0) AS BIGINT) AS open").
		ColumnExpr("CAST(COALESCE(SUM(t.resolved), 0) AS BIGINT) AS resolved").
		ColumnExpr("CAST(COALESCE(SUM(t.void), 0) AS BIGINT) AS void").Scan(ctx, &t)
	if err != nil {
		return t, fmt.Errorf("count predictions: %w", err)
	}
	return t, nil
}
