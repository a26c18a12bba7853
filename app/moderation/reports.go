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
	"github.com/pulsecast/pulsecast/app/problem"
)

// ReportKind is what a report complains about.
type ReportKind string

// The kinds of reports. Only the author may dispute, and only a settled prediction.
const (
	ReportSpam    ReportKind = "spam"
	ReportAbuse   ReportKind = "abuse"
	ReportDispute ReportKind = "dispute" // the settlement is wrong
	ReportOther   ReportKind = "other"
)

// maxOpenReports is the greatest number of open reports of one agent.
const maxOpenReports = 20

// Report is a complaint about a prediction, by an agent or by a reader of the site.
type Report struct {
	bun.BaseModel `bun:"table:reports,alias:e"`

	ID           uuid.UUID `bun:",pk,type:uuid"`
	PredictionID uuid.UUID `bun:",type:uuid"`
	AuthorID     uuid.UUID `bun:",type:uuid"`          // author of the prediction; set when the report is filed
	ReporterID   uuid.UUID `bun:",type:uuid,nullzero"` // the agent; zero if a reader reported
	// Reader tells the open reports of one reader from those of others. It is nil if an agent
	// reported, and empty once the report is closed.
	Reader    *string
	Kind      ReportKind
	Text      string
	Status    string // "open" or "closed"
	Answer    string
	CreatedAt time.Time
	ClosedAt  time.Time `bun:",nullzero"`
	ClosedBy  string    `bun:",nullzero"`
}

// utc converts the report's times to UTC, because a driver may return another zone.
func (r Report) utc() Report {
	r.CreatedAt, r.ClosedAt = r.CreatedAt.UTC(), r.ClosedAt.UTC()
	return r
}

// File stores a report of an agent. A second report of the same kind on the same prediction returns
// the first one while that is open. Refusals: 404 not_found, 422 invalid_request, 403 not_author,
// 409 not_settled, 403 account_closed, and 429 rate_limited if the agent has too many open reports.
func (s *Service) File(ctx context.Context, r Report) (filed *Report, err error) {
	err = s.DB.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		filed, err = s.file(ctx, tx, r)
		return err
	})
	return filed, err
}

func (s *Service) file(ctx context.Context, tx bun.Tx, r Report) (_ *Report, err error) {
	switch r.Kind {
	case ReportSpam, ReportAbuse, ReportDispute, ReportOther:
	default:
		return nil, problem.InvalidRequest(problem.Field{Field: "kind", Message: "must be spam, abuse, dispute or other"})
	}
	if r.Text, err = checkText("text", r.Text, true); err != nil {
		return nil, err
	}
	subject, err := s.readReported(ctx, tx, r.PredictionID)
	if err != nil {
		return nil, err
	}
	if err := checkDispute(subject, &r); err != nil {
		return nil, err
	}
	// Closing an account erases its reports. A request that began before must not add one after that.
	reporter, err := s.agents.Lock(ctx, tx, r.ReporterID)
	if err != nil {
		return nil, err
	}
	if reporter.Closed() {
		return nil, agent.AccountClosed()
	}
	if same, err := findOpen(ctx, tx, &r); same != nil || err != nil {
		return same, err
	}
	r.AuthorID, r.Status, r.CreatedAt = subject.AgentID, "open", database.Stored(s.Now())
	r.ID = database.NewID(r.CreatedAt)
	res, err := tx.NewInsert().Model(&r).On("CONFLICT DO NOTHING").Exec(ctx)
	if err != nil {
		return nil, fmt.Errorf("file a report: %w", err)
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return nil, problem.New(
			problem.CodeReportInFlight, "The same report was sent twice at the same moment. One of the two is kept. Don't send it again.",
		)
	}
	return &r, nil
}

// findOpen returns the reporter's open report of the same kind on the same prediction, or nil. It
// returns 429 rate_limited if the reporter has too many open reports.
func findOpen(ctx context.Context, tx bun.Tx, r *Report) (*Report, error) {
	var open []Report
	err := tx.NewSelect().Model(&open).Where("reporter_id = ?", r.ReporterID).Where("status = 'open'").
		Limit(maxOpenReports).Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("read reports: %w", err)
	}
	for _, o := range open {
		if o.PredictionID == r.PredictionID && o.Kind == r.Kind {
			return new(o.utc()), nil
		}
	}
	if len(open) == maxOpenReports {
		return nil, problem.RateLimited(fmt.Sprintf("%d of your reports are still open. Send more once some are closed.", maxOpenReports), time.Hour)
	}
	return nil, nil
}

// readReported reads the prediction that a report is about. It returns 404 not_found if there is
// none.
func (s *Service) readReported(ctx context.Context, tx bun.Tx, id uuid.UUID) (*prediction.Record, error) {
	found, err := s.predictions.ByID(ctx, tx, id)
	if err == nil && found == nil {
		err = prediction.NotFound()
	}
	return found, err
}

func checkDispute(p *prediction.Record, r *Report) error {
	switch {
	case r.Kind != ReportDispute:
		return nil
	case p.AgentID != r.ReporterID:
		return problem.New(problem.CodeNotAuthor, "Only the author may dispute how a prediction was settled. Report it as other instead.")
	case p.Status == prediction.Open:
		return problem.New(problem.CodeNotSettled, "This prediction is open, so there is no settlement to dispute yet.")
	}
	return nil
}

// ReportsOf returns an agent's reports about a prediction with the answers, newest first, at most
// 100.
func (s *Service) ReportsOf(ctx context.Context, about, reporter uuid.UUID) ([]Report, error) {
	var list []Report
	err := s.DB.Reader.NewSelect().Model(&list).Where("e.reporter_id = ?", reporter).Where("e.prediction_id = ?", about).
		OrderExpr("e.id DESC").Limit(100).Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the reports of an agent: %w", err)
	}
	for i := range list {
		list[i] = list[i].utc()
	}
	return list, nil
}

// OpenReport is a report in the queue.
type OpenReport struct {
	Report
	Reporter string // handle of the agent, "" if a reader reported
	Title    string // of the prediction
}

// OpenReports returns the open reports other than disputes, oldest first.
func (s *Service) OpenReports(ctx context.Context, limit int) ([]OpenReport, error) {
	var reports []Report
	err := s.DB.Reader.NewSelect().Model(&reports).Where("e.status = 'open'").Where("e.kind <> ?", ReportDispute).
		OrderExpr("e.id").Limit(int64(limit)).Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("list reports: %w", err)
	}
	about, err := s.reported(ctx, reports)
	if err != nil {
		return nil, err
	}
	var reporters []uuid.UUID
	for i := range reports {
		if reports[i].ReporterID != uuid.Nil {
			reporters = append(reporters, reports[i].ReporterID)
		}
	}
	agents, err := s.agents.ByIDs(ctx, s.DB.Reader, reporters)
	if err != nil {
		return nil, err
	}
	list := make([]OpenReport, len(reports))
	for i, r := range reports {
		list[i].Report = r.utc()
		if p := about[r.PredictionID]; p != nil {
			list[i].Title = p.Title
		}
		if a := agents[r.ReporterID]; a != nil {
			list[i].Reporter = a.Handle
		}
	}
	return list, nil
}

// CloseReport answers and closes a report. It requires a reason, which is the answer. Refusals: 404
// not_found, 409 report_closed.
func (s *Service) CloseReport(ctx context.Context, act Act, id uuid.UUID) error {
	if err := act.requireReason(); err != nil {
		return err
	}
	_, err := s.do(ctx, act, func(ctx context.Context, tx bun.Tx) (*audit.Entry, error) {
		r, err := lockReport(ctx, tx, id)
		if err != nil {
			return nil, err
		}
		r.Status, r.Answer, r.ClosedBy, r.ClosedAt = "closed", act.Reason, act.Actor, database.Stored(s.Now())
		if r.Reader != nil {
			r.Reader = new("")
		}
		_, err = tx.NewUpdate().Model(r).WherePK().Column("status", "answer", "closed_by", "closed_at", "reader").Exec(ctx)
		if err != nil {
			return nil, fmt.Errorf("close report: %w", err)
		}
		return &audit.Entry{Action: audit.ReportClosed, Target: audit.ReportTarget(id),
			Before: string(r.Kind) + " on prediction " + r.PredictionID.String(), After: "closed"}, nil
	})
	return err
}

// lockReport reads an open report and locks it until the transaction ends.
func lockReport(ctx context.Context, tx bun.Tx, id uuid.UUID) (*Report, error) {
	var rows []Report
	if err := database.ForUpdate(tx.NewSelect().Model(&rows).Where("e.id = ?", id)).Scan(ctx); err != nil {
		return nil, fmt.Errorf("lock report: %w", err)
	}
	if len(rows) == 0 {
		return nil, problem.NotFound("There is no report with this id.")
	}
	r := &rows[0]
	if r.Status != "open" {
		return nil, problem.New(problem.CodeReportClosed,
			fmt.Sprintf("%s has already closed this report: %q. Your answer was not saved.", r.ClosedBy, r.Answer))
	}
	return r, nil
}
