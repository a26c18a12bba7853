package doctor

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
)

// TestReplicaWithoutTheClock checks that a failed query of the clock is reported and doesn't keep the
// replica from being checked.
func TestReplicaWithoutTheClock(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.Postgres)
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // so that every query fails
	var out bytes.Buffer
	d := &doctor{out: &out, cfg: config.Config{DatabaseReplicaURL: "postgres://127.0.0.1:1/absent"}}
	d.postgres(ctx, db, time.Now)
	for _, want := range []string{"warn  clock ", "warn  replica "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("got %q, want a line with %q", out.String(), want)
		}
	}
}

// TestDatabaseClock checks that a clock more than 5 s from the database's fails.
func TestDatabaseClock(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.Postgres)
	for ahead, want := range map[time.Duration]string{
		0:                "",
		3 * time.Second:  "",
		10 * time.Second: "fail  clock          this clock is 10s off the database's: a node here runs no jobs",
		-time.Hour:       "fail  clock          this clock is 1h0m0s off the database's",
	} {
		var out bytes.Buffer
		d := &doctor{out: &out}
		d.postgres(t.Context(), db, func() time.Time { return time.Now().Add(ahead) })
		if !strings.HasPrefix(out.String(), want) || (want == "") != (d.failed == 0) {
			t.Errorf("%s ahead: %q", ahead, out.String())
		}
	}
}

// TestOtherClocks checks that the warning says whether this clock is ahead of the other clocks or behind them.
func TestOtherClocks(t *testing.T) {
	t.Parallel()
	for ahead, want := range map[time.Duration]string{
		5 * time.Minute:  "warn  clock          5m0s ahead of the other clocks: run an NTP client",
		-5 * time.Minute: "warn  clock          5m0s behind the other clocks: run an NTP client",
	} {
		var out bytes.Buffer
		d := &doctor{out: &out}
		d.clock.add(ahead)
		d.time()
		if !strings.HasPrefix(out.String(), want) {
			t.Errorf("%s ahead: %q", ahead, out.String())
		}
	}
}
