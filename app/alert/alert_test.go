package alert_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/alert"
	"github.com/pulsecast/pulsecast/app/backup"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/monitor"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/settlement"
	"github.com/pulsecast/pulsecast/app/signal"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

type message struct {
	Text, Alert, State string
	Since              time.Time
}

// world is a service with a problem, and the chat room that receives its alerts.
type world struct {
	t       *testing.T
	db      *database.DB
	now     time.Time
	stale   bool
	disk    monitor.Disk
	remote  bool          // the database is on another machine, so its disk can't be read
	noFiles bool          // there is no archive
	backups time.Duration // time between two scheduled backups; 0 for no schedule
	answers []int         // statuses of the webhook's next answers; then 204
	posts   int
	heard   []message // messages that were answered 2xx
	url     string
	watcher *alert.Watcher
}

const giga = 1 << 30

func newWorld(t *testing.T, db *database.DB) *world {
	p := &world{t: t, db: db, now: noon, disk: monitor.Disk{Free: 500 * giga, Size: 1000 * giga}}
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	p.url = server.URL + "/hook/s3cret"
	p.restart()
	return p
}

// restart drops the state that is only in memory.
func (p *world) restart() {
	disk := func() (monitor.Disk, error) { return p.disk, nil }
	if p.remote {
		disk = nil
	}
	p.watcher = alert.New(alert.Options{
		DB: p.db, Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return p.now },
		Webhook: p.url, BaseURL: "https://pulse.example", Pause: time.Millisecond,
		Monitor: monitor.New(monitor.Options{
			DB: p.db, Now: func() time.Time { return p.now }, Archived: !p.noFiles, Feeds: []monitor.Snapshots{p}, BackupEvery: p.backups,
			Disk: disk,
		}),
	})
}

// Status returns the status of the markets feed.
func (p *world) Status() signal.Status {
	return signal.Status{Name: "markets", AsOf: noon.Add(-10 * time.Minute), Records: 9, Stale: p.stale}
}

func (p *world) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.posts++
	status := 204
	if len(p.answers) > 0 {
		status, p.answers = p.answers[0], p.answers[1:]
	}
	var m message
	if err := json.NewDecoder(r.Body).Decode(&m); err != nil || r.Method != "POST" || r.Header.Get("Content-Type") != "application/json" {
		p.t.Errorf("%s %s: %v", r.Method, r.Header.Get("Content-Type"), err)
	}
	if status < 300 {
		p.heard = append(p.heard, m)
	}
	w.WriteHeader(status)
}

// tick moves the clock on by half a minute. The messages since then must be want, as "alert state".
func (p *world) tick(want ...string) {
	p.t.Helper()
	p.now = p.now.Add(alert.Interval)
	p.heard = nil
	if err := p.watcher.Tick(p.t.Context()); err != nil {
		p.t.Fatal(err)
	}
	var got []string
	for _, m := range p.heard {
		got = append(got, m.Alert+" "+m.State)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		p.t.Errorf("got messages %v, want %v", got, want)
	}
}

func (p *world) exec(query string, args ...any) {
	p.t.Helper()
	if _, err := p.db.ExecContext(p.t.Context(), query, args...); err != nil {
		p.t.Fatal(err)
	}
}

func TestOneMessageWhenItBeginsAndOneWhenItIsOver(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		p := newWorld(t, db)
		p.exec("INSERT INTO feed_states (feed, source, count, dropped, failures, last_error) VALUES ('markets', 'x', 1, '{}', 1, 'http_503')")
		p.tick()
		p.stale = true
		p.tick() // a feed is stale for a moment after a restart, so the condition must last
		p.tick("source_markets firing")
		m := p.heard[0]
		want := "Pulsecast at https://pulse.example: the source of markets is stale: last read 11 min ago (http_503). The last good snapshot stays up. Run pulsecast doctor to see why."
		if m.Text != want || !m.Since.Equal(p.now) {
			t.Errorf("%s\n%s, since %s", m.Text, want, m.Since)
		}
		began := p.now
		p.tick()
		p.restart()
		p.tick()
		p.stale = false
		p.tick("source_markets resolved")
		m = p.heard[0]
		want = "Pulsecast at https://pulse.example: resolved after 1 min. The alert was: the source of markets is stale: last read 11 min ago (http_503)."
		if m.Text != want || !m.Since.Equal(began) {
			t.Errorf("%s\n%s, since %s", m.Text, want, m.Since)
		}
		p.tick()
		p.restart()
		p.tick()
	})
}

// TestReadingsInPart checks that readings of which a part always fails are reported, although the feed isn't stale.
func TestReadingsInPart(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		p := newWorld(t, db)
		p.exec("INSERT INTO feed_states (feed, source, count, dropped, failures, last_error, succeeded_at, failed_at) VALUES ('markets', 'x', 1, '{}', 9, 'http_500', ?, ?)", noon, noon)
		p.tick()
		p.tick()
		p.exec("UPDATE feed_states SET failures = 10")
		p.tick()
		p.tick("source_markets firing")
		want := "Pulsecast at https://pulse.example: a part of markets can't be read: 10 readings in a row failed (http_500). The last good snapshot stays up. Run pulsecast doctor to see why."
		if got := p.heard[0].Text; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		p.exec("UPDATE feed_states SET failures = 0") // the source of before still fails, which isn't a failure of a part
		p.tick("source_markets resolved")
	})
}

func TestWebhookInTrouble(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		p := newWorld(t, db)
		full, room := monitor.Disk{Free: giga / 2, Size: 100 * giga}, monitor.Disk{Free: 50 * giga, Size: 100 * giga}
		p.disk = full
		p.answers = []int{500, 429} // the third attempt of one tick succeeds
		p.tick("disk firing")
		p.disk = room
		for _, status := range []int{404, 302} { // not repeated at once, because that would not help
			p.answers, p.posts, p.now = []int{status}, 0, p.now.Add(alert.Interval)
			err := p.watcher.Tick(t.Context())
			if err == nil || p.posts != 1 || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("%d: %d posts, %v", status, p.posts, err)
			}
		}
		p.disk = full // the condition holds again before the end was delivered: no message
		p.tick()
		p.disk = room
		p.tick("disk resolved")

		p.disk, p.answers = full, []int{500, 500, 500}
		if err := p.watcher.Tick(t.Context()); err == nil {
			t.Error("no error")
		}
		p.disk = room // over before the start was delivered
		p.tick()
		p.tick()

		p.url = "http://127.0.0.1:9/hook/s3cret"
		p.restart()
		p.disk = full
		if err := p.watcher.Tick(t.Context()); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%v", err)
		}
	})
}

func TestBursts(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		p := newWorld(t, db)
		counter := alert.NewErrorCounter(db, slog.New(slog.DiscardHandler), func() time.Time { return p.now })
		fail := func(n int) {
			for range n {
				counter.Count(500)
				counter.Count(404)
			}
			if err := counter.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		signUp := func(n int, sample bool) {
			for range n {
				id := database.NewID(p.now)
				p.exec("INSERT INTO agents (id, handle, name, kind, status, sample, created_at) VALUES (?, ?, 'x', 'agent', 'active', ?, ?)", id, id.String(), sample, p.now)
			}
		}
		fail(19)
		signUp(29, false)
		signUp(40, true)
		p.tick()
		fail(1)
		signUp(1, false)
		p.tick("errors firing", "sign_ups firing")
		p.now = p.now.Add(5 * time.Minute)
		fail(10) // fewer than before, but too many to end the alert
		p.tick()
		p.now = p.now.Add(7 * time.Minute)
		p.tick("errors resolved", "sign_ups resolved")
		if !strings.Contains(p.heard[0].Text, "20 requests failed") || !strings.Contains(p.heard[1].Text, "30 agents signed up within 10 min") {
			t.Errorf("%v", p.heard)
		}
		p.now = p.now.AddDate(0, 0, 2)
		fail(1)
		if _, err := alert.Prune(t.Context(), db, p.now); err != nil {
			t.Fatal(err)
		}
		var rows int
		if err := db.Reader.NewRaw("SELECT COUNT(*) FROM server_errors").Scan(t.Context(), &rows); err != nil || rows != 1 {
			t.Errorf("%d minutes kept, %v", rows, err)
		}
	})
}

// TestPatienceStartsAgain checks that a node that takes over from another one doesn't count the ticks in which a
// condition held before. It may have been over in the meantime.
func TestPatienceStartsAgain(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		p := newWorld(t, db)
		p.stale = true
		p.tick()
		p.now = p.now.Add(3 * alert.Interval) // another node ticks
		p.tick()
		p.tick("source_markets firing")
	})
}

func TestQueuesThatAge(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		p := newWorld(t, db)
		publish := func(horizon time.Time, baseline prediction.BaselineState) {
			err := prediction.Add(t.Context(), db, &prediction.Prediction{ID: database.NewID(p.now), AgentID: settlement.MarketAgent, HorizonAt: horizon,
				BaselineState: baseline, Status: prediction.Open, CreatedAt: p.now})
			if err != nil {
				t.Fatal(err)
			}
		}
		publish(noon.Add(time.Minute), prediction.Unlinked)
		publish(noon.AddDate(0, 1, 0), prediction.Pending)
		p.tick()
		p.now = noon.Add(settlement.BaselineWithin + time.Minute) // a baseline may take so long
		p.tick()
		p.now = noon.Add(21 * time.Minute)
		p.tick("baseline_queue firing")
		p.now = noon.Add(74 * time.Hour)
		p.tick("settlement_queue firing")
		if text := p.heard[0].Text; !strings.Contains(text, "0 ended markets (oldest: none) and ") {
			t.Error(text)
		}
		p.exec("UPDATE results SET status = 'void', baseline_state = 'missed'")
		p.tick("baseline_queue resolved", "settlement_queue resolved")
	})
}

// TestBackupsThatFail checks that the alert begins with the first failure, or when a backup is
// overdue, and ends with the next backup.
func TestBackupsThatFail(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		p := newWorld(t, db)
		p.backups = 24 * time.Hour
		p.restart()
		state := func(s backup.State) {
			t.Helper()
			text, err := json.Marshal(s)
			if err == nil {
				err = database.SetSetting(t.Context(), db, "backup", string(text))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		p.tick()
		made := backup.State{Since: noon, At: noon, Name: "pulsecast-x.db", Predictions: 7}
		state(made)
		p.tick()
		state(backup.State{Since: noon, At: noon, FailedAt: p.now, Failures: 2})
		p.tick("backup firing")
		if text := p.heard[0].Text; !strings.Contains(text, "2 attempts failed since") {
			t.Errorf("%q", text)
		}
		state(made)
		p.tick("backup resolved")
		p.now = noon.Add(24*time.Hour + 50*time.Minute)
		p.tick()
		p.now = noon.Add(25*time.Hour + 10*time.Minute)
		p.tick("backup firing")
		if text := p.heard[0].Text; !strings.Contains(text, "the latest scheduled backup was made 25 h") {
			t.Errorf("%q", text)
		}
	})
}

// TestBackupsThatNeverRun checks that the alert begins if no node follows the schedule.
func TestBackupsThatNeverRun(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		p := newWorld(t, db)
		p.backups = 24 * time.Hour
		p.restart()
		p.now = noon.Add(24*time.Hour + 50*time.Minute)
		p.tick()
		p.now = noon.Add(25*time.Hour + 10*time.Minute)
		p.tick("backup firing")
		if text := p.heard[0].Text; !strings.Contains(text, "no scheduled backup was made yet") {
			t.Errorf("%q", text)
		}
	})
}

// TestAConditionThatIsSwitchedOff checks that the alert about it ends.
func TestAConditionThatIsSwitchedOff(t *testing.T) {
	t.Parallel()
	for name, off := range map[string]func(p *world){
		"backup":  func(p *world) { p.backups = 0 },
		"archive": func(p *world) { p.noFiles = true },
		"disk":    func(p *world) { p.remote = true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dbtest.Each(t, func(t *testing.T, db *database.DB) {
				p := newWorld(t, db)
				p.backups = 24 * time.Hour
				p.restart()
				p.tick()
				p.exec("INSERT INTO alerts (name, firing, told, since, text) VALUES (?, TRUE, TRUE, ?, 'it was bad')", name, noon)
				off(p)
				p.restart()
				p.tick(name + " resolved")
				p.tick()
			})
		})
	}
}

// TestAConditionThatCannotBeRead checks that such a condition leaves its alert unchanged and
// doesn't affect the others.
func TestAConditionThatCannotBeRead(t *testing.T) {
	t.Parallel()
	p := newWorld(t, dbtest.Open(t, database.SQLite))
	p.disk = monitor.Disk{Free: 1, Size: 2}
	p.exec("DROP TABLE server_errors")
	if err := p.watcher.Tick(t.Context()); err == nil || len(p.heard) != 1 || p.heard[0].Alert != "disk" {
		t.Errorf("%v, %v", p.heard, err)
	}
}

// TestArchive checks that the alert fires if the job fails, or if a day that ended isn't sealed.
func TestArchive(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		p := newWorld(t, db)
		p.tick()
		p.exec(`INSERT INTO settings (name, value) VALUES ('archive', '{"Failures":2,"Error":"disk full"}')`)
		p.tick("archive firing")
		want := "Pulsecast at https://pulse.example: no day of the archive is sealed yet, and 2 attempts to write to it failed since. " +
			"Check ARCHIVE_URL and its free space. Observations wait in the database, and nothing is pruned."
		if p.heard[0].Text != want {
			t.Error(p.heard[0].Text)
		}
		p.exec(`UPDATE settings SET value = '{}' WHERE name = 'archive'`)
		p.tick("archive resolved")
		p.exec(`UPDATE settings SET value = '{"Failures":1,"Error":"silent","Hangs":"writing probe"}' WHERE name = 'archive'`)
		p.tick("archive firing")
		want = "Pulsecast at https://pulse.example: no day of the archive is sealed yet, and 1 attempts to write to it failed since, " +
			"the latest because it doesn't answer (writing probe hangs). Check ARCHIVE_URL and its free space. Observations wait in the database, and nothing is pruned."
		if p.heard[0].Text != want {
			t.Error(p.heard[0].Text)
		}
		p.exec(`UPDATE settings SET value = '{}' WHERE name = 'archive'`)
		p.tick("archive resolved")
		p.exec("INSERT INTO archive_segments (id, day, kind, source, records, content, created_at) VALUES (?, ?, 'prices', 'x', 0, ?, ?)",
			database.NewID(p.now), p.now.AddDate(0, 0, -1).Format(time.DateOnly), []byte{0}, p.now)
		p.tick("archive firing")
	})
}
