package settlement

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
)

// SelectDays is a subquery of the daily sums: agent_id, category, day and the columns of sums that
// the comment of agent_days in the migration explains. In rows under AllCategories, all sums but
// clusters and cluster_sum are null.
func SelectDays(db bun.IDB) *bun.SelectQuery {
	return db.NewSelect().TableExpr("agent_days AS d").ColumnExpr("d.*")
}

// SelectNewestClusters is a subquery of the latest events of an agent that have at least one settled prediction and
// count up to a day, at most limit: event_key, category, day (on which the event counts), value, stake, spread and
// disagreements.
func SelectNewestClusters(db bun.IDB, p *database.Planned, agentID uuid.UUID, until string, limit int) *bun.SelectQuery {
	return db.NewSelect().TableExpr("clusters AS c").
		ColumnExpr("c.event_key, c.category, COALESCE(c.day, c.settled_day) AS day, c.value, c.stake, c.spread, c.disagreements").
		Where("c.agent_id = ?", p.Value(agentID)).Where("c.settled > 0").Where("COALESCE(c.day, c.settled_day) <= ?", p.Value(until)).
		OrderExpr("COALESCE(c.day, c.settled_day) DESC, c.event_key DESC").Limit(int64(limit))
}

// SelectOpenReferences selects the open reference rows on the market named by a column of the outer
// query.
func SelectOpenReferences(db bun.IDB, marketColumn string) *bun.SelectQuery {
	return db.NewSelect().Model((*ReferencePrediction)(nil)).ColumnExpr("1").
		Where("r.market_id = ?", bun.Ident(marketColumn)).Where("r.status = 'open'")
}

// NextDay returns the first day after a moment on which something settled of an agent begins to
// count, or "" if there is none.
func NextDay(ctx context.Context, db bun.IDB, agentID uuid.UUID, after time.Time) (string, error) {
	var day sql.NullString
	p := database.NewPlanned(db)
	if err := p.Scan(ctx, SelectNextDay(db, p, agentID, after), &day); err != nil {
		return "", fmt.Errorf("read the next day: %w", err)
	}
	return day.String, nil
}

// SelectNextDay selects the day of NextDay, or NULL, as one column.
func SelectNextDay(db bun.IDB, p *database.Planned, agentID uuid.UUID, after time.Time) *bun.SelectQuery {
	return db.NewSelect().Table("agent_days").ColumnExpr("MIN(day)").Where("agent_id = ?", p.Value(agentID)).
		Where("category = ?", AllCategories).Where("day > ?", p.Value(dayOf(after))).Where("clusters > 0")
}

// CountEntries counts the ledger entries created since a moment. An entry that is committed late
// still changes the number.
func CountEntries(ctx context.Context, db bun.IDB, since time.Time) (n int64, err error) {
	if err := db.NewRaw("SELECT COUNT(*) FROM score_entries WHERE id >= ?", database.FirstID(since)).Scan(ctx, &n); err != nil {
		return 0, fmt.Errorf("count the ledger: %w", err)
	}
	return n, nil
}

// CountReferences counts the reference rows that were settled or reopened since a moment. latest is when the last of
// them was, because a row that changes again doesn't change the number.
func CountReferences(ctx context.Context, db bun.IDB, since time.Time) (n int64, latest time.Time, err error) {
	var found struct {
		N      int64
		Latest time.Time `bun:",nullzero"`
	}
	err = db.NewRaw("SELECT COUNT(*) AS n, MAX(settled_at) AS latest FROM reference_predictions WHERE settled_at >= ?", database.Stored(since)).
		Scan(ctx, &found)
	if err != nil {
		return 0, latest, fmt.Errorf("count reference rows: %w", err)
	}
	return found.N, found.Latest, nil
}

// Scored is an agent and a category in which something of it was settled or reopened.
type Scored struct {
	AgentID  uuid.UUID `bun:"type:uuid"`
	Category string
}

// ScoredSince lists the agents and categories with a ledger entry since a moment, and the reference agents and
// categories with a reference row that was settled or reopened since then.
func ScoredSince(ctx context.Context, db bun.IDB, since time.Time) ([]Scored, error) {
	var rows []Scored
	err := db.NewRaw(`SELECT agent_id, category FROM score_entries WHERE id >= ?
		UNION SELECT r.agent_id, c.category FROM reference_predictions AS r
		JOIN clusters AS c ON c.agent_id = r.agent_id AND c.event_key = r.event_key WHERE r.settled_at >= ?`,
		database.FirstID(since), database.Stored(since)).Scan(ctx, &rows)
	if err != nil {
		return nil, fmt.Errorf("read what was scored: %w", err)
	}
	return rows, nil
}
