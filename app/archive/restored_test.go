package archive_test

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/archive"
	"github.com/pulsecast/pulsecast/app/backup"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/news"
)

// backup writes a backup of the database.
func (w *world) backup() (file string) {
	w.t.Helper()
	file = filepath.Join(w.t.TempDir(), "backup")
	if _, err := backup.Make(w.t.Context(), backup.Options{Database: w.address, File: file}); err != nil {
		w.t.Fatal(err)
	}
	return file
}

// restore returns the world with the database of a backup.
func (w *world) restore(file string) *world {
	w.t.Helper()
	address := dbtest.Empty(w.t, w.db.Kind)
	if _, err := backup.Restore(w.t.Context(), address, file, w.now); err != nil {
		w.t.Fatal(err)
	}
	return w.on(address)
}

// spans is an Exporter that notes the times for which it is asked.
type spans struct{ asked []string }

func (s *spans) Export(_ context.Context, _ *archive.DayWriter, from, to time.Time) error {
	s.asked = append(s.asked, from.Format(time.DateOnly)+" to "+to.Format(time.DateOnly))
	return nil
}

// TestRestoredDatabase checks which decisions the days sealed after a restore export, and which days
// they abandon. No sealed day may change.
func TestRestoredDatabase(t *testing.T) {
	t.Parallel()
	for _, kind := range dbtest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			at := func(day, hour int) time.Time { return time.Date(2026, 11, day, hour, 0, 0, 0, time.UTC) }
			exporter, hashes := &spans{}, map[string]string{}
			w := newWorld(t, kind)
			w.sealer.Exporters = []archive.Exporter{exporter}
			// seal reads once on a day, and seals it.
			seal := func(day int, wantFrom, wantSpan string) {
				t.Helper()
				w.set(at(day, 14))
				w.readPlain()
				exporter.asked = nil
				w.set(at(day+1, 1))
				w.mustTick()
				d := w.open(archive.DayOf(at(day, 0)))
				if got := d.Manifest.AbandonedFrom; got != wantFrom || !slices.Equal(exporter.asked, []string{wantSpan}) {
					t.Errorf("November %d: it abandons days from %q and exports %q; want %q and %q", day, got, exporter.asked, wantFrom, wantSpan)
				}
				hashes[d.Manifest.Day] = d.Hash
			}
			// abandoned returns the abandoned days. Each day alone must have the same answer.
			abandoned := func() string {
				t.Helper()
				days, err := archive.DaysBefore(t.Context(), w.db, "", 100)
				if err != nil {
					t.Fatal(err)
				}
				all, err := archive.AbandonedAmong(t.Context(), w.db, days)
				if err != nil {
					t.Fatal(err)
				}
				for _, d := range days {
					if one, err := archive.AbandonedAmong(t.Context(), w.db, []archive.SealedDay{d}); err != nil || one[d.Day] != all[d.Day] {
						t.Errorf("%s alone is abandoned: %t, %v; want %t", d.Day, one[d.Day], err, all[d.Day])
					}
				}
				return strings.ReplaceAll(strings.Join(slices.Sorted(maps.Keys(all)), " "), "2026-11-", "")
			}
			// restores returns the days that verify notes, each with the first day that it abandons.
			restores := func() string {
				t.Helper()
				problems, notes := w.verify()
				if len(problems) > 0 {
					t.Errorf("problems %q", problems)
				}
				var found []string
				for _, n := range notes {
					if name, from, ok := strings.Cut(n, "/manifest.json: the database was restored from a backup: decisions in the days from "); ok {
						found = append(found, name[len("days/2026-11-"):]+"<"+from[len("2026-11-"):len("2026-11-22")])
					}
				}
				return strings.Join(found, " ")
			}
			seal(21, "", "0001-01-01 to 2026-11-22")
			w.set(at(22, 12))
			early := w.backup()
			seal(22, "", "2026-11-22 to 2026-11-23")
			seal(23, "", "2026-11-23 to 2026-11-24")
			late := w.backup() // after the last sealed day
			w.set(at(24, 9))
			w = w.restore(early)
			w.mustTick() // records the days 22 and 23
			between := w.backup()
			seal(24, "2026-11-22", "2026-11-22 to 2026-11-25")
			seal(25, "", "2026-11-25 to 2026-11-26")
			w = w.restore(early) // the same backup again
			seal(26, "2026-11-22", "2026-11-22 to 2026-11-27")
			w = w.restore(between)
			seal(27, "2026-11-22", "2026-11-22 to 2026-11-28")
			w = w.restore(late) // of the time before the first restore: 22 and 23 count again
			seal(28, "2026-11-24", "2026-11-24 to 2026-11-29")
			// The days 24, 26 and 27, which abandon others, are abandoned themselves.
			if got, days := restores(), abandoned(); got != "28<24" || days != "24 25 26 27" {
				t.Errorf("verify notes %q, and %q are abandoned; want 28<24, and the days from 24 to 27", got, days)
			}
			current := w.backup()
			w = w.restore(current)
			seal(29, "", "2026-11-29 to 2026-11-30")
			w = w.on(dbtest.URL(t, kind)) // a new database
			seal(30, "2026-11-21", "0001-01-01 to 2026-12-01")
			if got := restores(); got != "30<21" {
				t.Errorf("verify notes %q, want only the last day, which abandons all others", got)
			}
			for name, hash := range hashes {
				if w.open(name).Hash != hash {
					t.Errorf("%s was changed", name)
				}
			}
		})
	}
}

// TestAbandoned checks which days' decisions count after one or more restores.
func TestAbandoned(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ days, want string }{
		{"21 22 23", ""},
		{"21 22 23 24<22 25", "22 23"},
		{"21 22 23 24<21 25", "21 22 23"},
		{"21 22 23 24<22 25 26 27<26 28", "22 23 26"},
		{"21 22 23 24<22 25 26<22 27", "22 23 24 25"},
		{"21 22 23 24<22 25 26<24 27", "24 25"}, // the second backup is older than the first restore
		{"21 23 25<22 26", "23"},                // without every day
		{"", ""},
	} {
		var days []*archive.Manifest
		for _, text := range strings.Fields(c.days) {
			name, from, _ := strings.Cut(text, "<")
			days = append(days, &archive.Manifest{Day: name, AbandonedFrom: from})
		}
		got := strings.Join(slices.Sorted(maps.Keys(archive.Abandoned(days))), " ")
		if got != c.want {
			t.Errorf("%s: got abandoned days %q, want %q", c.days, got, c.want)
		}
	}
}

// TestErasedTextsStayErased checks that texts which were erased after a backup aren't in days that are
// sealed after it was restored. Hiding a text is an act of an admin, which a restore undoes.
func TestErasedTextsStayErased(t *testing.T) {
	t.Parallel()
	type variant struct {
		kind   database.Kind
		sealed bool // a day is sealed between the backup and the restore
	}
	for c, want := range map[variant][]string{
		{database.SQLite, true}:    {"[n2] [p-c] [b c]", "[n2] [p-c] [b c]", "[n2] [p-b p-c] [b c]"},
		{database.Postgres, true}:  {"[n2] [p-c] [b c]", "[n2] [p-c] [b c]", "[n2] [p-b p-c] [b c]"},
		{database.SQLite, false}:   {"[n2] [p-c] [b c]", "[n2] [p-b p-c] [b c]"},
		{database.Postgres, false}: {"[n2] [p-c] [b c]", "[n2] [p-b p-c] [b c]"},
	} {
		t.Run(fmt.Sprintf("%s, sealed %t", c.kind, c.sealed), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, c.kind)
			w.sealer.Exporters = []archive.Exporter{texts{[]string{"a", "b", "c"}}}
			read := func() { w.read([]market.Market{yesNo("m")}, nil, []news.Item{post("n1"), post("n2")}) }
			tomorrow := func() { w.set(w.now().AddDate(0, 0, 1)); w.mustTick() }
			read()
			tomorrow()
			file := w.backup()
			read()
			err := archive.RequestRedaction(t.Context(), w.db, w.now(), true,
				archive.Request{Table: archive.News, Record: "n1", Reason: "a judge said so"},
				archive.Request{Table: archive.Agents, Record: "a", Reason: archive.Closed},
				archive.Request{Table: archive.Predictions, Record: "p-b", Reason: archive.Hidden})
			if err != nil {
				t.Fatal(err)
			}
			if c.sealed {
				tomorrow()
			} else {
				w.mustTick()
			}
			w = w.restore(file)
			read()
			tomorrow()
			for i, name := range w.days() {
				left := []string{}
				for _, table := range []string{archive.News, archive.Predictions, archive.Agents} {
					left = append(left, fmt.Sprint(slices.Sorted(maps.Keys(textsOf(w, name, table)))))
				}
				if got := strings.Join(left, " "); got != want[i] {
					t.Errorf("%s: got texts of %s, want of %s", name, got, want[i])
				}
			}
			if problems, _ := w.verify(); len(problems) > 0 || len(w.days()) != len(want) {
				t.Errorf("days %v, problems %q", w.days(), problems)
			}
			got := w.redactions(w.days()[len(want)-1])
			slices.Sort(got)
			if want := []string{"agents a closed", "news n1 a judge said so", "predictions p-a closed"}; !slices.Equal(got, want) {
				t.Errorf("got redactions %q, want %q", got, want)
			}
		})
	}
}

// TestOrderAfterHidingStays checks that an order or a closed account counts after a restore although an admin hid the
// texts first, so that they were erased already. It also checks that hiding doesn't replace an order.
func TestOrderAfterHidingStays(t *testing.T) {
	t.Parallel()
	for _, kind := range dbtest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, kind)
			w.sealer.Exporters = []archive.Exporter{texts{[]string{"a", "b", "c", "d"}}}
			tomorrow := func() { w.readPlain(); w.set(w.now().AddDate(0, 0, 1)); w.mustTick() }
			request := func(table, record, reason string) {
				t.Helper()
				err := archive.RequestRedaction(t.Context(), w.db, w.now(), true, archive.Request{Table: table, Record: record, Reason: reason})
				if err != nil {
					t.Fatal(err)
				}
			}
			tomorrow()
			file := w.backup()
			request(archive.Predictions, "p-a", archive.Hidden)
			request(archive.Agents, "b", archive.Hidden) // with its predictions
			request(archive.Predictions, "p-c", "a judge said so")
			request(archive.Predictions, "p-d", archive.Hidden)
			w.mustTick()
			tomorrow() // this day is sealed without the texts
			request(archive.Predictions, "p-a", archive.Ordered)
			request(archive.Agents, "b", archive.Closed)
			request(archive.Agents, "c", archive.Hidden)
			w.storage.puts, w.storage.failN = 0, 2 // the probe is the first write
			if err := w.tick(); err == nil {
				t.Error("a run that can't write succeeded")
			}
			w.storage.failN = 0
			w.mustTick()
			want := []string{
				"agents b closed", "agents c hidden", "predictions p-a ordered", "predictions p-b closed", "predictions p-c a judge said so", "predictions p-d hidden",
			}
			for _, name := range w.days() {
				got := w.redactions(name)
				if slices.Sort(got); !slices.Equal(got, want) {
					t.Errorf("%s: got redactions %q, want %q", name, got, want)
				}
			}
			var recorded []string
			err := w.db.NewRaw("SELECT kind || ' ' || record || ' ' || reason FROM redactions WHERE day = '2026-11-21'").Scan(t.Context(), &recorded)
			if slices.Sort(recorded); err != nil || !slices.Equal(recorded, want) {
				t.Errorf("the database has the redactions %q, %v; want %q", recorded, err, want)
			}
			w = w.restore(file)
			tomorrow()
			if got := slices.Sorted(maps.Keys(textsOf(w, "2026-11-23", archive.Predictions))); len(w.days()) != 3 || !slices.Equal(got, []string{"p-d"}) {
				t.Errorf("after the restore, the last of the days %v has the texts of %v, want those of p-d", w.days(), got)
			}
			if problems, _ := w.verify(); len(problems) > 0 {
				t.Errorf("problems %q", problems)
			}
		})
	}
}

// TestTextsErasedBetweenTwoAttempts checks that an attempt to seal a day leaves no text file that the next attempt
// doesn't have.
func TestTextsErasedBetweenTwoAttempts(t *testing.T) {
	t.Parallel()
	for _, kind := range dbtest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, kind)
			w.sealer.Exporters = []archive.Exporter{texts{[]string{"a"}}}
			files := func() (names []string) {
				t.Helper()
				list, err := w.storage.List(t.Context(), "days/2026-11-21/texts/")
				if err != nil {
					t.Fatal(err)
				}
				for _, o := range list {
					names = append(names, filepath.Base(o.Name))
				}
				return names
			}
			w.readPlain()
			w.set(w.now().AddDate(0, 0, 1))
			w.storage.failOn = archive.ManifestName
			if err := w.tick(); err == nil {
				t.Error("a day was sealed without its manifest")
			}
			if got := files(); !slices.Contains(got, "predictions.parquet") {
				t.Fatalf("the first attempt wrote %v", got)
			}
			err := archive.RequestRedaction(t.Context(), w.db, w.now(), true, archive.Request{Table: archive.Agents, Record: "a", Reason: archive.Closed})
			if err != nil {
				t.Fatal(err)
			}
			w.storage.failOn = ""
			w.mustTick()
			if got := files(); slices.Contains(got, "predictions.parquet") || slices.Contains(got, "agents.parquet") || len(w.days()) != 1 {
				t.Errorf("%d days are sealed, with the text files %v", len(w.days()), got)
			}
		})
	}
}
