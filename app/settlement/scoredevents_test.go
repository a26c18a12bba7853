package settlement

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
)

// TestCountEvents checks that an event counts from the first scored prediction on it until the last
// one is taken back, and that a rebuild agrees.
func TestCountEvents(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		s := w.service(1) // one transaction for each agent
		a, b := w.agent(1), w.agent(2)
		count := func(when string, want int64) {
			t.Helper()
			if n, err := CountEvents(t.Context(), db.Reader); n != want || err != nil {
				t.Errorf("%s: %d events, %v; want %d", when, n, err, want)
			}
			w.rebuilt()
		}
		first, sibling, other := w.market("1", "e", "x", start), w.market("2", "e", "x", start), w.market("3", "", "x", start)
		first.Prices, sibling.Prices, other.Prices = []float64{.5, .5}, []float64{.5, .5}, []float64{.5, .5}
		w.tick(s, first, sibling, other)
		w.clock = w.clock.Add(time.Second)
		onFirst := []uuid.UUID{w.publish(a, first, 0, .7), w.publish(b, first, 0, .6)}
		w.publish(b, sibling, 0, .6)
		w.clock = w.clock.Add(2 * time.Minute)
		w.tick(s, first, sibling, other)
		count("nothing is settled", 0)
		settle := func(id string, open bool) {
			m := w.markets[id]
			w.clock = w.clock.Add(time.Minute)
			if open {
				reopen(m, .5, .5)
			} else {
				closeWith(m, w.clock, 1, 0)
			}
			w.tick(s, m)
		}
		settle("1", false)
		count("two agents have a score on the event", 1)
		settle("3", false)
		count("no prediction was on this one", 1)
		settle("2", false)
		count("the sibling is of the same event", 1)
		settle("1", true)
		count("one agent is left", 1)
		settle("2", true)
		count("none is left", 0)
		settle("1", false)
		count("settled again", 1)

		w.exec("UPDATE scored_events SET agents = agents + 5")
		w.exec("UPDATE scored_event_count SET events = events + 5")
		w.exec("INSERT INTO scored_events (event_key, agents) VALUES ('e:wrong', 3)")
		report, err := s.Rebuild(t.Context(), true)
		if err != nil || len(report.Differences) != 3 {
			t.Errorf("a rebuild finds %v, %v; want the event, the wrong one, and their count", report.Differences, err)
		}
		for _, d := range report.Differences {
			if d.What != ComparedEvents || !strings.HasPrefix(d.String(), "event of "+d.Key+": have ") {
				t.Errorf("the difference reads %q, but it concerns no single agent", d)
			}
		}
		count("rebuilt", 1)

		for i, id := range onFirst {
			_, err := s.Rule(t.Context(), KindPredictionVoided, id.String(), Ruling{Note: "spam", Actor: "ada"})
			w.must(err)
			count(fmt.Sprint(i+1, " of two predictions are void"), int64(1-i))
		}
	})
}

// TestCountEventsRows checks that counting the events reads one row.
func TestCountEventsRows(t *testing.T) {
	t.Parallel()
	for _, kind := range dbtest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			db := dbtest.OpenPlain(t, kind)
			var rows []scoredEvent
			for _, size := range []int{2_000, 20_000} {
				before := len(rows)
				for i := before; i < size; i++ {
					rows = append(rows, scoredEvent{EventKey: fmt.Sprint("e:", i), Agents: 1})
				}
				for part := range slices.Chunk(rows[before:], 500) {
					err := db.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) error {
						events, err := addScored(ctx, tx, part)
						return errors.Join(err, addEvents(ctx, tx, events))
					})
					if err != nil {
						t.Fatal(err)
					}
				}
				for _, e := range dbtest.Explain(t, db, func(db *database.DB) {
					if n, err := CountEvents(t.Context(), db.Reader); n != int64(size) || err != nil {
						t.Errorf("%d events, %v; want %d", n, err, size)
					}
				}) {
					if n := e.Tables["scored_event_count"]; n > 1 || !strings.Contains(e.Query, "FROM scored_event_count") {
						t.Errorf("%d rows of %d events: %s", n, size, e.Query)
					}
				}
			}
		})
	}
}
