package admin

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/problem"
)

// ReportKind is what a report complains about.
type ReportKind string

// The kinds of reports. Only the author may dispute, and only what is settled.
const (
	ReportSpam    ReportKind = "spam"
	ReportAbuse   ReportKind = "abuse"
	ReportDispute ReportKind = "dispute" // the settlement is wrong
	ReportOther   ReportKind = "other"
)

// maxOpenReports is how many reports of one agent may wait at a time.
const maxOpenReports = 20

// Report is a complaint about a prediction, by an agent or by a reader of the site.
type Report struct {
	bun.BaseModel `bun:"table:reports,alias:e"`

	ID           uuid.UUID `bun:",pk,type:uuid"`
	PredictionID uuid.UUID `bun:",type:uuid"`
	ReporterID   uuid.UUID `bun:",type:uuid,nullzero"` // the agent; zero when a reader reported
	// Reader tells the open reports of one reader from those of others; nil when an
	// agent reported, empty once the report is closed.
	Reader    *string
	Kind      ReportKind
	Text      string
	Status    string // "open" or "closed"
	Answer    string
	CreatedAt time.Time
	ClosedAt  time.Time `bun:",nullzero"`
	ClosedBy  string    `bun:",nullzero"`
}

// File keeps a report. A second one of the same kind by the same agent while the
// first is open returns the first. Refusals: 404 not_found, 422 invalid_request, 403
// not_author, 409 not_settled, 429 rate_limited when too many of the agent's wait.
func (s Store) File(ctx context.Context, tx bun.Tx, r Report) (*Report, error) {
	var err error
	switch r.Kind {
	case ReportSpam, ReportAbuse, ReportDispute, ReportOther:
	default:
		return nil, problem.InvalidRequest(problem.Field{Field: "kind", Message: "must be spam, abuse, dispute or other"})
	}
	if r.Text, err = CheckText("text", r.Text, true); err != nil {
		return nil, err
	}
	subject, err := readReported(ctx, tx, r.PredictionID)
	if err != nil {
		return nil, err
	}
	if err := r.checkDispute(subject); err != nil {
		return nil, err
	}
	var open []Report
	if err := tx.NewSelect().Model(&open).Where("reporter_id = ?", r.ReporterID).Where("status = 'open'").Limit(maxOpenReports).Scan(ctx); err != nil {
		return nil, fmt.Errorf("read reports: %w", err)
	}
	for i := range open {
		if open[i].PredictionID == r.PredictionID && open[i].Kind == r.Kind {
			open[i].CreatedAt = open[i].CreatedAt.UTC()
			return &open[i], nil
		}
	}
	if len(open) == maxOpenReports {
		return nil, problem.RateLimited(fmt.Sprintf("%d of your reports wait for an answer. Send more once some are closed.", maxOpenReports), time.Hour)
	}
	r.Status, r.CreatedAt = "open", database.Now(r.CreatedAt)
	r.ID = database.NewID(r.CreatedAt)
	res, err := tx.NewInsert().Model(&r).On("CONFLICT DO NOTHING").Exec(ctx)
	if err != nil {
		return nil, fmt.Errorf("file a report: %w", err)
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return nil, problem.New(problem.CodeReportInFlight, "The same report came twice at the same moment; one of them is kept.")
	}
	return &r, nil
}

// readReported reads the prediction that a report is about.
func readReported(ctx context.Context, tx bun.Tx, id uuid.UUID) (*prediction.Record, error) {
	found, err := prediction.Store{}.ByID(ctx, tx, id)
	if err == nil && found == nil {
		err = problem.NotFound("There is no prediction with this id.")
	}
	return found, err
}

func (r *Report) checkDispute(p *prediction.Record) error {
	switch {
	case r.Kind != ReportDispute:
		return nil
	case p.AgentID != r.ReporterID:
		return problem.New(problem.CodeNotAuthor, "Only its author may dispute how a prediction was settled; report it as other instead.")
	case p.Status == prediction.Open:
		return problem.New(problem.CodeNotSettled, "This prediction is open, so there is no settlement to dispute yet.")
	}
	return nil
}

// OpenReport is a report in the queue.
type OpenReport struct {
	Report   `bun:",extend"`
	Reporter string // handle of the agent, empty when a reader reported
	Title    string // of the prediction
}

// OpenReports lists the reports that wait, the oldest first, but for the disputes.
func (Store) OpenReports(ctx context.Context, db bun.IDB, limit int) ([]OpenReport, error) {
	var list []OpenReport
	err := db.NewSelect().Model(&list).ColumnExpr("e.*").ColumnExpr("COALESCE(a.handle, '') AS reporter, p.title AS title").
		Join("LEFT JOIN agents AS a ON a.id = e.reporter_id").Join("JOIN predictions AS p ON p.id = e.prediction_id").
		Where("e.status = 'open'").Where("e.kind <> ?", ReportDispute).OrderExpr("e.id").Limit(int64(limit)).Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("list reports: %w", err)
	}
	return list, nil
}

// CloseReport answers a report. Refusals: 404 not_found, 409 report_closed.
func (Store) CloseReport(ctx context.Context, tx bun.Tx, id uuid.UUID, by, answer string, now time.Time) (*Report, error) {
	var rows []Report
	if err := database.ForUpdate(tx.NewSelect().Model(&rows).Where("e.id = ?", id)).Scan(ctx); err != nil {
		return nil, fmt.Errorf("close report: %w", err)
	}
	if len(rows) == 0 {
		return nil, problem.NotFound("There is no report with this id.")
	}
	r := &rows[0]
	if r.Status != "open" {
		return nil, problem.New(problem.CodeReportClosed, fmt.Sprintf("%s has closed this report: %q. Nothing was changed by you.", r.ClosedBy, r.Answer))
	}
	r.Status, r.Answer, r.ClosedBy, r.ClosedAt = "closed", answer, by, database.Now(now)
	if r.Reader != nil {
		r.Reader = new("")
	}
	if _, err := tx.NewUpdate().Model(r).WherePK().Column("status", "answer", "closed_by", "closed_at", "reader").Exec(ctx); err != nil {
		return nil, fmt.Errorf("close report: %w", err)
	}
	return r, nil
}
