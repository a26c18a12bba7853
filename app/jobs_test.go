package app_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/archive"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/ingest"
	"github.com/pulsecast/pulsecast/app/news"
)

// TestReadingPassesToAnotherNode checks that a node that can't reach a source leaves it to a node that can.
func TestReadingPassesToAnotherNode(t *testing.T) {
	t.Parallel()
	address, u := dbtest.URL(t, database.Postgres), newUpstream(t)
	u.SetMarket("m1", nil)
	db := dbtest.OpenAt(t, address)
	until := func(what string, p *process, holds func(s *ingest.FeedState) bool) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
			state, _, err := ingest.State(t.Context(), db, "markets")
			if err == nil && holds(&state) {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("not within a minute: %s; %+v, error %v\n%s", what, state, err, p.out)
			}
		}
	}
	settings := []string{"DATABASE_URL=" + address, "MARKETS_INTERVAL=1s", "ARCHIVE_URL=off"}
	lost := startProcess(t, settings, "serve")
	until("the node without a way to the source fails", lost, func(s *ingest.FeedState) bool { return s.Failures > 0 })
	connected := startProcess(t, append(settings, "POLYMARKET_URL="+u.URL, "POLYMARKET_CLOB_URL="+u.URL), "serve")
	until("the other node reads the markets", connected, func(s *ingest.FeedState) bool { return !s.SucceededAt.IsZero() })
}

// TestSealingPassesToTheNodeWithTheFiles checks that a node without the files of the last sealed day leaves sealing to
// the node that has them.
func TestSealingPassesToTheNodeWithTheFiles(t *testing.T) {
	t.Parallel()
	address, folder := dbtest.URL(t, database.Postgres), t.TempDir()
	db := dbtest.OpenAt(t, address)
	at := time.Now().AddDate(0, 0, -4)
	now := func() time.Time { return at }
	item := news.Item{
		ID: "n1", Source: "hackernews", Community: "technology", Title: "A title", URL: "https://x.example/n1",
		Permalink: "https://news.example/n1", Author: "omber", PostedAt: at, ObservedAt: at,
	}
	err := db.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) error {
		_, err := archive.NewRecorder(now).News(ctx, tx, []news.Item{item})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	at = at.AddDate(0, 0, 2)
	sealer := &archive.Sealer{DB: db, Storage: archive.OpenFolder(folder), Now: now, Log: slog.New(slog.DiscardHandler)}
	if _, err := sealer.Tick(t.Context()); err != nil {
		t.Fatal(err)
	}
	until := func(what string, p *process, holds func(st *archive.Status) bool) archive.Status {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
			st, err := archive.ReadStatus(t.Context(), db)
			if err == nil && holds(&st) {
				return st
			}
			if time.Now().After(deadline) {
				t.Fatalf("not within a minute: %s; %+v, error %v\n%s", what, st, err, p.out)
			}
		}
	}
	other := startProcess(t, []string{"DATABASE_URL=" + address, "ARCHIVE_URL=file://" + t.TempDir()}, "serve")
	before := until("the node without the files fails", other, func(st *archive.Status) bool { return st.Failures > 0 })
	if before.LastSealed == "" {
		t.Fatal("no day is sealed")
	}
	has := startProcess(t, []string{"DATABASE_URL=" + address, "ARCHIVE_URL=file://" + folder}, "serve")
	until("the node with the files seals the next days", has, func(st *archive.Status) bool { return st.LastSealed > before.LastSealed })
}
