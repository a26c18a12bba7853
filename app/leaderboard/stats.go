package leaderboard

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/score"
	"github.com/pulsecast/pulsecast/app/settlement"
)

const (
	// maxHistory is how many days of skill history are read, the newest.
	maxHistory = 400
	// maxLive is how many open predictions the live edge looks at: those that close next.
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
	// NextCloseAt is when the next of its open predictions is scheduled to close, or
	// the next early settlement to count; zero when nothing is under way.
	NextCloseAt time.Time

	// Counts of its predictions, as of now.
	Total, Open, Resolved, Void int64
	LastPublishedAt             time.Time // zero before the first

	// UntilProven is about how many more settled events make it proven, if they come out as
	// those so far did on average: 0 for one that is proven, nil where none would do.
	UntilProven *int

	// Calibration and Murphy are over all settled predictions up to today.
	Calibration [score.BinCount]score.Bin
	Murphy      *score.Murphy // nil without any
	// LiveEdge is the mean over its open predictions, in points, if the markets settled
	// at today's prices: unsettled, never ranked. Nil when none has a baseline. Those that the
	// viewer doesn't see are left out: a mean of one would tell it.
	LiveEdge *float64

	// Categories are its rows on the boards of single categories, by name.
	Categories []Row
	History    []SkillPoint // by day, the oldest first

	viewer agent.Viewer
}

// Stats reads an agent's record as the public may see it. What it costs depends on the number
// of days the agent has, not on how much it forecast.
func (s *Store) Stats(ctx context.Context, db bun.IDB, agentID uuid.UUID) (*Stats, error) {
	return s.StatsFor(ctx, db, agentID, agent.Viewer{})
}

// StatsFor is Stats as a viewer may see it.
func (s *Store) StatsFor(ctx context.Context, db bun.IDB, agentID uuid.UUID, viewer agent.Viewer) (*Stats, error) {
	st := &Stats{viewer: viewer}
	steps := []func(context.Context, bun.IDB, uuid.UUID, *Stats) error{
		s.readRow, s.readCounts, s.readUntilProven, s.readCalibration, s.readNextClose, s.readLive, s.readCategories, s.readHistory,
	}
	for _, step := range steps {
		if err := step(ctx, db, agentID, st); err != nil {
			return nil, fmt.Errorf("read stats: %w", err)
		}
	}
	return st, nil
}

// readRow reads the row of the main board.
func (s *Store) readRow(ctx context.Context, db bun.IDB, agentID uuid.UUID, st *Stats) error {
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
	s.thresholds.qualify(AllCategories, &st.Row, c)
	return nil
}

// Summary reads the part of Stats that an agent which looks often needs: its row, its progress
// and its counts.
func (s *Store) Summary(ctx context.Context, db bun.IDB, agentID uuid.UUID) (*Stats, error) {
	st := &Stats{}
	for _, step := range []func(context.Context, bun.IDB, uuid.UUID, *Stats) error{s.readRow, s.readCounts, s.readNextClose} {
		if err := step(ctx, db, agentID, st); err != nil {
			return nil, fmt.Errorf("read the summary of an agent: %w", err)
		}
	}
	return st, nil
}

func (s *Store) readCounts(ctx context.Context, db bun.IDB, agentID uuid.UUID, st *Stats) error {
	tally, err := prediction.Store{}.Tally(ctx, db, agentID)
	if err != nil {
		return err
	}
	st.Total, st.Open, st.Resolved, st.Void = tally.Total, tally.Open, tally.Resolved, tally.Void
	st.LastPublishedAt = tally.LastPublishedAt.UTC()
	st.Events = Progress{st.Row.Events, s.thresholds.Events}
	st.Days = Progress{tally.PublicationDays, s.thresholds.Days}
	st.Disagreements = Progress{st.Row.Disagreements, NeedDisagreements}
	return nil
}

// readUntilProven sums the agent's days up again: its row doesn't hold the day blocks.
func (s *Store) readUntilProven(ctx context.Context, db bun.IDB, agentID uuid.UUID, st *Stats) error {
	h, err := readAgentSums(ctx, db, []uuid.UUID{agentID}, s.now())
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
	q := db.NewSelect().TableExpr("(?) AS d", settlement.SelectDays(db)).Where("d.agent_id = ?", agentID).
		Where("d.category <> ?", AllCategories).Where("d.day <= ?", day(s.now())).
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
	open, err := prediction.Store{}.NextClose(ctx, db, agentID, now)
	if err != nil {
		return err
	}
	st.NextCloseAt = open
	waiting, err := settlement.NextDay(ctx, db, agentID, now)
	if err != nil || waiting == "" {
		return err
	}
	counts, err := time.Parse(time.DateOnly, waiting)
	if err == nil && (open.IsZero() || counts.Before(open)) {
		st.NextCloseAt = counts
	}
	return err
}

// readLive holds the open predictions against today's prices.
func (s *Store) readLive(ctx context.Context, db bun.IDB, agentID uuid.UUID, st *Stats) error {
	bets, err := prediction.Store{}.For(st.viewer).BetsOf(ctx, db, agentID, maxLive)
	if err != nil {
		return err
	}
	ids := make([]string, len(bets))
	for i, b := range bets {
		ids[i] = b.MarketID
	}
	prices, err := market.Store{}.LatestPrices(ctx, db, ids)
	if err != nil {
		return err
	}
	var total score.Points
	n := 0
	for _, b := range bets {
		if now := prices[b.MarketID]; b.OutcomeIndex >= 0 && b.OutcomeIndex < len(now) {
			total += score.LiveEdge(b.Confidence, b.Baseline, now[b.OutcomeIndex])
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
	newest := db.NewSelect().Model((*SkillPoint)(nil)).Where("agent_id = ?", agentID).OrderExpr("day DESC").
		Limit(maxHistory)
	return db.NewSelect().TableExpr("(?) AS h", newest).ColumnExpr("*").OrderExpr("day").Scan(ctx, &st.History)
}
