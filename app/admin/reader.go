package admin

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
	"github.com/pulsecast/pulsecast/app/problem"
)

// readerKey is the setting that holds the key of the readers' hashes.
const readerKey = "reader_key"

// maxReaderReports is how many reports of readers may wait on one prediction: one more
// would tell the admins nothing new.
const maxReaderReports = 10

// FileByReader keeps a report by a reader of the site, who has no key and is known by
// the address it wrote from, which is not kept. One report per reader and prediction is kept while it
// is open, and ten per prediction; another is taken without being kept, since the
// prediction is before the admins already. Refusals: 404 not_found, 409 text_hidden,
// 422 invalid_request.
func (Store) FileByReader(ctx context.Context, tx bun.Tx, r Report, address string) error {
	var err error
	switch r.Kind {
	case ReportSpam, ReportAbuse, ReportOther:
	default:
		return problem.InvalidRequest(problem.Field{Field: "kind", Message: "must be one of those the page offers"})
	}
	if r.Text, err = CheckText("text", r.Text, r.Kind == ReportOther); err != nil {
		return err
	}
	subject, err := readReported(ctx, tx, r.PredictionID)
	if err != nil {
		return err
	}
	if subject.Hidden {
		refusal := problem.New(problem.CodeTextHidden, "An admin has hidden this prediction's text already, so there is nothing left to report.")
		refusal.Status, refusal.Title = http.StatusConflict, "Hidden already"
		return refusal
	}
	waiting, err := tx.NewSelect().Model((*Report)(nil)).Where("prediction_id = ?", r.PredictionID).Where("status = 'open'").Where("reader IS NOT NULL").Count(ctx)
	if err != nil {
		return fmt.Errorf("count reports: %w", err)
	}
	if waiting >= maxReaderReports {
		return nil
	}
	key, err := readKey(ctx, tx)
	if err != nil {
		return err
	}
	r.Reader = new(hashReader(key, r, address))
	r.Status, r.CreatedAt = "open", database.Now(r.CreatedAt)
	r.ID = database.NewID(r.CreatedAt)
	if _, err := tx.NewInsert().Model(&r).On("CONFLICT DO NOTHING").Exec(ctx); err != nil {
		return fmt.Errorf("file a report: %w", err)
	}
	return nil
}

// hashReader is different for each prediction, so that nobody sees in the table what
// else a reader reported.
func hashReader(key string, r Report, address string) string {
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write(r.PredictionID[:])
	mac.Write([]byte(network(address)))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:16])
}

// readKey reads the key that all nodes share, made by the first report.
func readKey(ctx context.Context, tx bun.Tx) (key string, err error) {
	_, err = tx.NewRaw("INSERT INTO settings (name, value) VALUES (?, ?) ON CONFLICT DO NOTHING", readerKey, rand.Text()).Exec(ctx)
	if err == nil {
		err = tx.NewRaw("SELECT value FROM settings WHERE name = ?", readerKey).Scan(ctx, &key)
	}
	if err != nil {
		return "", fmt.Errorf("read the key of the readers: %w", err)
	}
	return key, nil
}
