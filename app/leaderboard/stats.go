package leaderboard

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/score"
)

const (
	// maxHistory is how many days of skill history are read, the newest.
	maxHistory = 400
	// maxLive is how many open forecasts the live edge looks at: those that close next.
	maxLive = 500
)

// Progress is how much an agent has of what a rank needs.
type Progress struct{ Have, Need int64 }

// Stats is all that is known about an agent's record, over all time and with the
// numbers of the main board; only Progress, UntilProven, the counts and LiveEdge are newer.
type Stats struct {
	// Row is its place on the main board. Before the board knows the agent it is
	// provisional with the skill of an empty record.
	Row Row
	// Prior is the newest night's.
	Prior Prior

	Events, Days, Disagreements Progress
	// NextCloseAt is when the next of its open forecasts is scheduled to close, or
	// the next early settlement to count; zero when nothing is under way.
	NextCloseAt time.Time

	// Counts of its predictions, as of now.
	Total, Open, Resolved, Void int64

	// UntilProven is about how many more settled events make it proven, if they come out as
	// those so far did on average: 0 for one that is proven, nil where none would do.
	UntilProven *int

	// Calibration and Murphy are over all settled forecasts up to today.
	Calibration [score.BinCount]score.Bin
	Murphy      *score.Murphy // nil without any
	// LiveEdge is the mean over its open forecasts, in points, if the markets settled
	// at today's prices: unsettled, never ranked. Nil when none has a baseline.
	LiveEdge *float64

	// Categories are its rows on the boards of single categories, by name.
	Categories []Row
	History    []SkillPoint // by day, the oldest first
}

// Stats reads an agent's record. What it costs depends on the number of days the
// agent has, not on how much it forecast.
func (s *Store) Stats(ctx context.Context, db bun.IDB, agentID uuid.UUID) (*Stats, error) {
	st := &Stats{}
	steps := []func(context.Context, bun.IDB, uuid.UUID, *Stats) error{
		s.readStanding, s.readCounts, s.readUntilProven, s.readCalibration, s.readNextClose, s.readLive, s.readCategories, s.readHistory,
	}
	for _, step := range steps {
		if err := step(ctx, db, agentID, st); err != nil {
			return nil, fmt.Errorf("read stats: %w", err)
		}
	}
	return st, nil
}

// readStanding reads the row of the main board.
func (s *Store) readStanding(ctx context.Context, db bun.IDB, agentID uuid.UUID, st *Stats) error {
	var err error
	if st.Prior, err = s.Prior(ctx, db); err != nil {
		return err
	}
	err = db.NewSelect().Model(&st.Row).Where("span = ?", All).Where("category = ?", AllCategories).
		Where("agent_id = ?", agentID).Scan(ctx)
	if !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	c := contender{ID: agentID}
	st.Row = *newRow(All, AllCategories, &sums{}, st.Prior, c)
	s.thresholds.seat(AllCategories, &st.Row, c)
	return nil
}

func (s *Store) readCounts(ctx context.Context, db bun.IDB, agentID uuid.UUID, st *Stats) error {
	var days int64
	err := db.NewRaw("SELECT total, open, resolved, void, publication_days FROM agent_tallies WHERE agent_id = ?", agentID).
		Scan(ctx, &st.Total, &st.Open, &st.Resolved, &st.Void, &days)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	st.Events = Progress{st.Row.Events, s.thresholds.Events}
	st.Days = Progress{days, s.thresholds.Days}
	st.Disagreements = Progress{st.Row.Disagreements, NeedDisagreements}
	return nil
}

// readUntilProven sums the agent's days up again: its row doesn't hold the day blocks.
func (s *Store) readUntilProven(ctx context.Context, db bun.IDB, agentID uuid.UUID, st *Stats) error {
	h, err := readHarvest(ctx, db, []uuid.UUID{agentID}, s.now())
	if err != nil {
		return err
	}
	h.each(All, AllCategories, func(_ uuid.UUID, total *sums) {
		if events, ok := total.record.EventsUntilProven(); ok {
			st.UntilProven = &events
		}
	})
	return nil
}

// readCalibration adds up all days' bins.
func (s *Store) readCalibration(ctx context.Context, db bun.IDB, agentID uuid.UUID, st *Stats) error {
	var bins [score.BinCount]score.BinSum
	var brier, squares int64
	q := db.NewSelect().TableExpr("agent_days AS d").Where("d.agent_id = ?", agentID).
		Where("d.category = ?", AllCategories).Where("d.day <= ?", day(s.now())).
		ColumnExpr("CAST(COALESCE(SUM(d.resolved_brier), 0) AS BIGINT), CAST(COALESCE(SUM(d.observed_squares), 0) AS BIGINT)")
	fields := []any{&brier, &squares}
	for i := range bins {
		for _, part := range []struct {
			name  string
			field *int64
		}{{"count", &bins[i].Count}, {"confidence", &bins[i].P}, {"observed", &bins[i].Y}} {
			q.ColumnExpr(fmt.Sprintf("CAST(COALESCE(SUM(d.b%d_%s), 0) AS BIGINT)", i, part.name))
			fields = append(fields, part.field)
		}
	}
	if err := q.Scan(ctx, fields...); err != nil {
		return err
	}
	st.Calibration = score.Bins(bins)
	if st.Row.Resolved == 0 && sumCounts(bins) == 0 {
		return nil
	}
	// Murphy's parts need Σy² and ΣBrier in all only, so one bin may carry them.
	bins[0].YY += squares
	bins[0].Brier += brier * (binUnit / brierUnit)
	m := score.Decompose(bins)
	st.Murphy = &m
	return nil
}

func sumCounts(bins [score.BinCount]score.BinSum) int64 {
	n := int64(0)
	for _, b := range bins {
		n += b.Count
	}
	return n
}

func (s *Store) readNextClose(ctx context.Context, db bun.IDB, agentID uuid.UUID, st *Stats) error {
	now := s.now()
	var open time.Time
	err := db.NewRaw(`SELECT scheduled_close_at FROM results
		WHERE agent_id = ? AND status = 'open' AND scheduled_close_at > ? ORDER BY scheduled_close_at LIMIT 1`, agentID, now).Scan(ctx, &open)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	st.NextCloseAt = open.UTC()
	var waiting sql.NullString
	err = db.NewRaw("SELECT MIN(day) FROM agent_days WHERE agent_id = ? AND category = ? AND day > ? AND clusters > 0",
		agentID, AllCategories, day(now)).Scan(ctx, &waiting)
	if err != nil || !waiting.Valid {
		return err
	}
	counts, err := time.Parse(time.DateOnly, waiting.String)
	if err == nil && (open.IsZero() || counts.Before(open)) {
		st.NextCloseAt = counts
	}
	return err
}

// readLive holds the open forecasts against today's prices.
func (s *Store) readLive(ctx context.Context, db bun.IDB, agentID uuid.UUID, st *Stats) error {
	var open []struct {
		Confidence, Baseline float64
		OutcomeIndex         int
		Prices               []float64 `bun:"type:json"`
	}
	err := db.NewRaw(`SELECT p.confidence, s.baseline, p.outcome_index, m.prices
		FROM (SELECT agent_id, id, baseline FROM results WHERE agent_id = ? AND status = 'open' AND baseline_state = 'fixed'
			ORDER BY scheduled_close_at LIMIT ?) AS s
		JOIN predictions AS p ON p.agent_id = s.agent_id AND p.id = s.id
		JOIN markets AS m ON m.id = p.market_id WHERE m.prices IS NOT NULL`, agentID, maxLive).Scan(ctx, &open)
	if err != nil {
		return err
	}
	var total score.Points
	n := 0
	for _, o := range open {
		if o.OutcomeIndex >= 0 && o.OutcomeIndex < len(o.Prices) {
			total += score.LiveEdge(o.Confidence, o.Baseline, o.Prices[o.OutcomeIndex])
			n++
		}
	}
	if n > 0 {
		live := total.Float() / float64(n)
		st.LiveEdge = &live
	}
	return nil
}

// readCategories looks the agent up on each category's board by the primary key.
func (s *Store) readCategories(ctx context.Context, db bun.IDB, agentID uuid.UUID, st *Stats) error {
	st.Categories = []Row{}
	return db.NewSelect().Model(&st.Categories).Where("r.span = ?", All).Where("r.agent_id = ?", agentID).
		Where("r.category IN (SELECT category FROM boards WHERE span = ? AND category <> '')", All).
		OrderExpr("r.category").Scan(ctx)
}

func (s *Store) readHistory(ctx context.Context, db bun.IDB, agentID uuid.UUID, st *Stats) error {
	st.History = []SkillPoint{}
	newest := db.NewSelect().Model((*SkillPoint)(nil)).Where("agent_id = ?", agentID).OrderExpr("day DESC").Limit(maxHistory)
	return db.NewSelect().TableExpr("(?) AS h", newest).ColumnExpr("*").OrderExpr("day").Scan(ctx, &st.History)
}
