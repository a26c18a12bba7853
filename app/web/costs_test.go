package web_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
)

// TestPageCosts checks that a page takes as many units as its most expensive subject costs.
func TestPageCosts(t *testing.T) {
	t.Parallel()
	h := openWith(t, dbtest.Open(t, database.SQLite), func(c *config.Config) { c.RateLimitReads = config.Rate{N: 1000, Per: time.Hour} })
	left := 1000
	for _, page := range []struct {
		path string
		cost int
	}{
		{"/leaderboard", 1}, {"/leaderboard?window=30d", 10}, {"/compare", 1}, {"/compare?a=ada", 20}, {"/markets/1", 20},
		{"/events/none", 20}, {"/agents/ada", 30}, {"/agents/ada?events=all", 30}, {"/markets?q=rain", 20}, {"/agents/ada", 1},
	} {
		left -= page.cost
		if got := h.get(page.path).header.Get("RateLimit"); !strings.HasPrefix(got, fmt.Sprintf(`"reads";r=%d;`, left)) {
			t.Fatalf("%s: %s left, want %d, a cost of %d", page.path, got, left, page.cost)
		}
	}
}
