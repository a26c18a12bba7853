package assignment

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/update"
)

// Announce records an update for each assignment that has opened, once.
func (s Store) Announce(ctx context.Context, db *database.DB, now time.Time) error {
	now = database.Stored(now)
	if opened, err := selectOpened(db.Reader, now).Exists(ctx); err != nil || !opened {
		return wrapAnnounce(err)
	}
	return wrapAnnounce(db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		var list []Assignment
		if err := database.ForUpdate(selectOpened(tx, now)).Scan(ctx, &list); err != nil || len(list) == 0 {
			return err
		}
		ids, updates := make([]uuid.UUID, len(list)), make([]update.Update, len(list))
		byID, err := s.marketsOf(ctx, tx, list)
		if err != nil {
			return err
		}
		for i := range list {
			ids[i], updates[i] = list[i].ID, list[i].opened(byID[list[i].MarketID], now)
		}
		_, err = tx.NewUpdate().Model((*Assignment)(nil)).Set("announced = TRUE").Where("s.id IN (?)", bun.List(ids)).Exec(ctx)
		if err != nil {
			return err
		}
		return update.Record(ctx, tx, updates...)
	}))
}

func wrapAnnounce(err error) error {
	if err != nil {
		return fmt.Errorf("announce assignments: %w", err)
	}
	return nil
}

// selectOpened selects the opened assignments that aren't announced yet, in the order of the list.
func selectOpened(db bun.IDB, now time.Time) *bun.SelectQuery {
	return db.NewSelect().Model((*Assignment)(nil)).Where("NOT s.announced").
		Where("s.status = ?", Open).Where("s.opens_at <= ?", now).Order("s.due_at", "s.id")
}

func (s Store) marketsOf(ctx context.Context, db bun.IDB, list []Assignment) (map[string]*market.Market, error) {
	var ids []string
	for i := range list {
		if list[i].MarketID != "" {
			ids = append(ids, list[i].MarketID)
		}
	}
	markets, err := s.markets.ByIDs(ctx, db, ids)
	byID := make(map[string]*market.Market, len(markets))
	for i := range markets {
		byID[markets[i].ID] = &markets[i]
	}
	return byID, err
}

// opened returns the update for the opening of the assignment. m is nil without a market.
func (a *Assignment) opened(m *market.Market, at time.Time) update.Update {
	u := update.Update{
		Type: update.AssignmentOpened, At: at, Ref: update.Ref{Assignment: &update.Assignment{ID: a.ID, DueAt: a.DueAt.UTC()}},
	}
	if m != nil {
		u.Ref.Market = prediction.MarketRef(m.ID, m.EventKey(), m.Category)
	}
	return u
}

// Waiting summarises the open assignments for an agent.
type Waiting struct {
	Open int // number of assignments that the agent hasn't answered
	// NextDueAt is when the first of these is due, zero if there are none.
	NextDueAt time.Time
	// ChosenFor is the last UTC day with chosen assignments, zero before the first.
	ChosenFor time.Time
}

// maxWaiting is how many open assignments WaitingFor looks at. They are those that are due next.
const maxWaiting = 100

// WaitingFor summarises for an agent the assignments that are open at the given time.
func (s Store) WaitingFor(ctx context.Context, db bun.IDB, agentID uuid.UUID, now time.Time) (w Waiting, err error) {
	var open []Assignment
	if err := selectOpen(db, now).Column("s.id", "s.due_at").Limit(maxWaiting).Scan(ctx, &open); err != nil {
		return w, fmt.Errorf("read open assignments: %w", err)
	}
	list := make([]Listed, len(open))
	for i := range open {
		list[i].Assignment = open[i]
	}
	if err := s.MarkDone(ctx, db, list, agentID); err != nil {
		return w, err
	}
	for i := range list {
		if list[i].Done {
			continue
		}
		if w.Open++; w.Open == 1 {
			w.NextDueAt = list[i].DueAt.UTC()
		}
	}
	w.ChosenFor, err = lastChosenDay(ctx, db)
	return w, err
}

func lastChosenDay(ctx context.Context, db bun.IDB) (day time.Time, err error) {
	value, found, err := database.Setting(ctx, db, chosenDay)
	if err != nil || !found {
		return day, err
	}
	return time.Parse(time.DateOnly, value)
}
