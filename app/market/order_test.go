package market_test

import (
	"testing"

	"github.com/pulsecast/pulsecast/app/market"
)

func TestOpenByVolume(t *testing.T) {
	t.Parallel()
	got := ""
	for _, m := range market.OpenByVolume([]market.Market{
		{ID: "z", Active: true}, {ID: "b", Active: true, Volume: ptr(1.0)}, {ID: "a", Active: true},
		{ID: "c", Active: true, Volume: ptr(2.0)}, {ID: "d", Active: true, Volume: ptr(1.0)},
		{ID: "closed", Closed: true, Volume: ptr(9.0)}, {ID: "inactive", Volume: ptr(9.0)},
	}) {
		got += m.ID
	}
	if got != "cbdaz" {
		t.Errorf("got order %s", got)
	}
}
