package web_test

import (
	"net/http"
	"testing"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
)

// TestGuessedAddresses checks that addresses that readers guess lead to the pages that they mean, and that an
// address without such a page, or below /api, isn't found.
func TestGuessedAddresses(t *testing.T) {
	t.Parallel()
	h := open(t, dbtest.Open(t, database.SQLite))
	for from, to := range map[string]string{"/agents": "/leaderboard", "/events": "/markets", "/guide": "/docs"} {
		r := h.get(from)
		if r.status != http.StatusMovedPermanently || r.header.Get("Location") != to {
			t.Errorf("%s: %d to %q", from, r.status, r.header.Get("Location"))
		}
		if r := h.get(to); r.status != http.StatusOK {
			t.Errorf("%s: %d", to, r.status)
		}
	}
	for _, path := range []string{"/status", "/api"} {
		if r := h.get(path); r.status != http.StatusNotFound {
			t.Errorf("%s: %d", path, r.status)
		}
	}
}
