package ingest_test

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/archive"
	"github.com/pulsecast/pulsecast/app/cache"
	"github.com/pulsecast/pulsecast/app/cache/cachetest"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/ingest"
	"github.com/pulsecast/pulsecast/app/news"
	"github.com/pulsecast/pulsecast/app/source"
)

// TestRecording checks that the archive gets the news of each source that the feed doesn't show. The feed and
// the stored items don't change.
func TestRecording(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		n := newNode(db, cachetest.Open(t, cache.Memory))
		shown, down, other := &upstream{at: noon, err: errors.New("asked")}, &upstream{at: noon, err: errors.New("down")}, &upstream{at: noon}
		bad := post("hn-2", "sports", 0)
		good := post("hn-1", "science", 0)
		good.Source = "hackernews"
		other.items = []news.Item{good, bad}
		name := ""
		r := &ingest.Recording{
			Sources: []source.Member{{Name: "gdelt", Source: shown}, {Name: "down", Source: down}, {Name: "hackernews", Source: other}},
			Shown:   func() string { return name },
			DB:      db, Archive: archive.NewRecorder(func() time.Time { return n.at }), Now: func() time.Time { return n.at },
			Log: slog.New(slog.DiscardHandler),
		}
		records := func() (n int) {
			t.Helper()
			if err := db.NewRaw("SELECT COALESCE(SUM(records), 0) FROM archive_segments WHERE kind = 'news'").Scan(t.Context(), &n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		if _, err := r.Tick(t.Context()); err != nil || records() != 0 {
			t.Errorf("while samples are shown: got %d records, %v", records(), err)
		}
		name = "gdelt"
		if _, err := r.Tick(t.Context()); !errors.Is(err, down.err) || errors.Is(err, shown.err) || records() != 1 {
			t.Errorf("got %d records, %v", records(), err)
		}
		if len(n.shownNews()) != 0 {
			t.Errorf("got news %v in the feed", n.shownNews())
		}
		// The feed has another Recorder. Neither of the two makes the other archive its facts again.
		n.news.Archive = archive.NewRecorder(func() time.Time { return n.at })
		n.up.items = []news.Item{post("n1", "science", 0)}
		for range 2 {
			n.later(10 * time.Minute)
			other.at = n.at
			if _, err := n.news.Tick(t.Context()); err != nil {
				t.Fatal(err)
			}
			if _, err := r.Tick(t.Context()); !errors.Is(err, down.err) {
				t.Fatal(err)
			}
			if got := records(); got != 2 {
				t.Errorf("%d records, want one of each source", got)
			}
		}
		if _, found, err := (news.Store{}).ByID(t.Context(), db.Reader, "hn-1"); found || err != nil {
			t.Errorf("got stored %t, %v", found, err)
		}
	})
}
