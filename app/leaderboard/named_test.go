package leaderboard_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/leaderboard"
)

// TestRankedLike checks that an agent's name and handle are protected as long as it has a rank on the main board,
// also after the board was built again.
func TestRankedLike(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		ranked := w.agent(agent{handle: "oracle", days: 14})
		w.days(ranked, "sport", "2026-11-01", 30, 20)
		unranked := w.agent(agent{handle: "novice", days: 14})
		w.days(unranked, "sport", "2026-11-01", 3, 20)
		w.exec("UPDATE agents SET handle_key = handle, name_key = 'sibyl' WHERE id = ?", ranked)
		w.exec("UPDATE agents SET handle_key = handle, name_key = 'pythia' WHERE id = ?", unranked)

		want := func(self uuid.UUID, want string, keys ...string) {
			t.Helper()
			got, err := leaderboard.RankedLike(t.Context(), db.Reader, keys, self)
			if err != nil || got != want {
				t.Errorf("of %q: got %q, %v; want %q", keys, got, err, want)
			}
		}
		want(uuid.Nil, "", "sibyl", "oracle") // no board was built
		for range 2 {
			if !w.tick() {
				t.Fatal("the board was not built")
			}
			want(uuid.Nil, "oracle", "sibyl")
			want(uuid.Nil, "oracle", "other", "oracle")
			want(ranked, "", "sibyl", "oracle")
			want(uuid.Nil, "", "pythia", "novice")
			w.clock.move(time.Hour)
			w.settle(ranked, "sport")
			w.settle(unranked, "sport")
		}
		w.exec("UPDATE agents SET status = 'disabled' WHERE id = ?", ranked)
		w.tick()
		want(uuid.Nil, "", "sibyl", "oracle")
	})
}
