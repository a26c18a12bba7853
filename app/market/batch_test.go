package market_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/market"
)

// TestBatches checks that a reading stored in batches gives the same events and markets as one stored at once, and
// that no batch has more markets than asked.
func TestBatches(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		reading := func(prefix string) (markets []market.Market, events []market.Event) {
			for i := range 5 {
				markets = append(markets, sibling(prefix+"derived", fmt.Sprint(prefix, "d", i), 0.5, 10), sibling(prefix+"given", fmt.Sprint(prefix, "g", i), 0.5, 1))
			}
			markets = append(markets, yesNo(prefix+"alone", 1, noon))
			return markets, []market.Event{
				{ID: prefix + "given", Title: "Given", Volume: ptr(7.0), UpdatedAt: noon}, {ID: prefix + "empty", Title: "Empty", UpdatedAt: noon},
			}
		}
		markets, events := reading("x-")
		observeEvents(t, db, markets, events...)
		markets, events = reading("y-")
		given := 0
		for _, b := range market.Batches(markets, events, 2) {
			if len(b.Markets) > 2 {
				t.Errorf("a batch has %d markets, want at most 2", len(b.Markets))
			}
			given += len(b.Events())
			if err := store.ObserveBatch(t.Context(), db, b, noon); err != nil {
				t.Fatal(err)
			}
		}
		if given != 2 {
			t.Errorf("the batches have %d events of the source, want 2", given)
		}
		stored := func(prefix string) string {
			type row struct{ ID, Title, Volume, Found string }
			var rows []row
			err := db.Reader.NewRaw(`SELECT substr(id, 3) AS id, title, COALESCE(CAST(volume AS TEXT), '') AS volume, '' AS found
				FROM market_events WHERE id LIKE ? UNION ALL
				SELECT substr(id, 3), substr(COALESCE(event_id, ''), 3), CAST(volume AS TEXT), COALESCE(event_search_text, '')
				FROM markets WHERE id LIKE ? ORDER BY 1`, prefix+"%", prefix+"%").Scan(t.Context(), &rows)
			if err != nil || len(rows) != 14 {
				t.Errorf("%d rows, %v", len(rows), err)
			}
			return fmt.Sprintf("%+v", rows)
		}
		atOnce, inBatches := stored("x-"), stored("y-")
		if want := strings.NewReplacer("Event x-", "Event y-", "event x ", "event y ").Replace(atOnce); inBatches != want {
			t.Errorf("in batches\n%s\nat once\n%s", inBatches, atOnce)
		}
	})
}

// TestObserveBatchKeepsTheReading checks that storing a batch doesn't change it, because the archive records the batch
// too: what the source left out isn't filled in, and no market or event is dropped.
func TestObserveBatchKeepsTheReading(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		live, sample := yesNo("live", 1, noon), yesNo("sample", 1, noon)
		live.Description, live.Tags, sample.Sample = "as stored", []string{"stored"}, true
		observeEvents(t, db, []market.Market{live, sample})
		ignored, again, other := live, live, yesNo("other", 1, noon.Add(time.Minute))
		again.Description, again.Tags, again.ObservedAt = "", nil, noon.Add(time.Minute)
		ignored.ID, ignored.Sample, other.EventID = "live", true, "event"
		events := []market.Event{{ID: "event", Title: "Event", UpdatedAt: noon}}
		for _, reading := range [][]market.Market{{again, other}, {ignored, other}} {
			for _, b := range market.Batches(reading, events, 10) {
				markets, given := slices.Clone(b.Markets), b.Events()
				if err := store.ObserveBatch(t.Context(), db, b, noon); err != nil {
					t.Fatal(err)
				}
				if !reflect.DeepEqual(b.Markets, markets) || !reflect.DeepEqual(b.Events(), given) || len(given) != 1 {
					t.Errorf("storing the batch changed it to\n%+v\n%+v\nfrom\n%+v\n%+v", b.Markets, b.Events(), markets, given)
				}
			}
		}
	})
}
