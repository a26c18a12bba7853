package leaderboard

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/archive"
)

// recordRows is the most board rows in one part of a record.
const recordRows = 5000

// boardRecord is one part of the record of a day's first boards.
type boardRecord struct {
	bun.BaseModel `bun:"table:board_records,alias:d"`

	Day     string `bun:",pk"`
	Part    int64  `bun:",pk"`
	AsOf    time.Time
	Content []byte `bun:"type:bytea"` // archive.EncodeRows of archive.BoardRow
}

// firstOfDay stores p.prior as the prior of its day, together with the record of the boards that p
// builds. It reports false, and stores nothing, if another node was faster.
func (b *Builder) firstOfDay(ctx context.Context, p job) (first bool, err error) {
	var parts []boardRecord
	if b.Records {
		if parts, err = b.record(p); err != nil {
			return false, err
		}
	}
	err = b.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		res, err := tx.NewInsert().Model(&p.prior).On("CONFLICT DO NOTHING").Exec(ctx)
		if err != nil {
			return fmt.Errorf("store prior: %w", err)
		}
		n, err := res.RowsAffected()
		if first = n == 1; err != nil || !first {
			return err
		}
		for i := range parts {
			if _, err := tx.NewInsert().Model(&parts[i]).Exec(ctx); err != nil {
				return fmt.Errorf("record boards: %w", err)
			}
		}
		return nil
	})
	return first, err
}

// record encodes all boards that p builds, in parts of at most recordRows rows.
func (b *Builder) record(p job) (parts []boardRecord, err error) {
	rows := make([]archive.BoardRow, 0, recordRows)
	flush := func() error {
		if len(rows) == 0 {
			return nil
		}
		content, err := archive.EncodeRows(rows)
		parts = append(parts, boardRecord{Day: day(p.at), Part: int64(len(parts)), AsOf: p.at, Content: content})
		rows = rows[:0]
		return err
	}
	for _, p.window = range Windows {
		for _, p.category = range p.sums.categories() {
			board, err := freshRows(p)
			if err != nil {
				return nil, err
			}
			if _, err := rankRanges(b.thresholds.rank(p.category, board, p.contenders), nil, nil); err != nil {
				return nil, err
			}
			if p.category != AllCategories && len(board) == 1 {
				continue // only the market's row
			}
			for _, r := range board {
				if rows = append(rows, b.recorded(&p, r)); len(rows) == recordRows {
					if err := flush(); err != nil {
						return nil, err
					}
				}
			}
		}
	}
	return parts, flush()
}

func (b *Builder) recorded(p *job, r *Row) archive.BoardRow {
	return archive.BoardRow{
		AsOf: p.at, Window: string(r.Window), Category: r.Category, Agent: r.AgentID.String(),
		Rank: r.Rank, RankLow: r.RankLow, RankHigh: r.RankHigh, Provisional: r.Provisional, Reference: r.Reference,
		Skill: &r.Skill, SkillLow: r.SkillLow, SkillHigh: r.SkillHigh, BestGuess: r.BestGuess, Odds: r.Odds, Proven: r.Proven(),
		Events: r.Events, Disagreements: r.Disagreements, Resolved: r.Resolved, Scored: r.Scored,
		Brier: r.Brier, MarketBrier: r.MarketBrier, LogEdge: r.LogEdge, CalibrationError: r.CalibrationError,
		PublicationDays: p.contenders[r.AgentID].Days, NeedEvents: b.thresholds.events(r.Category), NeedDays: b.thresholds.Days,
		Kappa: p.prior.Kappa, Sigma2: p.prior.Sigma2, Mu: p.prior.Mu, Tau: p.prior.Tau,
	}
}

// categories lists every category that has sums. AllCategories comes first.
func (h agentSums) categories() []string {
	set := map[string]bool{AllCategories: true}
	for i := range h.windows {
		set[h.windows[i].category] = true
	}
	return slices.Sorted(maps.Keys(set))
}

// RecordsIn yields the rows of the recorded boards from the day of from up to, but not including,
// the day of to. A zero from means the first record.
func RecordsIn(ctx context.Context, db bun.IDB, from, to time.Time) iter.Seq2[archive.BoardRow, error] {
	return func(yield func(archive.BoardRow, error) bool) {
		last := boardRecord{Part: -1}
		if !from.IsZero() {
			last.Day = day(from)
		}
		for {
			next, err := recordAfter(ctx, db, last, to)
			if err != nil {
				yield(archive.BoardRow{}, err)
				return
			}
			if next == nil {
				return
			}
			rows, err := archive.DecodeRows[archive.BoardRow](next.Content)
			if err != nil {
				yield(archive.BoardRow{}, fmt.Errorf("read the boards of %s: %w", next.Day, err))
				return
			}
			for _, r := range rows {
				if !yield(r, nil) {
					return
				}
			}
			last = *next
		}
	}
}

// recordAfter reads the part that follows last. It returns nil if none follows before the day of
// to.
func recordAfter(ctx context.Context, db bun.IDB, last boardRecord, to time.Time) (*boardRecord, error) {
	var rows []boardRecord
	err := db.NewSelect().Model(&rows).Where("d.day < ?", day(to)).Where("(d.day, d.part) > (?, ?)", last.Day, last.Part).
		Order("d.day", "d.part").Limit(1).Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("read records of boards: %w", err)
	}
	if len(rows) == 0 {
		return nil, nil
	}
	return &rows[0], nil
}

// DropRecords deletes the records of the days before the day of before.
func DropRecords(ctx context.Context, db bun.IDB, before time.Time) error {
	_, err := db.NewDelete().Model((*boardRecord)(nil)).Where("day < ?", day(before)).Exec(ctx)
	if err != nil {
		return fmt.Errorf("delete records of boards: %w", err)
	}
	return nil
}
