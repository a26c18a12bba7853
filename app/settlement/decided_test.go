package settlement

import (
	"context"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/problem"
)

// TestPublishingOnDecidedMarket checks that nothing can be published on a vanished market once an admin has decided it,
// until its source reports it as open again.
func TestPublishingOnDecidedMarket(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		s := w.service(0)
		m := w.market("1", "", "x", start.AddDate(0, 1, 0))
		w.trade(s, m, w.agent(1), .6, .7)
		p := prediction.NewPublisher(db, func() time.Time { return w.clock }, time.Hour, "https://pulse.example")
		p.DecidedWhileOpen = s.DecidedWhileOpen
		defer func() { w.must(p.Stop(context.Background())) }()
		w.clock = w.clock.Add(25 * time.Hour)
		w.must(publishOn(p, w.agent(2), m))
		_, err := s.Rule(t.Context(), KindMarketCorrected, "1", Ruling{Outcome: "Yes", Note: "seen elsewhere", Actor: "ada"})
		w.must(err)
		err = publishOn(p, w.agent(2), m)
		refused(t, err, 409, "Nothing was stored", "Choose another market")
		if code := problem.As(err).Code; code != "market_closed" {
			t.Errorf("the code is %s", code)
		}
		decided, err := s.DecidedWhileOpen(t.Context(), db, []market.Market{*m, {ID: "2"}})
		if err != nil || len(decided) != 1 || !decided["1"] {
			t.Errorf("decided markets %v, error %v", decided, err)
		}
		w.clock = w.clock.Add(time.Minute)
		w.tick(s, m) // it is back and open
		w.must(publishOn(p, w.agent(2), m))
	})
}
