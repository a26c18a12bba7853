package agent_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
)

// TestNewestKey checks that a summary names the newest key that still works.
func TestNewestKey(t *testing.T) {
	t.Parallel()
	later := at.Add(time.Hour)
	for name, c := range map[string]struct {
		expires, revoked time.Time // of the newer key
		want             time.Time
	}{
		"both work":             {want: later},
		"the newer one revoked": {revoked: later, want: at},
		"the newer one expired": {expires: later.Add(time.Minute), want: at},
		"the newer one expires": {expires: later.Add(time.Hour), want: later},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dbtest.Each(t, func(t *testing.T, db *database.DB) {
				a := create(t, db, "Ada")
				_, older := agent.NewKey(a.ID, "", at)
				_, newer := agent.NewKey(a.ID, "", later)
				newer.ExpiresAt, newer.RevokedAt = c.expires, c.revoked
				inTx(t, db, func(ctx context.Context, tx bun.Tx) error {
					if err := store.AddKey(ctx, tx, older); err != nil {
						return err
					}
					return store.AddKey(ctx, tx, newer)
				})
				got, err := agent.Summaries(t.Context(), db.Reader, []uuid.UUID{a.ID}, later.Add(30*time.Minute))
				if err != nil || len(got) != 1 || !got[0].KeyCreatedAt.Equal(c.want) {
					t.Errorf("got %+v, %v; want the key of %v", got, err, c.want)
				}
			})
		})
	}
}
