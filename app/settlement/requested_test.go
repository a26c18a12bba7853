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

// listing is a market source that lists the markets of top, and knows those of known by id. It keeps the ids that it is
// asked for.
type listing struct {
	top, known []market.Market
	asked      []string
}

func (e *listing) Top(context.Context, int) (source.Markets, error) {
	return source.Markets{Markets: e.top}, nil
}

func (e *listing) ByID(_ context.Context, ids []string) (source.Markets, error) {
	e.asked = append(e.asked, ids...)
	return source.Markets{Markets: slices.DeleteFunc(slices.Clone(e.known), func(m market.Market) bool { return !slices.Contains(ids, m.ID) })}, nil
}

func (e *listing) Events(context.Context, []string) ([]market.Event, error) { return nil, nil }

func (e *listing) Winner(context.Context, *market.Market) (int, bool, error) { return 0, false, nil }

// ingest reads a source once, as the service does.
func (w *world) ingest(s *Service, up *listing) error {
	w.t.Helper()
	now, log := func() time.Time { return w.clock }, slog.New(slog.DiscardHandler)
	feed := signal.NewFeed(signal.Codec[market.Market]{Name: "markets",
		Encode: func(dst []byte, m *market.Market) []byte { return append(dst, '0') },
		Text:   func(*market.Market) string { return "" }}, now)
	m := &ingest.Markets{Source: up, DB: w.db, Interval: time.Minute, Now: now, Log: log, Watch: s.Unsettled, Ended: s.Ended,
		Replicator: signal.NewReplicator(feed, w.db, cachetest.Open(w.t, cache.Memory), log),
		After:      []func(context.Context, []market.Market) error{s.AfterMarkets}}
	_, err := m.Tick(w.t.Context())
	return err
}

// requested returns the ids, sorted, that a tick requests if no market is among the top ones. It stores no reading.
func (w *world) requested(s *Service) []string {
	w.t.Helper()
	var up listing
	if err := w.ingest(s, &up); source.Reason(err) != "empty" {
		w.t.Errorf("the tick ended with %v, want no open market", err)
	}
	slices.Sort(up.asked)
	return up.asked
}

// TestStaleListing checks that a listing alone reopens no market: neither one that its source closed, nor one that an
// admin decided. It reopens if a reading by id says so too.
func TestStaleListing(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		s := w.service(0)
		other, closed, ruled := w.market("other", "", "x", start), w.market("closed", "", "x", start), w.market("ruled", "", "x", start)
		other.Prices, ruled.Prices = []float64{.5, .5}, []float64{.5, .5}
		id := w.trade(s, closed, w.agent(1), .6, .7)
		w.tick(s, ruled)
		w.clock = w.clock.Add(25 * time.Hour)
		w.exec("UPDATE markets SET missed_at = observed_at WHERE id = 'ruled'")
		_, err := s.Rule(t.Context(), KindMarketCorrected, "ruled", Ruling{Outcome: "Yes", Note: "seen elsewhere", Actor: "ada"})
		w.must(err)
		closeWith(closed, w.clock, 1, 0)
		w.tick(s, closed)
		closedNow := *closed
		reopen(closed, .6, .4)
		ruled.ObservedAt, closed.ObservedAt, closedNow.ObservedAt = time.Time{}, time.Time{}, time.Time{} // that of the reading
		up := &listing{top: []market.Market{*other, *closed, *ruled}, known: []market.Market{closedNow}}
		state := func(when string, want string) {
			t.Helper()
			w.clock = w.clock.Add(time.Minute)
			w.must(w.ingest(s, up))
			outcomes, err := OutcomesOf(t.Context(), db, []string{"closed", "ruled"})
			w.must(err)
			m, _, err := market.Store{}.ByID(t.Context(), db, "closed")
			w.must(err)
			got := fmt.Sprint(len(outcomes), " decided, closed ", m.Closed, ", ", w.prediction(id).Status)
			if got != want {
				t.Errorf("%s: %s, want %s", when, got, want)
			}
		}
		state("the source by id: closed, and unknown", "2 decided, closed true, resolved")
		up.known = []market.Market{*closed, *ruled}
		state("the source by id: open", "0 decided, closed false, open")
	})
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
