package ingest

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/source"
)

// BadPayload is the last unusable payload of a source. The next one replaces it.
type BadPayload struct {
	bun.BaseModel `bun:"table:bad_payloads,alias:b"`

	Source     string `bun:",pk"`
	Feed       string
	Reason     string
	Body       []byte // as received, at most source.MaxPayload bytes; may contain anything
	Cut        int64  // number of bytes that followed these
	ReceivedAt time.Time
}

// BadPayloads lists the unusable payloads of a feed, newest first.
func BadPayloads(ctx context.Context, db bun.IDB, feed string) ([]BadPayload, error) {
	var list []BadPayload
	if err := db.NewSelect().Model(&list).Where("feed = ?", feed).OrderExpr("received_at DESC, source").Scan(ctx); err != nil {
		return nil, fmt.Errorf("read bad payloads of %s: %w", feed, err)
	}
	for i := range list {
		list[i].ReceivedAt = list[i].ReceivedAt.UTC()
	}
	return list, nil
}

// keepRejects stores the unusable payloads of a tick. If that fails, the tick still succeeds. The log never
// shows their contents.
func keepRejects(ctx context.Context, db bun.IDB, log *slog.Logger, feed string, at time.Time, r *source.Rejects) {
	rejected := r.Payloads()
	if len(rejected) == 0 || ctx.Err() != nil {
		return
	}
	rows := make([]BadPayload, len(rejected))
	for i, p := range rejected {
		rows[i] = BadPayload{
			Source: p.Source, Feed: feed, Reason: p.Reason, Body: p.Body, Cut: p.Cut, ReceivedAt: database.Stored(at),
		}
		if rows[i].Body == nil {
			rows[i].Body = []byte{}
		}
	}
	_, err := db.NewInsert().Model(&rows).On("CONFLICT (source) DO UPDATE").Set("feed = EXCLUDED.feed").
		Set("reason = EXCLUDED.reason").
		Set("body = EXCLUDED.body").Set("cut = EXCLUDED.cut").Set("received_at = EXCLUDED.received_at").Exec(ctx)
	if err != nil {
		log.Warn("bad payload not stored", "feed", feed, "error", err)
	}
}
