package replay

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/archive"
	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/score"
	"github.com/pulsecast/pulsecast/app/settlement"
)

// TestRecordHasEveryView checks that a record stores all readings that settlement may use for a prediction,
// also with readings far apart.
func TestRecordHasEveryView(t *testing.T) {
	t.Parallel()
	tape := NewTape(recordedArchive(t))
	template := newTestTemplate(t)
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
			d, err := tape.day(t.Context(), archive.DayOf(firstDay))
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
			r.needs = r.service(nil).PricesBefore()
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

func newTestTemplate(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "template.db")
	if err := newTemplate(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestRuledOutcomes checks that a record repeats what an admin ruled, also about a market that vanished before it
// closed. It leaves out the outcomes of abandoned days, whose decisions a restore of the database has undone.
func TestRuledOutcomes(t *testing.T) {
	t.Parallel()
	const vanished = recordedMarkets - 1
	for _, c := range []struct {
		name      string
		market    int
		ruled     time.Time
		abandoned bool
		want      string
	}{
		{"ordinary day", 0, closing(0).Add(time.Hour), false, "void"},
		{"abandoned day", 0, closing(0).Add(time.Hour), true, "settled"},
		{"vanished market", vanished, firstDay.Add(60 * time.Hour), false, "void"},
		{"vanished market, abandoned day", vanished, firstDay.Add(60 * time.Hour), true, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r, err := openRecord(t.Context(), &builder{tape: NewTape(voidedArchive(t, c.market, c.ruled, c.abandoned)), template: newTestTemplate(t), settings: config.Default()}, t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { r.db.Close() })
			run, at := &Run{Name: "Ada", Agent: uuid.New()}, firstDay.Add(30*time.Hour)
			p := prediction.Prediction{
				ID: database.NewID(at), AgentID: run.Agent, Title: "t", Thesis: "t", Confidence: 0.5, HorizonAt: lastEnd, Category: "general",
				Evidence: []prediction.Evidence{}, MarketID: marketID(c.market), Outcome: "Yes", OutcomeIndex: new(0), EventKey: fmt.Sprintf("e%d", c.market/2), CreatedAt: at,
			}
			if err := r.live(t.Context(), run, []prediction.Prediction{p}); err != nil {
				t.Fatal(err)
			}
			o, err := settlement.OutcomeOf(t.Context(), r.db, p.MarketID)
			var got string
			if o != nil {
				got = o.State
			}
			if err != nil || got != c.want {
				t.Errorf("the outcome is %q, %v; want %q", got, err, c.want)
			}
		})
	}
}

// TestCorrectionWithCutoff checks that a record takes back the scores of all sides of a run if an admin voids a market
// that has settled.
func TestCorrectionWithCutoff(t *testing.T) {
	t.Parallel()
	folder := voidedArchive(t, 0, closing(0).Add(30*time.Hour), false)
	r, err := openRecord(t.Context(), &builder{tape: NewTape(folder), template: newTestTemplate(t), settings: config.Default()}, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.db.Close() })
	run := &Run{Name: "Ada", Agent: uuid.New(), ModelCutoff: &firstDay}
	var list []prediction.Prediction
	for i := range 51 { // more than a chunk of a settlement
		at := firstDay.Add(30*time.Hour + time.Duration(i)*time.Minute)
		list = append(list, prediction.Prediction{
			ID: database.NewID(at), AgentID: run.Agent, Title: "t", Thesis: "t", Confidence: 0.5, HorizonAt: lastEnd, Category: "general",
			Evidence: []prediction.Evidence{}, MarketID: marketID(0), Outcome: "Yes", OutcomeIndex: new(0), EventKey: "e0", CreatedAt: at,
			BaselineState: prediction.Pending, Status: prediction.Open,
		})
	}
	if err := r.live(t.Context(), run, list); err != nil {
		t.Fatal(err)
	}
	for s, id := range sides(run) {
		stats, err := r.store.Stats(t.Context(), r.db.Reader, id)
		want := int64(len(list))
		if s == early {
			want = 0
		}
		if err != nil || stats.Total != want || stats.Void != want || stats.Row.Events != 0 {
			t.Errorf("side %d has %d of %d predictions void, %v; want %d", s, stats.Void, stats.Total, err, want)
		}
	}
}

// voidedArchive records an archive in which an admin voids a market. If abandoned is true, the next day abandons the
// day of the ruling.
func voidedArchive(t *testing.T, market int, ruled time.Time, abandoned bool) *archive.Folder {
	t.Helper()
	folder, previous := archive.OpenFolder(t.TempDir()), ""
	for d := range recordedDays {
		from := firstDay.AddDate(0, 0, d)
		name := archive.DayOf(from)
		previous = recordDay(t, folder, from, previous, func(w *archive.DayWriter) error {
			if name != archive.DayOf(ruled) {
				return nil
			}
			void := archive.OutcomeRow{Market: marketID(market), Revision: 2, State: "void", Note: "A test.", DecidedAt: ruled}
			return archive.WriteTable(t.Context(), w, archive.Outcomes, "", seq([]archive.OutcomeRow{void}))
		})
		if abandoned && name == archive.DayOf(ruled.AddDate(0, 0, 1)) {
			previous = abandon(t, folder, name, archive.DayOf(ruled))
		}
	}
	return folder
}

// abandon makes the manifest of a day abandon the days from an earlier one on, and returns its hash.
func abandon(t *testing.T, folder *archive.Folder, name, from string) string {
	t.Helper()
	d, err := archive.OpenDay(t.Context(), folder, name)
	if err != nil {
		t.Fatal(err)
	}
	d.Manifest.AbandonedFrom = from
	content, err := d.Manifest.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if err := folder.Put(t.Context(), archive.Path(name, archive.ManifestName), bytes.NewReader(content), int64(len(content))); err != nil {
		t.Fatal(err)
	}
	return archive.Hash(content)
}
