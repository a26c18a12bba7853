package replay

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/score"
)

// TestRecordHasEveryView checks that a record stores all readings that settlement may use for a prediction,
// also with readings far apart.
func TestRecordHasEveryView(t *testing.T) {
	t.Parallel()
	tape := NewTape(newArchive(t))
	template := filepath.Join(t.TempDir(), "template.db")
	if err := newTemplate(t.Context(), template); err != nil {
		t.Fatal(err)
	}
	for _, interval := range []time.Duration{5 * time.Minute, time.Hour} {
		t.Run(interval.String(), func(t *testing.T) {
			t.Parallel()
			settings := config.Default()
			settings.MarketsInterval = interval
			r, err := openRecord(t.Context(), &builder{tape: tape, template: template, settings: settings}, t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { r.db.Close() })
			d, err := tape.day(t.Context(), dayOf(firstDay))
			if err != nil {
				t.Fatal(err)
			}
			to := firstDay.AddDate(0, 0, 1)
			p := prediction.Prediction{MarketID: marketID(0), CreatedAt: to.Add(30 * time.Minute)} // of the next day
			r.list = []prediction.Prediction{p}
			m := market.Market{ID: p.MarketID, Source: "test", Question: "q", Title: "q", Outcomes: []string{"Yes", "No"}, FirstSeenAt: firstDay, ObservedAt: firstDay}
			err = r.db.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) error { return market.Store{}.Observe(ctx, tx, []market.Market{m}) })
			if err != nil {
				t.Fatal(err)
			}
			if err := r.storeDay(t.Context(), &Run{}, d, firstDay, to); err != nil {
				t.Fatal(err)
			}
			from := p.CreatedAt.Add(-score.MedianWithin - score.BeforeMaxIntervals*interval)
			got, err := market.Store{}.PricesBetween(t.Context(), r.db, []string{p.MarketID}, firstDay, p.CreatedAt)
			if want := int(to.Sub(from) / readEvery); err != nil || len(got) < want {
				t.Errorf("got %d readings, %v; want at least the %d since %s", len(got), err, want, from)
			}
		})
	}
}
