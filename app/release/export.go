package release

import (
	"context"
	"iter"
	"time"

	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/archive"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/leaderboard"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/score"
	"github.com/pulsecast/pulsecast/app/settlement"
)

// exportRows is how many rows are read at a time.
const exportRows = 500

// Exporter writes what the service decided on a day. It implements archive.Exporter.
type Exporter struct {
	DB *database.DB
	// Interval and MinLiquidity are as in settlement.Options.
	Interval     time.Duration
	MinLiquidity float64
}

// export is the export of one day.
type export struct {
	*Exporter
	w      *archive.DayWriter
	salt   func(record string, content []byte) []byte
	span   settlement.Span
	agents map[uuid.UUID]struct{} // agents named in the rows
}

// Export writes what the service decided at from or later and before to. With a zero from, it writes
// everything before to.
func (e *Exporter) Export(ctx context.Context, w *archive.DayWriter, from, to time.Time) error {
	salt, err := archive.Salts(ctx, e.DB, archive.DayOf(to.Add(-time.Microsecond)))
	if err != nil {
		return err
	}
	x := &export{Exporter: e, w: w, salt: salt, span: settlement.Span{From: from, To: to}, agents: map[uuid.UUID]struct{}{}}
	for _, step := range []func(context.Context) error{
		x.outcomes, x.predictions, x.ledger, x.references, x.boards, x.profiles, x.rules,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	if from.IsZero() {
		return nil
	}
	return leaderboard.DropRecords(ctx, e.DB, from)
}

// pages yields the rows of successive pages. The last page is the first that has fewer than
// exportRows rows.
func pages[T any](next func() ([]T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for {
			page, err := next()
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, row := range page {
				if !yield(row, nil) {
					return
				}
			}
			if len(page) < exportRows {
				return
			}
		}
	}
}

// converted yields the rows of a sequence, each converted to a row of the archive.
func converted[T, R any](rows iter.Seq2[T, error], convert func(*T) R) iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		for row, err := range rows {
			var out R
			if err == nil {
				out = convert(&row)
			}
			if !yield(out, err) {
				return
			}
		}
	}
}

func (x *export) outcomes(ctx context.Context) error {
	after := ""
	rows := pages(func() ([]settlement.Outcome, error) {
		page, err := settlement.OutcomesIn(ctx, x.DB.Reader, x.span, after, exportRows)
		if len(page) > 0 {
			after = page[len(page)-1].MarketID
		}
		return page, err
	})
	return archive.WriteTable(ctx, x.w, archive.Outcomes, "", converted(rows, outcomeRow))
}

// keys yields the predictions that were scored or voided in the span.
func (x *export) keys(ctx context.Context) iter.Seq2[[]prediction.Key, error] {
	return func(yield func([]prediction.Key, error) bool) {
		for after := uuid.Nil; ; {
			page, last, err := settlement.ScoredIn(ctx, x.DB.Reader, x.span, after, exportRows)
			if !yield(page, err) || err != nil {
				return
			}
			if after = last; len(page) < exportRows {
				break
			}
		}
		for after := (settlement.Voided{}); ; {
			page, err := settlement.VoidedIn(ctx, x.DB.Reader, x.span, after, exportRows)
			keys := make([]prediction.Key, len(page))
			for i := range page {
				keys[i] = page[i].Key
			}
			if !yield(keys, err) || err != nil || len(page) < exportRows {
				return
			}
			after = page[len(page)-1]
		}
	}
}

// records yields the predictions as the public sees them. It leaves out unrevealed ones.
func (x *export) records(ctx context.Context) iter.Seq2[*prediction.Record, error] {
	return func(yield func(*prediction.Record, error) bool) {
		for page, err := range x.keys(ctx) {
			if err != nil {
				yield(nil, err)
				return
			}
			ids := make([]uuid.UUID, len(page))
			for i, k := range page {
				ids[i] = k.ID
			}
			found, err := prediction.Store{}.ByIDs(ctx, x.DB.Reader, ids)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, id := range ids {
				if r := found[id]; r != nil && r.Withheld != prediction.NotRevealed && !yield(r, nil) {
					return
				}
			}
		}
	}
}

func (x *export) predictions(ctx context.Context) error {
	texts, err := newSpool(x.salt)
	if err != nil {
		return err
	}
	defer texts.close()
	rows := converted(x.records(ctx), func(r **prediction.Record) archive.PredictionRow {
		x.agents[(*r).AgentID] = struct{}{}
		row := predictionRow(&(*r).Prediction)
		if (*r).Withheld == prediction.NotWithheld && (*r).Title != "" {
			row.Texts = texts.add(row.ID, row.Agent, predictionTexts(&(*r).Prediction))
		}
		return row
	})
	if err := archive.WriteTable(ctx, x.w, archive.Predictions, "", rows); err != nil {
		return err
	}
	return x.w.WriteTexts(ctx, archive.Predictions, "", texts.rows())
}

func (x *export) ledger(ctx context.Context) error {
	after := uuid.Nil
	rows := pages(func() ([]settlement.Entry, error) {
		page, err := settlement.EntriesIn(ctx, x.DB.Reader, x.span, after, exportRows)
		if len(page) > 0 {
			after = page[len(page)-1].ID
		}
		return page, err
	})
	return archive.WriteTable(ctx, x.w, archive.Ledger, "", converted(rows, func(e *settlement.Entry) archive.LedgerRow {
		x.agents[e.AgentID] = struct{}{}
		return ledgerRow(e)
	}))
}

func (x *export) references(ctx context.Context) error {
	var agent uuid.UUID
	market := ""
	rows := pages(func() ([]settlement.SettledReference, error) {
		page, err := settlement.ReferencesIn(ctx, x.DB.Reader, x.span, agent, market, exportRows)
		if len(page) > 0 {
			agent, market = page[len(page)-1].AgentID, page[len(page)-1].MarketID
		}
		return page, err
	})
	return archive.WriteTable(ctx, x.w, archive.References, "", converted(rows, func(r *settlement.SettledReference) archive.ReferenceRow {
		x.agents[r.AgentID] = struct{}{}
		return referenceRow(r)
	}))
}

func (x *export) boards(ctx context.Context) error {
	rows := leaderboard.RecordsIn(ctx, x.DB.Reader, x.span.From, x.span.To)
	return archive.WriteTable(ctx, x.w, archive.Boards, "", converted(rows, func(r *archive.BoardRow) archive.BoardRow {
		if id, err := uuid.Parse(r.Agent); err == nil {
			x.agents[id] = struct{}{}
		}
		return *r
	}))
}

func (x *export) rules(ctx context.Context) error {
	return archive.WriteTable(ctx, x.w, archive.Rules, "", func(yield func(archive.RuleRow, error) bool) {
		yield(archive.RuleRow{
			AsOf: x.span.To, RulesVersion: score.RulesVersion, MarketsInterval: x.Interval.Seconds(), MinLiquidity: x.MinLiquidity,
		}, nil)
	})
}
