package moderation

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/leaderboard"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/problem"
)

// AgentRow is one agent in the table of agents. Board is nil if the agent isn't on the main board.
type AgentRow struct {
	agent.Summary
	Tally prediction.Tally
	Board *leaderboard.Row
}

// AgentFilter narrows and orders the table of agents.
type AgentFilter struct {
	Q      string // part of the handle or name, ignoring case
	Status agent.Status
	Sort   string // one of Sorts; "" is "created", newest first
	Cursor string
	Limit  int
}

func orders() []agent.Order { return slices.Concat(agent.Orders(), leaderboard.AgentOrders()) }

// Sorts returns the values that AgentFilter.Sort accepts.
func Sorts() []string {
	var words []string
	for _, o := range orders() {
		words = append(words, o.Sort)
	}
	return words
}

// Rising returns whether a sort is ascending.
func Rising(sort string) bool {
	return slices.ContainsFunc(orders(), func(o agent.Order) bool { return o.Sort == sort && o.Rising })
}

// Agents returns one page of the table and the cursor of the next page, which is empty at the end.
// It runs at most eight queries, however many agents there are. Reference agents are left out. An
// unknown sort or a bad cursor is 400 invalid_parameter.
func (s *Service) Agents(ctx context.Context, f AgentFilter) (rows []AgentRow, next string, err error) {
	if f.Sort == "" {
		f.Sort = agent.Orders()[0].Sort
	}
	all := orders()
	i := slices.IndexFunc(all, func(o agent.Order) bool { return o.Sort == f.Sort })
	if i < 0 {
		return nil, "", problem.InvalidParameter("sort", "must be one of "+strings.Join(Sorts(), ", "))
	}
	db := s.DB.Reader
	ids, next, err := agent.Directory(
		ctx, db, agent.DirectoryFilter{Q: f.Q, Status: f.Status, Order: all[i], Cursor: f.Cursor, Limit: f.Limit},
	)
	if err != nil {
		return nil, "", err
	}
	rows, err = agentRows(ctx, db, ids, s.Now())
	return rows, next, err
}

// AgentRow returns the row of one agent.
func (s *Service) AgentRow(ctx context.Context, id uuid.UUID) (AgentRow, error) {
	rows, err := agentRows(ctx, s.DB.Reader, []uuid.UUID{id}, s.Now())
	if err != nil {
		return AgentRow{}, err
	}
	return rows[0], nil
}

func agentRows(ctx context.Context, db bun.IDB, ids []uuid.UUID, now time.Time) ([]AgentRow, error) {
	summaries, err := agent.Summaries(ctx, db, ids, now)
	if err != nil {
		return nil, err
	}
	tallies, err := prediction.Tallies(ctx, db, ids)
	if err != nil {
		return nil, err
	}
	board, err := leaderboard.MainRows(ctx, db, ids)
	if err != nil {
		return nil, err
	}
	rows := make([]AgentRow, len(ids))
	for i, id := range ids {
		rows[i] = AgentRow{Summary: summaries[i], Tally: tallies[id], Board: board[id]}
	}
	return rows, nil
}

// Figures are the numbers on the overview page.
type Figures struct {
	agent.Numbers
	Published int64 // predictions, in the last 24 hours
	Settled   int64 // predictions, in the last 24 hours
}

// Figures counts what the overview page shows. Package monitor counts the queues.
func (s *Service) Figures(ctx context.Context) (f Figures, err error) {
	db, now := s.DB.Reader, s.Now()
	day := now.Add(-24 * time.Hour)
	if f.Numbers, err = agent.ReadNumbers(ctx, db, now); err != nil {
		return f, err
	}
	if f.Published, err = prediction.CountPublished(ctx, db, day); err != nil {
		return f, err
	}
	f.Settled, err = prediction.CountDecided(ctx, db, day)
	return f, err
}
