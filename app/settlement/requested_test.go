package settlement

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/cache"
	"github.com/pulsecast/pulsecast/app/cache/cachetest"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/ingest"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/signal"
	"github.com/pulsecast/pulsecast/app/source"
)

// empty is a market source without markets. It keeps the ids that it is asked for.
type empty struct{ asked []string }

func (e *empty) Top(context.Context, int) (source.Markets, error) { return source.Markets{}, nil }

func (e *empty) ByID(_ context.Context, ids []string) (source.Markets, error) {
	e.asked = append(e.asked, ids...)
	return source.Markets{}, nil
}

func (e *empty) Events(context.Context, []string) ([]market.Event, error) { return nil, nil }

func (e *empty) Winner(context.Context, *market.Market) (int, bool, error) { return 0, false, nil }

// requested returns the ids, sorted, that a tick requests if no market is among the top ones. It stores no reading.
func (w *world) requested(s *Service) []string {
	w.t.Helper()
	var up empty
	now, log := func() time.Time { return w.clock }, slog.New(slog.DiscardHandler)
	feed := signal.NewFeed(signal.Codec[market.Market]{Name: "markets",
		Encode: func(dst []byte, m *market.Market) []byte { return dst },
		Text:   func(*market.Market) string { return "" }}, now)
	m := &ingest.Markets{Source: &up, DB: w.db, Interval: time.Minute, Now: now, Log: log, Watch: s.Unsettled,
		Replicator: signal.NewReplicator(feed, w.db, cachetest.Open(w.t, cache.Memory), log)}
	if _, err := m.Tick(w.t.Context()); source.Reason(err) != "empty" {
		w.t.Errorf("the tick ended with %v, want no open market", err)
	}
	slices.Sort(up.asked)
	return up.asked
}

// TestVanishedMarketsLeaveRoom checks that vanished markets, undecided or ruled on, don't keep the others from being
// read for a late outcome.
func TestVanishedMarketsLeaveRoom(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		s := w.service(0)
		for n := range 3 {
			w.trade(s, w.market(fmt.Sprint("stuck", n), "", "x", start), w.agent(1), .6, .7)
			m := w.market(fmt.Sprint("ruled", n), "", "x", start)
			m.Prices = []float64{.5, .5}
			w.tick(s, m)
		}
		w.exec("UPDATE markets SET active = FALSE")
		w.clock = w.clock.Add(25 * time.Hour)
		for n := range 3 {
			_, err := s.Rule(t.Context(), KindMarketVoided, fmt.Sprint("ruled", n), Ruling{Note: "gone upstream", Actor: "ada"})
			w.must(err)
		}
		settled, open := w.market("settled", "", "x", start), w.market("open", "", "x", start)
		w.trade(s, settled, w.agent(1), .6, .7)
		open.Prices = []float64{.5, .5}
		closeWith(settled, w.clock, 1, 0)
		w.tick(s, settled, open)
		for limit, want := range map[int][]string{2: {"open", "settled"}, 10: {"open", "settled", "ruled0", "ruled1", "ruled2"}} {
			if ids, err := s.Unsettled(t.Context(), limit); err != nil || !slices.Equal(ids, want) {
				t.Errorf("at most %d unsettled markets: %v, error %v; want %v", limit, ids, err, want)
			}
		}
		want := []string{"open", "ruled0", "ruled1", "ruled2", "settled", "stuck0", "stuck1", "stuck2"}
		if ids := w.requested(s); !slices.Equal(ids, want) {
			t.Errorf("a tick requests %v, want %v", ids, want)
		}
	})
}
