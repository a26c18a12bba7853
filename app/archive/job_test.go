package archive_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/archive"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/news"
)

// TestReadings checks that each reading is in the sealed day. Facts are there when they change and
// once a day. A closed market has no prices, only closings.
func TestReadings(t *testing.T) {
	t.Parallel()
	for _, kind := range dbtest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, kind)
			for minute := range 4 {
				w.set(day.Add(23*time.Hour + 58*time.Minute).Add(time.Duration(minute) * time.Minute))
				a, b := yesNo("a"), yesNo("b")
				if minute == 1 {
					a.Description = "It was specified."
				}
				b.Closed, b.Prices, b.Resolution, b.ClosedAt = minute > 0, []float64{1, 0}, "resolved", day
				event := market.Event{ID: "e", Title: "An event", Volume: new(float64(minute))}
				item, still := post("n1"), post("n2")
				item.Score = minute
				w.read([]market.Market{a, b}, []market.Event{event}, []news.Item{item, still})
			}
			w.set(day.AddDate(0, 0, 2).Add(time.Hour))
			w.mustTick()
			if got := w.days(); !slices.Equal(got, []string{"2026-11-21", "2026-11-22"}) || w.segments() != 0 {
				t.Fatalf("days %v, %d segments are left", got, w.segments())
			}
			var got []string
			for _, d := range w.days() {
				for _, r := range rowsOf[archive.MarketRow](w, d, archive.Markets) {
					got = append(got, fmt.Sprint("fact ", r.Market, r.ObservedAt.Minute(), r.Description))
				}
				for _, r := range rowsOf[archive.PriceRow](w, d, archive.Prices) {
					got = append(got, fmt.Sprint("price ", r.Market, r.ObservedAt.Minute(), len(r.Received)))
				}
				for _, r := range rowsOf[archive.ClosingRow](w, d, archive.Closings) {
					got = append(got, fmt.Sprint("closing ", r.Market, r.ObservedAt.Minute(), r.Prices))
				}
				for _, r := range rowsOf[archive.EventRow](w, d, archive.Events) {
					got = append(got, fmt.Sprint("event ", r.Title, r.ObservedAt.Minute(), *r.Volume))
				}
				for _, r := range rowsOf[archive.NewsRow](w, d, archive.News) {
					got = append(got, fmt.Sprint("news ", r.Item, r.ObservedAt.Minute(), r.Score, len(r.Texts)))
				}
				got = append(got, fmt.Sprint(textsOf(w, d, archive.News)))
			}
			want := strings.Split(`fact a58
fact a59It was specified.
fact b58
price a58 32
price a59 32
price b58 32
closing b59 [1 0]
event An event58 0
event An event59 1
news n158 0 32
news n159 1 32
news n258 1 32
map[n1:{"title":"Title of n1","url":"https://x.example/n1","permalink":"https://news.example/n1","author":"omber"} n2:{"title":"Title of n2","url":"https://x.example/n2","permalink":"https://news.example/n2","author":"omber"}]
fact a0
fact b0
price a0 32
price a1 32
closing b0 [1 0]
event An event0 2
event An event1 3
news n10 2 32
news n11 3 32
news n20 1 32
map[n1:{"title":"Title of n1","url":"https://x.example/n1","permalink":"https://news.example/n1","author":"omber"} n2:{"title":"Title of n2","url":"https://x.example/n2","permalink":"https://news.example/n2","author":"omber"}]`, "\n")
			if !slices.Equal(got, want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

// TestChain checks that days without observations are sealed too, and that each day names the one
// before it.
func TestChain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, database.SQLite)
	w.readPlain()
	w.set(day.AddDate(0, 0, 4).Add(14 * time.Minute))
	w.mustTick()
	if got := w.days(); len(got) != 3 {
		t.Errorf("sealed %v; the last day ended less than 15 minutes ago", got)
	}
	w.set(w.now().Add(time.Minute))
	w.mustTick()
	previous := ""
	for _, name := range []string{"2026-11-21", "2026-11-22", "2026-11-23", "2026-11-24"} {
		d := w.open(name)
		if d.Manifest.Previous != previous || d.Manifest.First.IsZero() != (name != "2026-11-21") {
			t.Errorf("%s: %+v", name, d.Manifest)
		}
		previous = d.Hash
	}
}

// TestAnotherNodeAppends checks that a node appends its facts again after another node has
// appended, because the other node may have seen different facts. A reading is appended in two
// transactions.
func TestAnotherNodeAppends(t *testing.T) {
	t.Parallel()
	w := newWorld(t, database.SQLite)
	own, other := w.recorder, archive.NewRecorder(w.now)
	for i, r := range []*archive.Recorder{own, own, other, own, own} {
		w.set(day.Add(time.Duration(i) * time.Minute))
		w.recorder = r
		for _, m := range []market.Market{yesNo("a"), yesNo("b")} {
			if r == other {
				m.Question += " Reworded?"
			}
			w.read([]market.Market{m}, nil, nil)
		}
	}
	w.set(day.AddDate(0, 0, 1).Add(time.Hour))
	w.mustTick()
	var got []string
	for _, r := range rowsOf[archive.MarketRow](w, "2026-11-21", archive.Markets) {
		got = append(got, fmt.Sprint(r.ObservedAt.Minute(), r.Question))
	}
	slices.Sort(got)
	want := []string{"0Will a?", "0Will b?", "2Will a? Reworded?", "2Will b? Reworded?", "3Will a?", "3Will b?"}
	if !slices.Equal(got, want) {
		t.Errorf("got facts %v, want %v", got, want)
	}
}

// TestLostCommit checks that a fact is appended again if it returns to what it was before a transaction that was
// committed without an answer. Before, either the same node or another one appended.
func TestLostCommit(t *testing.T) {
	t.Parallel()
	for name, another := range map[string]bool{"same node": false, "another node": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, database.SQLite)
			minute := 0
			read := func(question string, r *archive.Recorder) (kept func()) {
				t.Helper()
				w.set(day.Add(time.Duration(minute) * time.Minute))
				minute++
				m := yesNo("a")
				m.Question, m.ObservedAt = question, w.now()
				err := w.db.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) (err error) {
					kept, err = r.Markets(ctx, tx, []market.Market{m}, nil)
					return err
				})
				if err != nil {
					t.Fatal(err)
				}
				return kept
			}
			read("Old?", w.recorder)()
			want := []string{"0 Old?"}
			if another {
				read("New?", archive.NewRecorder(w.now))()
				want = append(want, "1 New?")
			}
			want = append(want, fmt.Sprint(minute, " New?"), fmt.Sprint(minute+1, " Old?"))
			read("New?", w.recorder) // without an answer
			read("Old?", w.recorder)()
			read("Old?", w.recorder)()
			w.set(day.AddDate(0, 0, 1).Add(time.Hour))
			w.mustTick()
			var got []string
			for _, r := range rowsOf[archive.MarketRow](w, "2026-11-21", archive.Markets) {
				got = append(got, fmt.Sprint(r.ObservedAt.Minute(), " ", r.Question))
			}
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("got facts %q, want %q", got, want)
			}
		})
	}
}

// TestUnreachable checks that readings are stored while the archive is unreachable, that no day
// counts as sealed, and that the status reports the failure. When the archive is back, the job
// seals everything.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	for _, kind := range dbtest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, kind)
			w.readPlain()
			w.storage.set(true)
			w.set(day.AddDate(0, 0, 1).Add(time.Hour))
			for range 2 {
				if err := w.tick(); err == nil {
					t.Fatal("sealing succeeded without an archive")
				}
				w.readPlain()
			}
			st, err := archive.ReadStatus(t.Context(), w.db)
			if err != nil || !st.Troubled(w.now()) || st.Failures != 2 || st.Waiting == 0 || !strings.Contains(st.Error, errDown.Error()) {
				t.Errorf("status %+v, error %v", st, err)
			}
			if until, err := archive.SealedUntil(t.Context(), w.db); err != nil || !until.IsZero() {
				t.Errorf("sealed until %v (error %v), want the zero time", until, err)
			}
			w.storage.set(false)
			w.mustTick()
			st, err = archive.ReadStatus(t.Context(), w.db)
			if err != nil || st.Troubled(w.now()) || st.LastSealed != "2026-11-21" {
				t.Errorf("status %+v, error %v", st, err)
			}
			if until, err := archive.SealedUntil(t.Context(), w.db); err != nil || !until.Equal(day.AddDate(0, 0, 1)) {
				t.Errorf("sealed until %v (error %v), want the end of the day", until, err)
			}
		})
	}
}

// TestWorkerIsGone checks that a day that isn't sealed in time counts as trouble, even if no run
// has failed.
func TestWorkerIsGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, database.SQLite)
	w.readPlain()
	for at, want := range map[time.Time]bool{
		w.now():                                    false,
		day.AddDate(0, 0, 1).Add(time.Hour):        false,
		day.AddDate(0, 0, 1).Add(6 * time.Hour):    true,
		day.AddDate(0, 0, 3).Add(30 * time.Minute): true,
	} {
		st, err := archive.ReadStatus(t.Context(), w.db)
		if err != nil || st.Troubled(at) != want {
			t.Errorf("at %s: got troubled %t, error %v", at, st.Troubled(at), err)
		}
	}
}

// TestSealedAhead checks that a day which was sealed before its end counts as trouble.
func TestSealedAhead(t *testing.T) {
	t.Parallel()
	w := newWorld(t, database.SQLite)
	w.readPlain()
	right := w.now()
	w.set(right.AddDate(0, 0, 2))
	w.mustTick()
	for at, want := range map[time.Time]bool{w.now(): false, right: true} {
		if st, err := archive.ReadStatus(t.Context(), w.db); err != nil || st.Troubled(at) != want {
			t.Errorf("at %s: got %t for days sealed until %s, want %t; %v", at, st.Troubled(at), st.LastSealed, want, err)
		}
	}
}

// TestSealedWhereDaysHave23Hours checks that a day is sealed after its end in UTC, also on a machine whose local day
// begins or ends with daylight saving time.
func TestSealedWhereDaysHave23Hours(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, database.SQLite)
	noon := time.Date(2027, 3, 28, 12, 0, 0, 0, time.UTC) // of the day that has 23 hours in Berlin
	w.set(noon.In(berlin))
	w.readPlain()
	for _, c := range []struct {
		after time.Duration
		want  int
	}{{11*time.Hour + 59*time.Minute, 0}, {12*time.Hour + 30*time.Minute, 1}} {
		w.set(noon.Add(c.after).In(berlin))
		w.mustTick()
		if got := w.days(); len(got) != c.want {
			t.Errorf("at %s: sealed %v, want %d days", w.now().UTC(), got, c.want)
		}
	}
}

// TestStoppedWhileSealing stops the sealer at each of its writes. The next run must seal the
// complete day once.
func TestStoppedWhileSealing(t *testing.T) {
	t.Parallel()
	for stop := 1; ; stop++ {
		w := newWorld(t, database.SQLite)
		w.readPlain()
		w.set(day.AddDate(0, 0, 1).Add(time.Hour))
		w.storage.failN = stop
		err := w.tick()
		if err == nil {
			if stop < 8 {
				t.Errorf("sealing succeeded although write %d fails", stop)
			}
			return
		}
		w.storage.failN = 0
		w.readPlain() // a reading of the next day
		w.mustTick()
		if found := w.check("2026-11-21"); len(found.Problems) > 0 || len(w.days()) != 1 {
			t.Errorf("stopped at write %d: %v, days %v", stop, found.Problems, w.days())
		}
		if rows := rowsOf[archive.PriceRow](w, "2026-11-21", archive.Prices); len(rows) != 1 {
			t.Errorf("stopped at write %d: %d rows", stop, len(rows))
		}
	}
}

// TestUnfinishedFilesAreRemoved checks that the job removes the temporary files of other runs, and no other files.
func TestUnfinishedFilesAreRemoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t, database.SQLite)
	root := t.TempDir()
	w.storage.Writable = archive.OpenFolder(root)
	w.sealer.Storage = w.storage.Writable
	w.readPlain()
	w.set(day.AddDate(0, 0, 1).Add(time.Hour))
	w.mustTick()
	files := map[string]bool{ // whether they are left
		"days/2026-11-21/texts/news-hackernews.parquet.1.part": false,
		"days/2026-11-22/prices-polymarket.parquet.2.part":     false,
		"days/2026-11-21/manifest.json":                        true,
		"download.part":                                        true,
	}
	for name := range files {
		path := filepath.Join(root, name)
		if _, err := os.Stat(path); err == nil {
			continue
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte("texts"), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	w.mustTick()
	for name, left := range files {
		if _, err := os.Stat(filepath.Join(root, name)); (err == nil) != left {
			t.Errorf("%s: %v, want it left: %t", name, err, left)
		}
	}
}

// unlocked is a storage that can be opened only while the database can be written.
type unlocked struct {
	archive.Writable
	db *database.DB
}

func (u unlocked) Open(ctx context.Context, name string) (archive.Object, error) {
	if err := u.db.InTx(ctx, func(context.Context, bun.Tx) error { return nil }); err != nil {
		return nil, fmt.Errorf("a transaction is open while %s is read: %w", name, err)
	}
	return u.Writable.Open(ctx, name)
}

// TestSealingReadsOutsideTransactions checks that no transaction is open while the storage is read. The storage may
// be slow. On SQLite, an open transaction stops publishing.
func TestSealingReadsOutsideTransactions(t *testing.T) {
	t.Parallel()
	w := newWorld(t, database.SQLite)
	w.sealer.Storage = unlocked{w.storage, w.db}
	w.readPlain()
	w.set(day.AddDate(0, 0, 1).Add(time.Hour))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := w.sealer.Tick(ctx); err != nil || len(w.days()) != 1 {
		t.Errorf("sealed %v, %v", w.days(), err)
	}
}

// TestLateRunIsAFailure checks that a run which doesn't end in time is stored as failed.
func TestLateRunIsAFailure(t *testing.T) {
	t.Parallel()
	for _, kind := range dbtest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, kind)
			w.readPlain()
			w.set(day.AddDate(0, 0, 1).Add(time.Hour))
			late, cancel := context.WithDeadline(t.Context(), time.Now())
			defer cancel()
			if _, err := w.sealer.Tick(late); err == nil {
				t.Fatal("a run after its time succeeded")
			}
			if st, err := archive.ReadStatus(t.Context(), w.db); err != nil || st.Failures != 1 {
				t.Errorf("got %d failures, %v; want 1", st.Failures, err)
			}
		})
	}
}

// TestTwoNodes checks that two nodes that seal the same day at once seal it once.
func TestTwoNodes(t *testing.T) {
	t.Parallel()
	for _, kind := range dbtest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, kind)
			for i := range 5 {
				w.set(day.Add(time.Duration(i) * time.Minute))
				w.readPlain()
			}
			w.set(day.AddDate(0, 0, 1).Add(time.Hour))
			other := *w.sealer
			done := make(chan error, 2)
			for _, s := range []*archive.Sealer{w.sealer, &other} {
				go func() { done <- s.Seal(t.Context(), "2026-11-21") }()
			}
			first, second := <-done, <-done
			if first != nil && second != nil {
				t.Errorf("neither sealed the day: %v, %v", first, second)
			}
			if found := w.check("2026-11-21"); len(found.Problems) > 0 || len(w.days()) != 1 || w.segments() != 0 {
				t.Errorf("problems %v, days %v, %d segments", found.Problems, w.days(), w.segments())
			}
			if rows := rowsOf[archive.PriceRow](w, "2026-11-21", archive.Prices); len(rows) != 5 {
				t.Errorf("%d rows", len(rows))
			}
		})
	}
}

// TestStoppedAfterSealing checks a day that is in the storage but not recorded in the database, because
// its sealer stopped in between. The job must record it unchanged and delete only the segments it contains.
// The decisions in the day count.
func TestStoppedAfterSealing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, database.SQLite)
	w.readPlain()
	segments := copyOf(t, w.db, "archive_segments")
	w.set(day.AddDate(0, 0, 1).Add(time.Hour))
	w.mustTick()
	hash := w.open("2026-11-21").Hash
	w.exec("DELETE FROM archive_days")
	segments.restore(t, w.db)
	w.set(day.Add(13 * time.Hour))
	w.readPlain() // a reading on the sealed day that is stored late
	w.set(day.AddDate(0, 0, 2).Add(time.Hour))
	w.mustTick()
	if w.open("2026-11-21").Hash != hash || !slices.Equal(w.days(), []string{"2026-11-21", "2026-11-22"}) {
		t.Errorf("days %v", w.days())
	}
	if from := w.open("2026-11-22").Manifest.AbandonedFrom; from != "" {
		t.Errorf("the next day abandons the decisions from %s on", from)
	}
	if rows := rowsOf[archive.PriceRow](w, "2026-11-22", archive.Prices); len(rows) != 1 || rows[0].ObservedAt.Hour() != 13 {
		t.Errorf("the reading after the seal is not in the next day: %+v", rows)
	}
	found := w.check("2026-11-22")
	if len(found.Problems) != 0 || len(found.Notes) == 0 || !strings.Contains(found.Notes[0].Error(), ".parquet: its first observation is of 2026-11-21T13:00:00Z, before this day") {
		t.Errorf("findings %+v", found)
	}
}

// TestWarning checks that what is wrong is named exactly if the archive is troubled.
func TestWarning(t *testing.T) {
	t.Parallel()
	now := day.Add(12 * time.Hour)
	today, yesterday, before := archive.DayOf(day), archive.DayOf(day.AddDate(0, 0, -1)), archive.DayOf(day.AddDate(0, 0, -2))
	for name, c := range map[string]struct {
		set  func(*archive.Status)
		want string
	}{
		"nothing observed": {func(*archive.Status) {}, ""},
		"sealed":           {func(s *archive.Status) { s.LastSealed, s.Oldest = yesterday, today }, ""},
		"late":             {func(s *archive.Status) { s.LastSealed, s.Oldest = before, yesterday }, yesterday + " has ended"},
		"ahead":            {func(s *archive.Status) { s.LastSealed = today }, today + " is sealed in the archive but isn't over"},
		"fails":            {func(s *archive.Status) { s.Failures, s.Error = 1, "secret" }, "the archive can't be written"},
		"hangs":            {func(s *archive.Status) { s.Failures, s.Hangs = 1, "writing probe" }, "the archive doesn't answer (writing probe hangs)"},
	} {
		var s archive.Status
		c.set(&s)
		got := s.Warning(now)
		if !strings.HasPrefix(got, c.want) || (got == "") != (c.want == "") || strings.Contains(got, "secret") {
			t.Errorf("%s: %q", name, got)
		}
		if s.Troubled(now) != (got != "") {
			t.Errorf("%s: troubled %t, but the warning is %q", name, s.Troubled(now), got)
		}
	}
}
