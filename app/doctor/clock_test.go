package doctor

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
)

// TestDatabaseClock checks that a clock more than 5 s from the database's fails.
func TestDatabaseClock(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.Postgres)
	for ahead, want := range map[time.Duration]string{
		0:                "",
		3 * time.Second:  "",
		10 * time.Second: "fail  clock          10s off the database's clock: a node here runs no jobs",
		-time.Hour:       "fail  clock          1h0m0s off the database's clock",
	} {
		var out bytes.Buffer
		d := &doctor{out: &out}
		d.databaseClock(t.Context(), db, func() time.Time { return time.Now().Add(ahead) })
		if !strings.HasPrefix(out.String(), want) || (want == "") != (d.failed == 0) {
			t.Errorf("%s ahead: %q", ahead, out.String())
		}
	}
}
