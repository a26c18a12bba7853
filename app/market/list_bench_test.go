package market_test

import (
	"fmt"
	"testing"

	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/market"
)

// BenchmarkSearch searches markets, and events with their markets, where few or no market matches.
func BenchmarkSearch(b *testing.B) {
	for _, kind := range dbtest.Kinds {
		db := dbtest.Open(b, kind)
		grown(b, db, 1, 6000)
		for _, closed := range []bool{false, true} {
			for _, words := range []string{"59", "happen rome"} {
				name := fmt.Sprintf("%s/closed=%t/%s", kind, closed, words)
				b.Run("markets/"+name, func(b *testing.B) {
					for b.Loop() {
						if _, _, err := (market.Store{}).List(b.Context(), db.Reader, market.Filter{Q: words, Closed: closed, Sort: market.ByVolume, Limit: 20}); err != nil {
							b.Fatal(err)
						}
					}
				})
				b.Run("events/"+name, func(b *testing.B) {
					list := newGroups()
					for b.Loop() {
						if _, _, err := list.List(b.Context(), db.Reader, market.GroupFilter{Q: words, Closed: closed, Limit: 6}); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}
