package app_test

import (
	"errors"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app"
	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/news"
	"github.com/pulsecast/pulsecast/app/signal"
)

// TestErasedNewsLeavesTheSnapshot checks that the job which erases deleted posts also removes them from the snapshot,
// so that they don't stay there until a source answers.
func TestErasedNewsLeavesTheSnapshot(t *testing.T) {
	t.Parallel()
	for _, kind := range dbtest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			cfg := config.Default()
			cfg.LogFormat, cfg.DatabaseURL, cfg.ArchiveURL = "off", dbtest.URL(t, kind), "file://"+t.TempDir()
			a, err := app.New(t.Context(), cfg, app.Options{Now: func() time.Time { return goldenAt }})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := a.Close(); err != nil {
					t.Error(err)
				}
			})
			post := news.Item{
				ID: "p", Source: "reddit", Community: news.Communities[0], Title: "Deleted", URL: "https://example.org/p",
				Permalink: "https://example.org/p", PostedAt: goldenAt, ObservedAt: goldenAt,
			}
			err = errors.Join(
				news.Store{}.Observe(t.Context(), a.DB, []news.Item{post}),
				a.News.Replicator.Publish(t.Context(), signal.Reading[news.Item]{Records: []news.Item{post}, AsOf: goldenAt, Source: "reddit"}),
			)
			for _, want := range []int{1, 0} {
				_, sealErr := a.Seal(t.Context())
				if err = errors.Join(err, sealErr); err != nil {
					t.Fatal(err)
				}
				if got := len(a.News.Replicator.Feed().Current().Records); got != want {
					t.Errorf("the snapshot has %d items, want %d", got, want)
				}
				err = news.Store{}.Erase(t.Context(), a.DB, []string{post.ID})
			}
		})
	}
}
