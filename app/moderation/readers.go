package moderation

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/network"
	"github.com/pulsecast/pulsecast/app/problem"
)

// readerKey names the setting that holds the key for the hashes of readers.
const readerKey = "reader_key"

// maxReaderReports is the greatest number of open reader reports on one prediction. More reports
// would tell the admins nothing new.
const maxReaderReports = 10

// FileByReader stores a report by a reader of the site. Readers have no key. A keyed hash of the
// address tells them apart, and the address isn't stored. A prediction has at most one open report
// of each reader, and at most ten in all. Further reports are accepted and dropped. Refusals: 404
// not_found, 409 text_hidden, 422 invalid_request.
func (s *Service) FileByReader(ctx context.Context, r Report, address string) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx bun.Tx) error { return s.fileByReader(ctx, tx, r, address) })
}

func (s *Service) fileByReader(ctx context.Context, tx bun.Tx, r Report, address string) (err error) {
	switch r.Kind {
	case ReportSpam, ReportAbuse, ReportOther:
	default:
		return problem.InvalidRequest(problem.Field{Field: "kind", Message: "must be spam, abuse or other"})
	}
	if r.Text, err = checkText("text", r.Text, r.Kind == ReportOther); err != nil {
		return err
	}
	subject, err := s.readReported(ctx, tx, r.PredictionID)
	if err != nil {
		return err
	}
	if subject.Hidden {
		refusal := problem.New(problem.CodeTextHidden, "An admin has hidden this prediction's text already, so there is nothing left to report.")
		refusal.Status, refusal.Title = http.StatusConflict, "Hidden already"
		return refusal
	}
	open, err := tx.NewSelect().Model((*Report)(nil)).Where("prediction_id = ?", r.PredictionID).
		Where("status = 'open'").Where("reader IS NOT NULL").Count(ctx)
	if err != nil {
		return fmt.Errorf("count reports: %w", err)
	}
	if open >= maxReaderReports {
		return nil
	}
	key, err := readReaderKey(ctx, tx)
	if err != nil {
		return err
	}
	r.Reader = new(hashReader(key, r, address))
	r.AuthorID, r.Status, r.CreatedAt = subject.AgentID, "open", database.Stored(s.Now())
	r.ID = database.NewID(r.CreatedAt)
	if _, err := tx.NewInsert().Model(&r).On("CONFLICT DO NOTHING").Exec(ctx); err != nil {
		return fmt.Errorf("file a report: %w", err)
	}
	return nil
}

// hashReader returns a hash that differs for each prediction, so that the table doesn't show what
// else a reader reported.
func hashReader(key string, r Report, address string) string {
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write(r.PredictionID[:])
	mac.Write([]byte(network.Of(address)))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:16])
}

// readReaderKey returns the key that all nodes share. The first report creates it.
func readReaderKey(ctx context.Context, tx bun.Tx) (key string, err error) {
	if _, err := database.AddSetting(ctx, tx, readerKey, rand.Text()); err != nil {
		return "", err
	}
	key, _, err = database.Setting(ctx, tx, readerKey)
	return key, err
}
