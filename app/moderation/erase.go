package moderation

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/audit"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/prediction"
)

const (
	// eraseAtOnce is how many predictions CloseAccount erases before it returns. The rest of a larger
	// account are withheld at once. EraseClosed erases them.
	eraseAtOnce = 10_000
	// eraseReports is how many reports one transaction erases.
	eraseReports = 100
	// closingTime is the longest time that CloseAccount needs for what it erases at once. Until it is over, upkeep
	// leaves the account alone, so that CloseAccount counts all erased rows.
	closingTime = 5 * time.Minute
	// maxErasing is how many closed accounts one call of EraseClosed processes.
	maxErasing = 10
)

// Erased counts what was erased of a closed account.
type Erased struct {
	Predictions int64 // number of predictions whose texts were erased
	Reports     int64 // number of reports whose texts were erased
	Answers     int64 // number of deleted answers that were stored under an Idempotency-Key
	Usage       int64 // number of deleted rows that counted requests or described errors
}

// EraseClosed continues with accounts that were closed longer than closingTime ago and aren't fully erased, because
// the closing was interrupted or they had many predictions. The job upkeep calls it every ten minutes, so this begins
// at most 15 minutes after the closing. more reports whether some accounts may be left.
func EraseClosed(ctx context.Context, db *database.DB, now time.Time) (more bool, err error) {
	ids, err := agent.Store{}.NotErased(ctx, db.Reader, now.Add(-closingTime), maxErasing)
	if err != nil {
		return false, err
	}
	for _, id := range ids {
		for complete := false; !complete; {
			if _, complete, err = erase(ctx, db, id, 10*eraseAtOnce, now); err != nil {
				return false, err
			}
		}
	}
	return len(ids) == maxErasing, nil
}

// erase erases a closed account in short transactions, so that other writers hardly wait: its usage, its stored
// answers, its reports, and at most limit of its predictions. If complete is true, nothing is left to erase.
func erase(ctx context.Context, db *database.DB, id uuid.UUID, limit int, now time.Time) (e Erased, complete bool, err error) {
	if e.Usage, err = (agent.Store{}).ForgetUsage(ctx, db, id); err != nil {
		return e, false, err
	}
	if e.Answers, err = prediction.ForgetAnswersOf(ctx, db, id); err != nil {
		return e, false, err
	}
	if e.Reports, err = forgetReports(ctx, db, id, now); err != nil {
		return e, false, err
	}
	// The predictions come last, because then the account is marked as erased.
	n, complete, err := prediction.Erase(ctx, db, id, limit, now)
	e.Predictions = int64(n)
	return e, complete, err
}

// forgetReports erases the texts of the reports by an agent and about its predictions. It returns
// how many there were.
func forgetReports(ctx context.Context, db *database.DB, agentID uuid.UUID, now time.Time) (n int64, err error) {
	last := uuid.Nil
	for {
		var ids []uuid.UUID
		err := db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
			err := tx.NewSelect().Model((*Report)(nil)).Column("id").Where("reporter_id = ? OR author_id = ?", agentID, agentID).
				Where("id > ?", last).Order("id").Limit(eraseReports).Scan(ctx, &ids)
			if err != nil || len(ids) == 0 {
				return err
			}
			_, err = tx.NewUpdate().Model((*Report)(nil)).Set("text = '', answer = '', status = 'closed'").
				Set("reader = CASE WHEN reader IS NULL THEN NULL ELSE '' END").
				Set("closed_at = COALESCE(closed_at, ?)", database.Stored(now)).Set("closed_by = COALESCE(closed_by, ?)", audit.Agent).
				Where("id IN (?)", bun.List(ids)).Exec(ctx)
			return err
		})
		if err == nil {
			if n += int64(len(ids)); len(ids) < eraseReports {
				return n, nil
			}
			last, err = ids[len(ids)-1], db.Pause(ctx)
		}
		if err != nil {
			return n, fmt.Errorf("erase reports: %w", err)
		}
	}
}
