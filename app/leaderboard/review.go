package leaderboard

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/score"
)

const (
	// MaxReviewed is the most settled predictions that a review reads, the newest.
	MaxReviewed = 1000
	// maxCalls is the most best calls, and the most worst calls, that a review lists.
	maxCalls = 10
)

// Review says where an agent won and lost against the market; see score.NewReview. Like the boards
// over all time, it counts an event from its scheduled day on.
type Review struct {
	score.Review
	// Settled counts all of the agent's resolved predictions. The review covers All.Predictions of
	// these.
	Settled int64
	// Best and Worst are the single predictions with the highest and the lowest edge, at most ten
	// each. Best holds only edges above 0, and Worst only edges below 0.
	Best, Worst []prediction.Record
	Conclusions []Conclusion
}

// Review reviews the newest settled predictions of an agent. Best and Worst are redacted for
// viewer.
func (s *Store) Review(ctx context.Context, db bun.IDB, agentID uuid.UUID, viewer agent.Viewer) (*Review, error) {
	rows, err := s.readSettled(ctx, db, agentID)
	if err != nil {
		return nil, fmt.Errorf("review: %w", err)
	}
	r := &Review{Review: score.NewReview(settledOf(rows))}
	r.Conclusions = conclude(&r.Review)
	tally, err := prediction.Store{}.Tally(ctx, db, agentID)
	if err != nil {
		return nil, fmt.Errorf("review: %w", err)
	}
	r.Settled = tally.Resolved
	if err := r.addCalls(ctx, db, viewer, rows); err != nil {
		return nil, fmt.Errorf("review: %w", err)
	}
	return r, nil
}

// readSettled reads the predictions for a review, in order of publication.
func (s *Store) readSettled(ctx context.Context, db bun.IDB, agentID uuid.UUID) ([]*prediction.Prediction, error) {
	planned := database.NewPlanned(db)
	q := db.NewSelect().TableExpr("(?) AS p", prediction.SelectNewestSettled(db, planned, agentID, MaxReviewed)).
		ColumnExpr("p.*").Where("p.day <= ?", planned.Value(day(s.now()))).OrderExpr("p.id")
	var rows []*prediction.Prediction
	return rows, planned.Scan(ctx, q, &rows)
}

// settledOf converts rows for package score.
func settledOf(rows []*prediction.Prediction) []score.Settled {
	type side struct {
		market  string
		outcome int
	}
	last, latest := map[side]int{}, map[string]int{}
	list := make([]score.Settled, len(rows))
	for i, r := range rows {
		on := side{r.MarketID, *r.OutcomeIndex}
		list[i] = score.Settled{
			P: r.Confidence, Q: *r.Baseline, Y: *r.ResolutionValue, Bounds: r.Bounds(), Index: *r.WeightIndex, Previous: -1,
			Event: r.EventKey, Category: r.ScoreCategory, Day: r.Day, Horizon: horizon(r),
		}
		if said := r.BaselinePrevious; said != nil {
			same, ok := last[on]
			other, spoke := latest[r.MarketID]
			switch { // If neither matches, the previous prediction isn't in rows.
			case ok && *said == rows[same].Confidence:
				list[i].Previous = same
			case spoke && *said == score.Complement(rows[other].Confidence):
				list[i].Previous, list[i].Opposite = other, true
			}
		}
		last[on], latest[r.MarketID] = i, i
	}
	return list
}

// horizon returns the time from publication to the scheduled close. It is negative without a
// scheduled close.
func horizon(p *prediction.Prediction) time.Duration {
	if p.ScheduledCloseAt.IsZero() {
		return -1
	}
	return max(p.ScheduledCloseAt.Sub(p.CreatedAt), 0)
}

// addCalls reads the records of the best and the worst predictions.
func (r *Review) addCalls(ctx context.Context, db bun.IDB, viewer agent.Viewer, rows []*prediction.Prediction) error {
	slices.SortFunc(rows, func(a, b *prediction.Prediction) int {
		return cmp.Or(cmp.Compare(*b.Edge, *a.Edge), bytes.Compare(a.ID[:], b.ID[:]))
	})
	n := min(maxCalls, len(rows))
	best, worst := slices.Clone(rows[:n]), slices.Clone(rows[len(rows)-n:])
	slices.Reverse(worst)
	best = slices.DeleteFunc(best, func(p *prediction.Prediction) bool { return *p.Edge <= 0 })
	worst = slices.DeleteFunc(worst, func(p *prediction.Prediction) bool { return *p.Edge >= 0 })
	var ids []uuid.UUID
	for _, p := range slices.Concat(best, worst) {
		ids = append(ids, p.ID)
	}
	found, err := prediction.Store{}.For(viewer).ByIDs(ctx, db, ids)
	if err != nil {
		return err
	}
	r.Best, r.Worst = recordsOf(best, found), recordsOf(worst, found)
	return nil
}

func recordsOf(rows []*prediction.Prediction, found map[uuid.UUID]*prediction.Record) []prediction.Record {
	out := make([]prediction.Record, 0, len(rows))
	for _, p := range rows {
		if r := found[p.ID]; r != nil {
			out = append(out, *r)
		}
	}
	return out
}
