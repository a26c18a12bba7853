package api_test

import (
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app"
	"github.com/pulsecast/pulsecast/app/database"
)

// clockWarning is what health says about a clock that is off.
var clockWarning = regexp.MustCompile(`^the clock of this node is (\S+) off the database's, so it runs no jobs: run an NTP client$`)

// TestHealthNamesTheClock checks that health warns while this node's clock is more than 5 s off the database's, in
// either direction, and stops once it is right. The status stays as it was, because the node still serves. SQLite has
// no clock to compare with.
func TestHealthNamesTheClock(t *testing.T) {
	t.Parallel()
	for _, on := range backends {
		t.Run(on.name, func(t *testing.T) {
			t.Parallel()
			var ahead atomic.Int64
			ahead.Store(int64(time.Hour)) // from the first answer on, which later ones can repeat for a second
			s := run(t, configure(t, on), app.Options{}, func(a *app.App) {
				a.DB.Breaker.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
			})
			off := func() (clock string) {
				h := s.do(t, call{path: "/api/health"}).fine()
				if h.at("database", "ok") != true {
					t.Errorf("the clock changes the state of the database: %s", h.raw)
				}
				for _, w := range h.at("warnings").([]any) {
					if found := clockWarning.FindStringSubmatch(w.(string)); found != nil {
						return found[1]
					}
					if strings.Contains(w.(string), "clock") {
						t.Errorf("another warning about the clock: %s", w)
					}
				}
				return ""
			}
			if on.kind == database.SQLite {
				if got := off(); got != "" {
					t.Errorf("the clock is %s off", got)
				}
				return
			}
			for _, step := range []struct{ ahead, off time.Duration }{
				{time.Hour, time.Hour}, {3 * time.Second, 0}, {-time.Minute, time.Minute}, {0, 0},
			} {
				ahead.Store(int64(step.ahead))
				got := ""
				for deadline := time.Now().Add(outageWait); ; time.Sleep(20 * time.Millisecond) {
					got = off()
					named, _ := time.ParseDuration(got)
					if (got == "") == (step.off == 0) && (named-step.off).Abs() <= 4*time.Second {
						break
					}
					if time.Now().After(deadline) {
						t.Fatalf("%s ahead: health says %q, want %s", step.ahead, got, step.off)
					}
				}
			}
		})
	}
}
