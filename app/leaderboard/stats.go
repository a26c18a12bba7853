package leaderboard

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/score"
	"github.com/pulsecast/pulsecast/app/settlement"
)

const (
	// maxHistory is the most days of skill history that are read, the newest.
	maxHistory = 400
	// maxLive is the most open predictions in the live edge. The ones that close next are taken.
	maxLive = 500
)

// Stats is an agent's record over all time. Its row except the reason, UntilProven, Calibration, Murphy, categories and
// history are as of the last board. The rest is as of now, except that Events and Disagreements count
// what the row counts.
type Stats struct {
	// Row is the agent's row on the main board. An agent that isn't on the board gets a row without a
	// rank. Row.Reason is the one that the board shows now.
	Row Row
	// Prior is the newest prior.
	Prior Prior

	Events, Days, Disagreements Progress
	// NextCloseAt is the earlier of two moments: the next scheduled close of an open prediction,
	// and the day on which the next early settlement counts. It is zero if there is neither.
	NextCloseAt time.Time

	// Total, Open, Resolved and Void count the agent's predictions as of now.
	Total, Open, Resolved, Void int64
	LastPublishedAt             time.Time // zero before the first

	// UntilProven estimates how many more settled events make the agent proven if they come out as
	// the past ones did on average. It is 0 if the agent is proven, and nil if no number would
	// suffice.
	UntilProven *int

	// Calibration and Murphy are over the settled predictions of all days up to today.
	Calibration [score.BinCount]score.Bin
	Murphy      *score.Murphy // nil without settled predictions
	// LiveEdge is the mean edge of the open predictions, in points, if their markets settled at
	// today's prices. It never counts for a rank. It leaves out the predictions that the viewer
	// doesn't see, because the mean of a single one would reveal it. It is nil if no prediction
	// with a baseline and a price is left.
	LiveEdge *float64

	// Categories are the agent's rows on the boards of the categories in which it has settled events, sorted by
	// category.
	Categories []Row
	History    []SkillPoint // by day, the oldest first

	viewer           agent.Viewer
	nextDay          string // on which the next early settlement counts; "" if there is none
	closed, disabled bool   // what has happened to the account
}

// Stats reads an agent's record as the public may see it. It reads at most maxHistory days and maxLive
// open predictions, however many the agent has.
func (s *Store) Stats(ctx context.Context, db bun.IDB, agentID uuid.UUID) (*Stats, error) {
	return s.StatsFor(ctx, db, agentID, agent.Viewer{})
}

// StatsFor is like Stats, but as viewer may see the record.
func (s *Store) StatsFor(ctx context.Context, db bun.IDB, agentID uuid.UUID, viewer agent.Viewer) (*Stats, error) {
	st := &Stats{viewer: viewer}
	steps := []func(context.Context, bun.IDB, uuid.UUID, *Stats) error{
		s.readRows, s.readCounts, s.readLive, s.readHistory,
	}
	for _, step := range steps {
		if err := step(ctx, db, agentID, st); err != nil {
			return nil, fmt.Errorf("read stats: %w", err)
		}
	}
	if err := st.derive(); err != nil {
		return nil, fmt.Errorf("read stats: %w", err)
	}
	return st, nil
}

// readRow reads the agent's row on the main board.
func (s *Store) readRow(ctx context.Context, db bun.IDB, agentID uuid.UUID, st *Stats) error {
	return s.readOn(ctx, db, agentID, st, "r.category = ?", AllCategories)
}

// readRows reads the agent's rows on the main board and on each category's board by the primary key.
func (s *Store) readRows(ctx context.Context, db bun.IDB, agentID uuid.UUID, st *Stats) error {
	return s.readOn(ctx, db, agentID, st, "r.category IN (SELECT category FROM boards WHERE span = ?)", All)
}

// rowRead is a row of the main board or of a category's board, with what else one read gives: the newest prior, the
// next day on which an early settlement of the agent counts, and what has happened to its account.
type rowRead struct {
	Row              `bun:",extend"`
	Prior                   // with an empty Day if there is none
	NextDay          string `bun:",nullzero"`
	Closed, Disabled bool
}

// readOn reads the agent's rows on the boards that meet a condition, the row of the main board first.
func (s *Store) readOn(ctx context.Context, db bun.IDB, agentID uuid.UUID, st *Stats, condition string, value any) error {
	now := s.now()
	var rows []rowRead
	p := database.NewPlanned(db)
	err := p.Scan(ctx, db.NewSelect().Model((*Row)(nil)).ColumnExpr("?TableColumns, newest.*").
		ColumnExpr("(?) AS next_day", settlement.SelectNextDay(db, p, agentID, now)).
		ColumnExpr("a.closed_at IS NOT NULL AS closed, NOT (?) AS disabled", agent.Listed("a")).
		Join("LEFT JOIN (?) AS newest ON TRUE", selectPrior(db, p, now)).
		Join("JOIN (?) AS a ON a.id = r.agent_id", agent.Select(db)).
		Where("r.span = ?", All).Where("r.agent_id = ?", p.Value(agentID)).Where(shownOf, All).
		Where(condition, value).OrderExpr("r.category"), &rows)
	if err != nil {
		return err
	}
	if len(rows) == 0 || rows[0].Category != AllCategories {
		return s.readOff(ctx, db, agentID, st)
	}
	first := &rows[0]
	st.Row, st.Prior, st.nextDay = first.Row, first.Prior.orDefault(), first.NextDay
	st.closed, st.disabled = first.Closed, first.Disabled
	st.Categories = make([]Row, len(rows)-1)
	for i := range st.Categories {
		st.Categories[i] = rows[i+1].Row
	}
	return nil
}

// readOff computes the rows of an agent that is on no board: it has never published, or it is disabled.
func (s *Store) readOff(ctx context.Context, db bun.IDB, agentID uuid.UUID, st *Stats) (err error) {
	if st.Prior, err = s.Prior(ctx, db); err != nil {
		return err
	}
	if st.nextDay, err = settlement.NextDay(ctx, db, agentID, s.now()); err != nil {
		return err
	}
	tally, err := prediction.Store{}.Tally(ctx, db, agentID)
	if err != nil {
		return err
	}
	found, err := agent.Store{}.ByIDs(ctx, db, []uuid.UUID{agentID})
	if err != nil {
		return err
	}
	c := contender{ID: agentID, Days: tally.PublicationDays}
	if a := found[agentID]; a != nil {
		c.Reference, st.closed, st.disabled = a.Kind == agent.Reference, a.Closed(), a.Status == agent.Disabled
	}
	record, err := readAgentSums(ctx, db, []uuid.UUID{agentID}, s.now())
	if err != nil {
		return err
	}
	st.Row, st.Categories = *newRow(All, AllCategories, &sums{}, st.Prior, c), []Row{}
	s.thresholds.qualify(AllCategories, &st.Row, c)
	for _, category := range record.categories() {
		record.each(All, category, func(_ uuid.UUID, total *sums) {
			row := newRow(All, category, total, st.Prior, c)
			s.thresholds.qualify(category, row, c)
			if category == AllCategories {
				st.Row = *row
			} else {
				st.Categories = append(st.Categories, *row)
			}
		})
	}
	totals := record.totals[agentID]
	st.Row.Totals = totals.encode()
	return nil
}

// Summary reads the part of Stats that agents ask for often: Row, Prior, the progress towards a
// rank, the counts and NextCloseAt.
func (s *Store) Summary(ctx context.Context, db bun.IDB, agentID uuid.UUID) (*Stats, error) {
	st := &Stats{}
	for _, step := range []func(context.Context, bun.IDB, uuid.UUID, *Stats) error{s.readRow, s.readCounts} {
		if err := step(ctx, db, agentID, st); err != nil {
			return nil, fmt.Errorf("read the summary of an agent: %w", err)
		}
	}
	return st, nil
}

// readCounts reads the counts of the agent's predictions, and the next moment at which one closes or counts.
func (s *Store) readCounts(ctx context.Context, db bun.IDB, agentID uuid.UUID, st *Stats) error {
	tally, open, err := prediction.Store{}.TallyAndNextClose(ctx, db, agentID, s.now())
	if err != nil {
		return err
	}
	st.Total, st.Open, st.Resolved, st.Void = tally.Total, tally.Open, tally.Resolved, tally.Void
	st.LastPublishedAt = tally.LastPublishedAt.UTC()
	st.Events = Progress{st.Row.Events, s.thresholds.Events}
	st.Days = Progress{tally.PublicationDays, s.thresholds.Days}
	s.thresholds.renew(&st.Row, tally.PublicationDays, st.closed, st.disabled)
	st.Disagreements = Progress{st.Row.Disagreements, NeedDisagreements}
	st.NextCloseAt = open
	if st.nextDay == "" {
		return nil
	}
	counts, err := time.Parse(time.DateOnly, st.nextDay)
	if err == nil && (open.IsZero() || counts.Before(open)) {
		st.NextCloseAt = counts
	}
	return err
}

// Requirements lists what a rank on the main board needs, and how much of it the agent has.
func (st *Stats) Requirements() []Requirement {
	return requirements(st.Events, st.Disagreements, st.Days)
}

// derive computes what follows from the agent's row.
func (st *Stats) derive() error {
	t, err := decodeTotals(st.Row.Totals)
	if err != nil {
		return err
	}
	record := score.Sums{Tally: st.Row.Tally(), A: st.Row.Stake, V: st.Row.Variance, Days: t.days()}
	if events, ok := record.EventsUntilProven(); ok {
		st.UntilProven = &events
	}
	st.Calibration, st.Murphy = t.calibration(), t.murphy()
	return nil
}

// readLive computes the live edge from the open predictions and today's prices.
func (s *Store) readLive(ctx context.Context, db bun.IDB, agentID uuid.UUID, st *Stats) error {
	bets, err := prediction.Store{}.For(st.viewer).BetsOf(ctx, db, agentID, maxLive)
	if err != nil {
		return err
	}
	var total score.Points
	n := 0
	for i := range bets {
		if edge, ok := bets[i].LiveEdge(); ok {
			total += edge
			n++
		}
	}
	if n > 0 {
		live := total.Float() / float64(n)
		st.LiveEdge = &live
	}
	return nil
}

func (s *Store) readHistory(ctx context.Context, db bun.IDB, agentID uuid.UUID, st *Stats) error {
	st.History = []SkillPoint{}
	p := database.NewPlanned(db)
	newest := db.NewSelect().Model((*SkillPoint)(nil)).Where("agent_id = ?", p.Value(agentID)).OrderExpr("day DESC").
		Limit(maxHistory)
	return p.Scan(ctx, db.NewSelect().TableExpr("(?) AS h", newest).ColumnExpr("*").OrderExpr("day"), &st.History)
}
