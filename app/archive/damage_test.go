package archive_test

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/archive"
	"github.com/pulsecast/pulsecast/app/database"
)

// sealed returns a world with an archive of four days.
func sealed(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, database.SQLite)
	for i := range 4 {
		w.set(day.AddDate(0, 0, i).Add(12 * time.Hour))
		w.readPlain()
	}
	w.set(day.AddDate(0, 0, 4).Add(time.Hour))
	w.mustTick()
	return w
}

// edit changes a stored object. It deletes the object if change returns nil.
func (w *world) edit(name string, change func([]byte) []byte) {
	w.t.Helper()
	content, err := archive.ReadObject(w.t.Context(), w.storage, name)
	if err != nil {
		w.t.Fatal(err)
	}
	if content = change(content); content == nil {
		err = w.storage.Delete(w.t.Context(), name)
	} else {
		err = w.storage.Put(w.t.Context(), name, bytes.NewReader(content), int64(len(content)))
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) verify() (problems, notes []string) {
	w.t.Helper()
	_, err := archive.Verify(w.t.Context(), w.storage, func(day string, f *archive.Findings) error {
		for _, p := range f.Problems {
			problems = append(problems, p.Error())
		}
		for _, m := range f.Missing {
			problems = append(problems, m.Error())
		}
		for _, p := range f.Notes {
			notes = append(notes, p.Error())
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return problems, notes
}

// opens is a storage that counts how often each object is opened.
type opens struct {
	archive.Storage
	count map[string]int
}

func (o opens) Open(ctx context.Context, name string) (archive.Object, error) {
	o.count[name]++
	return o.Storage.Open(ctx, name)
}

// TestVerifyReadsManifestsOnce checks that Verify reads each manifest once, because a remote storage may be slow.
func TestVerifyReadsManifestsOnce(t *testing.T) {
	t.Parallel()
	w := sealed(t)
	o := opens{w.storage, map[string]int{}}
	_, err := archive.Verify(t.Context(), o, func(string, *archive.Findings) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range w.days() {
		if n := o.count[archive.Path(d, archive.ManifestName)]; n != 1 {
			t.Errorf("the manifest of %s is read %d times, want once", d, n)
		}
	}
}

// TestDamage checks that Verify reports each fault with its file and reason, and no other.
func TestDamage(t *testing.T) {
	t.Parallel()
	w := sealed(t)
	if problems, notes := w.verify(); len(problems)+len(notes) > 0 {
		t.Fatalf("an intact archive has problems %v and notes %v", problems, notes)
	}
	gone := func([]byte) []byte { return nil }
	const second = "days/2026-11-22/"
	for _, c := range []struct {
		name   string
		change func([]byte) []byte
		want   string
	}{
		{"prices-polymarket.parquet", func(b []byte) []byte { return b[:len(b)-7] }, "it has "},
		{"prices-polymarket.parquet", func(b []byte) []byte { return []byte{} }, "it has 0 bytes instead of"},
		{"prices-polymarket.parquet", func(b []byte) []byte { b[40] ^= 1; return b }, "its SHA-256 is "},
		{"news-hackernews.parquet", func(b []byte) []byte { b[40] ^= 1; return b }, "its SHA-256 is "},
		{"markets-polymarket.parquet", gone, "the manifest names it, but it is missing"},
		{"texts/news-hackernews.parquet", func(b []byte) []byte { b[40] ^= 1; return b }, "its SHA-256 is "},
		{"texts/news-hackernews.parquet", gone, "texts.json names it, but it is missing"},
		{"texts.json", func([]byte) []byte { return []byte("{") }, "it is damaged: "},
		{"texts.json", func([]byte) []byte { return []byte("[]") }, "the texts of 1 rows are missing and not redacted; the first is of record \"n1\""},
		{"redactions.json", gone, "it is missing"},
		{"manifest.json", gone, "the day is missing"},
		{"manifest.json", func([]byte) []byte { return []byte("{") }, "not a manifest: "},
		{"manifest.json", func(b []byte) []byte {
			return bytes.Replace(b, []byte(`"news-hackernews.parquet"`), []byte(`"../../../x"`), 1)
		}, "it names \"../../../x\", which isn't a file of this day"},
		{"manifest.json", func(b []byte) []byte { return bytes.Replace(b, []byte(`"schema": 1`), []byte(`"schema": 9`), 1) }, "its schema is 9, but this program reads only up to 1"},
		{"manifest.json", func(b []byte) []byte {
			return bytes.Replace(b, []byte(`"schema": 1`), []byte(`"schema": 1, "abandonedFrom": "2026-11-22"`), 1)
		}, "its abandonedFrom is \"2026-11-22\", which isn't an earlier day"},
		{"manifest.json", func(b []byte) []byte {
			return bytes.Replace(b, []byte(`"schema": 1`), []byte(`"schema": 1, "abandonedFrom": "2026-1"`), 1)
		}, "its abandonedFrom is \"2026-1\", which isn't an earlier day"},
	} {
		var before []byte
		w.edit(second+c.name, func(b []byte) []byte { before = slices.Clone(b); return c.change(b) })
		problems, _ := w.verify()
		file := second + c.name
		if strings.HasPrefix(c.want, "the texts") {
			file = second + "texts/news-hackernews.parquet"
		}
		if len(problems) != 1 || !strings.HasPrefix(problems[0], file+": "+c.want) {
			t.Errorf("%s: got problems %q, want %q", c.name, problems, c.want)
		}
		if err := w.storage.Put(t.Context(), second+c.name, bytes.NewReader(before), int64(len(before))); err != nil {
			t.Fatal(err)
		}
	}
	// A manifest changed to match an edited file no longer matches the hash in the next day.
	w.edit(second+"manifest.json", func(b []byte) []byte { return append(b, '\n') })
	problems, _ := w.verify()
	if len(problems) != 1 || !strings.HasPrefix(problems[0], "days/2026-11-23/manifest.json: it doesn't follow the day before") {
		t.Errorf("a changed manifest: got problems %q", problems)
	}
	if rows := rowsOf[archive.PriceRow](w, "2026-11-24", archive.Prices); len(rows) != 1 {
		t.Errorf("a later day has %d rows, want 1", len(rows))
	}
}

// TestDamagedLastDay checks that the job stops if the last day is not the one it sealed, and
// overwrites nothing.
func TestDamagedLastDay(t *testing.T) {
	t.Parallel()
	for _, change := range []func([]byte) []byte{
		func([]byte) []byte { return nil },
		func(b []byte) []byte { return append(b, '\n') },
	} {
		w := newWorld(t, database.SQLite)
		w.readPlain()
		w.set(day.AddDate(0, 0, 1).Add(time.Hour))
		w.mustTick()
		w.edit("days/2026-11-21/manifest.json", change)
		w.readPlain()
		w.set(day.AddDate(0, 0, 2).Add(time.Hour))
		err := w.tick()
		if err == nil || !strings.Contains(err.Error(), "days/2026-11-21/manifest.json: ") || len(w.days()) != 1 || w.segments() == 0 {
			t.Errorf("got error %v, days %v, %d segments", err, w.days(), w.segments())
		}
	}
}

// TestTornSegment checks that a segment that can't be decoded is kept and reported, and that the
// rest is sealed.
func TestTornSegment(t *testing.T) {
	t.Parallel()
	w := newWorld(t, database.SQLite)
	for i := range 3 {
		w.set(day.Add(time.Duration(i) * time.Hour))
		w.readPlain()
	}
	w.exec("UPDATE archive_segments SET content = substr(content, 1, 30) WHERE id = (SELECT id FROM archive_segments WHERE kind = 'prices' ORDER BY id LIMIT 1 OFFSET 1)")
	w.exec("UPDATE archive_segments SET records = 2 WHERE kind = 'markets'")
	w.set(day.AddDate(0, 0, 1).Add(time.Hour))
	w.mustTick()
	problems, notes := w.verify()
	if len(problems) != 0 || len(notes) != 2 || !strings.HasPrefix(notes[0], "days/2026-11-21/unreadable/markets-") ||
		!strings.Contains(notes[0], "it holds 1 rows instead of 2") || !strings.Contains(notes[1], "1 rows of prices were damaged before they were sealed: ") {
		t.Errorf("problems %q, notes %q", problems, notes)
	}
	if rows := rowsOf[archive.PriceRow](w, "2026-11-21", archive.Prices); len(rows) != 2 || w.segments() != 0 {
		t.Errorf("got %d rows and %d segments left, want 2 and 0", len(rows), w.segments())
	}
}

// TestClockJumps checks that rows observed on a sealed day, because the clock was set back, are
// sealed with the next day and reported.
func TestClockJumps(t *testing.T) {
	t.Parallel()
	w := sealed(t)
	hash := w.open("2026-11-24").Hash
	w.set(day.AddDate(0, 0, 2)) // two days back
	w.readPlain()
	w.mustTick()
	w.set(day.AddDate(0, 0, 6))
	w.mustTick()
	problems, notes := w.verify()
	if len(problems) != 0 || len(notes) == 0 || w.open("2026-11-24").Hash != hash || w.segments() != 0 {
		t.Errorf("problems %q, notes %q", problems, notes)
	}
	for _, note := range notes {
		if !strings.HasPrefix(note, "days/2026-11-25/") || !strings.Contains(note, "its first observation is of 2026-11-23T00:00:00Z, before this day: it was stored late, or the clock was set back") {
			t.Errorf("note %q", note)
		}
	}
	if rows := rowsOf[archive.PriceRow](w, "2026-11-25", archive.Prices); len(rows) != 1 {
		t.Errorf("%d rows", len(rows))
	}
}

// TestManyRows checks that more rows than fit in memory are yielded in order, and that equal rows
// keep their order.
func TestManyRows(t *testing.T) {
	t.Parallel()
	type row struct{ Key, N int }
	for _, n := range []int{0, 1, 9, 10, 11, 1234} {
		rows := func(yield func(row, error) bool) {
			for i := range n {
				if !yield(row{i * 7 % 50, i}, nil) {
					return
				}
			}
		}
		var got []row
		for r, err := range archive.Sorted(rows, func(a, b *row) int { return a.Key - b.Key }, 10) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, r)
		}
		ordered := slices.IsSortedFunc(got, func(a, b row) int { return cmp.Or(a.Key-b.Key, a.N-b.N) })
		if len(got) != n || !ordered {
			t.Errorf("got %d rows of %d, in order: %t", len(got), n, ordered)
		}
	}
}
