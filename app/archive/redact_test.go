package archive_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/archive"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/news"
)

func (w *world) redactions(day string) (list []string) {
	w.t.Helper()
	for _, r := range w.check(day).Redactions {
		list = append(list, r.Table+" "+r.Record+" "+r.Reason)
	}
	return list
}

// TestRedact checks that the texts of a record are erased from every sealed day and don't appear in
// a later one. The chain must stay intact, and each day must list the erasure.
func TestRedact(t *testing.T) {
	t.Parallel()
	for _, kind := range dbtest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, kind)
			read := func() { w.read([]market.Market{yesNo("m")}, nil, []news.Item{post("n1"), post("n2")}) }
			read()
			w.set(day.AddDate(0, 0, 1).Add(12 * time.Hour))
			read()
			w.set(day.AddDate(0, 0, 2).Add(12 * time.Hour))
			w.mustTick()
			hashes := []string{w.open("2026-11-21").Hash, w.open("2026-11-22").Hash}
			err := archive.RequestRedaction(t.Context(), w.db, w.now(), true, archive.Request{Table: archive.News, Record: "n1", Reason: archive.Ordered})
			if err != nil {
				t.Fatal(err)
			}
			read()
			w.mustTick()
			w.set(day.AddDate(0, 0, 3).Add(12 * time.Hour))
			w.mustTick()
			if problems, _ := w.verify(); len(problems) > 0 {
				t.Errorf("problems %q", problems)
			}
			for _, d := range []string{"2026-11-21", "2026-11-22", "2026-11-23"} {
				texts := textsOf(w, d, archive.News)
				if _, there := texts["n1"]; there || texts["n2"] == "" {
					t.Errorf("%s: got texts %v, want those of n2 alone", d, texts)
				}
				if got := w.redactions(d); !slices.Equal(got, []string{"news n1 ordered"}) {
					t.Errorf("%s: redactions %v", d, got)
				}
				if rows := rowsOf[archive.NewsRow](w, d, archive.News); len(rows) != 2 {
					t.Errorf("%s: got %d rows, want 2", d, len(rows))
				}
			}
			if w.open("2026-11-21").Hash != hashes[0] || w.open("2026-11-22").Hash != hashes[1] {
				t.Error("a manifest changed")
			}
			if n, err := w.db.NewSelect().Table("redactions").Where("record = 'n1'").Count(t.Context()); n != 3 || err != nil {
				t.Errorf("%d redactions are recorded (error %v), want 3", n, err)
			}
			// Erasing the last text of a file deletes the file.
			err = archive.RequestRedaction(t.Context(), w.db, w.now(), false, archive.Request{Table: archive.News, Record: "n2", Reason: archive.Deleted, First: "2026-11-22", Last: "2026-11-22"})
			if err != nil {
				t.Fatal(err)
			}
			w.mustTick()
			if problems, _ := w.verify(); len(problems) > 0 || len(textsOf(w, "2026-11-22", archive.News)) != 0 || len(textsOf(w, "2026-11-21", archive.News)) != 1 {
				t.Errorf("problems %q, texts %v", problems, textsOf(w, "2026-11-22", archive.News))
			}
		})
	}
}

// during is a storage that calls once before it writes what was erased.
type during struct {
	archive.Writable
	once func()
}

func (d during) Put(ctx context.Context, name string, content io.Reader, size int64) error {
	if path.Base(name) == archive.RedactionsName {
		d.once()
	}
	return d.Writable.Put(ctx, name, content, size)
}

// TestRequestedAgainWhileErasing checks that a request with another reason isn't taken for done if it comes while the
// job processes the first one.
func TestRequestedAgainWhileErasing(t *testing.T) {
	t.Parallel()
	for _, kind := range dbtest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, kind)
			w.readPlain()
			w.set(day.AddDate(0, 0, 1).Add(12 * time.Hour))
			w.mustTick()
			request := func(reason string) {
				err := archive.RequestRedaction(t.Context(), w.db, w.now(), true, archive.Request{Table: archive.News, Record: "n1", Reason: reason})
				if err != nil {
					t.Error(err)
				}
			}
			request(archive.Hidden)
			asked := false
			w.sealer.Storage = during{w.storage, sync.OnceFunc(func() { asked = true; request(archive.Ordered) })}
			w.mustTick()
			w.mustTick()
			if got := w.redactions("2026-11-21"); !asked || !slices.Equal(got, []string{"news n1 ordered"}) {
				t.Errorf("asked again %t; redactions %v", asked, got)
			}
		})
	}
}

// TestFaultyDayDelaysNoOther checks that a day that can't be read, or that isn't recorded as sealed
// again yet, doesn't stop erasures in the other days. Once it is repaired, it lacks the texts too.
func TestFaultyDayDelaysNoOther(t *testing.T) {
	t.Parallel()
	damaged := func(b []byte) []byte { return b[:len(b)/2] }
	for _, c := range []struct {
		name, faulty, file, other string
		left                      int64 // requests that stay open
	}{
		{"first day damaged", "2026-11-21", "texts/news-hackernews.parquet", "2026-11-22", 1},
		{"last day not recorded", "2026-11-22", "prices-polymarket.parquet", "2026-11-21", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, database.SQLite)
			for i := range 2 {
				w.set(day.AddDate(0, 0, i).Add(12 * time.Hour))
				w.read([]market.Market{yesNo("m")}, nil, []news.Item{post("n1"), post("n2"), post("n3")})
			}
			w.set(day.AddDate(0, 0, 2).Add(time.Hour))
			w.mustTick()
			if c.left == 2 { // as after restoring a backup of the database
				w.exec("DELETE FROM archive_days WHERE day = ?", c.faulty)
			}
			path := archive.Path(c.faulty, c.file)
			intact, err := archive.ReadObject(t.Context(), w.storage, path)
			if err != nil {
				t.Fatal(err)
			}
			w.edit(path, damaged)
			err = archive.RequestRedaction(t.Context(), w.db, w.now(), true,
				archive.Request{Table: archive.News, Record: "n1", Reason: archive.Ordered},
				archive.Request{Table: archive.News, Record: "n2", Reason: archive.Deleted, First: c.other, Last: c.other})
			if err != nil {
				t.Fatal(err)
			}
			if err := w.tick(); err == nil || !strings.Contains(err.Error(), c.faulty) {
				t.Errorf("the run with a faulty day: %v", err)
			}
			if texts := textsOf(w, c.other, archive.News); len(texts) != 1 || texts["n3"] == "" {
				t.Errorf("%s: texts %v, want those of n3 alone", c.other, texts)
			}
			if n, err := w.db.NewSelect().Table("redaction_requests").Where("done_at IS NULL").Count(t.Context()); n != c.left || err != nil {
				t.Errorf("%d requests are open, %v; want %d", n, err, c.left)
			}
			w.edit(path, func([]byte) []byte { return intact })
			w.mustTick()
			if texts := textsOf(w, c.faulty, archive.News); len(texts) != 2 || texts["n1"] != "" {
				t.Errorf("%s: texts %v, want those of n2 and n3", c.faulty, texts)
			}
			if n, err := w.db.NewSelect().Table("redaction_requests").Where("done_at IS NULL").Count(t.Context()); n != 0 || err != nil {
				t.Errorf("after the repair, %d requests are open, %v", n, err)
			}
		})
	}
}

// TestPostsAreLookedForDespiteFaults checks that a deleted post is erased from the database while the
// storage fails or a day can't be sealed.
func TestPostsAreLookedForDespiteFaults(t *testing.T) {
	t.Parallel()
	const last = "days/2026-11-21/manifest.json"
	for name, fault := range map[string]func(w *world){
		"unreachable": func(w *world) { w.storage.set(true) },
		"day missing": func(w *world) { w.edit(last, func([]byte) []byte { return nil }) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, database.SQLite)
			w.sealer.Posts = map[string]archive.FindPosts{"hackernews": func(context.Context, []string) (there, deleted []string, err error) {
				return nil, []string{"n1"}, nil
			}}
			w.readPlain()
			if err := (news.Store{}).Observe(t.Context(), w.db, []news.Item{post("n1")}); err != nil {
				t.Fatal(err)
			}
			w.set(day.AddDate(0, 0, 1).Add(time.Hour))
			w.mustTick()
			w.set(w.now().Add(21 * time.Hour))
			fault(w)
			if err := w.tick(); err == nil {
				t.Error("a run with a fault succeeded")
			}
			if _, found, err := (news.Store{}).ByID(t.Context(), w.db, "n1"); found || err != nil {
				t.Errorf("the deleted post is found: %t, %v", found, err)
			}
		})
	}
}

// texts is an Exporter of the given agents, with one prediction each.
type texts struct{ agents []string }

func (e texts) Export(ctx context.Context, w *archive.DayWriter, _, to time.Time) error {
	var predictions []archive.PredictionRow
	var agents []archive.AgentRow
	var said, names []archive.TextRow
	for _, id := range e.agents {
		text := archive.TextRow{Record: "p-" + id, Agent: id, Salt: []byte("salt"), Content: []byte(`{"title":"` + id + ` predicts"}`)}
		predictions = append(predictions, archive.PredictionRow{ID: text.Record, Agent: id, HorizonAt: to, CreatedAt: to, Texts: archive.TextHash(text.Salt, text.Content)})
		said = append(said, text)
		name := archive.TextRow{Record: id, Salt: []byte("salt"), Content: []byte(`{"name":"` + id + `"}`)}
		agents = append(agents, archive.AgentRow{ID: id, CreatedAt: to, Texts: archive.TextHash(name.Salt, name.Content)})
		names = append(names, name)
	}
	return errors.Join(
		archive.WriteTable(ctx, w, archive.Predictions, "", seq(predictions...)), w.WriteTexts(ctx, archive.Predictions, "", seq(said...)),
		archive.WriteTable(ctx, w, archive.Agents, "", seq(agents...)), w.WriteTexts(ctx, archive.Agents, "", seq(names...)),
	)
}

// TestClosedAccount checks that after an agent closes its account, its name and the texts of its
// predictions are erased from the archive, even if the job stops at any of its writes.
func TestClosedAccount(t *testing.T) {
	t.Parallel()
	for stop := 0; stop < 6; stop++ {
		w := newWorld(t, database.SQLite)
		var ids []string
		for _, name := range []string{"Leaver", "Stayer"} {
			a, err := agent.Store{}.Create(t.Context(), w.db, agent.New{Profile: agent.Profile{Name: name}, At: w.now()})
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, a.ID.String())
		}
		w.sealer.Exporters = []archive.Exporter{texts{ids}}
		w.readPlain()
		w.set(day.AddDate(0, 0, 2).Add(time.Hour))
		w.mustTick()
		err := w.db.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) error {
			_, _, err := agent.Store{}.Close(ctx, tx, uuid.MustParse(ids[0]), w.now())
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		w.set(w.now().Add(time.Minute))
		w.storage.puts, w.storage.failN = 0, stop
		if err := w.tick(); (err == nil) != (stop == 0) {
			t.Fatalf("stopped at write %d: %v", stop, err)
		}
		w.storage.failN = 0
		w.mustTick()
		if problems, _ := w.verify(); len(problems) > 0 {
			t.Errorf("stopped at write %d: %q", stop, problems)
		}
		for _, d := range w.days() {
			said, _ := json.Marshal([]map[string]string{textsOf(w, d, archive.Predictions), textsOf(w, d, archive.Agents)})
			if strings.Contains(string(said), ids[0]) || strings.Count(string(said), ids[1]) != 4 {
				t.Errorf("stopped at write %d, %s: %s", stop, d, said)
			}
			if got := w.redactions(d); len(got) != 2 || !slices.Contains(got, "agents "+ids[0]+" closed") || !slices.Contains(got, "predictions p-"+ids[0]+" closed") {
				t.Errorf("stopped at write %d, %s: redactions %v", stop, d, got)
			}
		}
		// The next day is sealed without the texts, and asks for no erasure again.
		w.readPlain()
		w.set(w.now().AddDate(0, 0, 1))
		w.mustTick()
		w.readPlain()
		w.set(w.now().AddDate(0, 0, 1))
		w.mustTick()
		if n, err := w.db.NewSelect().Table("redaction_requests").Count(t.Context()); n != 1 || err != nil || len(w.days()) != 4 {
			t.Errorf("stopped at write %d: %d requests, %v, after %d days; want 1 after 4", stop, n, err, len(w.days()))
		}
	}
}

// TestDeletedPosts checks that a post is erased from the archive if its source says that it is
// deleted, or if it is missing from two answers. One short or failing answer must erase nothing. Once a post is
// erased, no kept copy of an answer may be served.
func TestDeletedPosts(t *testing.T) {
	t.Parallel()
	for _, kind := range dbtest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, kind)
			there, deleted, failing := []string{}, []string{}, error(nil)
			var asked []string
			w.sealer.Posts = map[string]archive.FindPosts{"hackernews": func(_ context.Context, ids []string) ([]string, []string, error) {
				asked = append(asked, fmt.Sprint(ids))
				return there, deleted, failing
			}}
			items := []news.Item{post("n1"), post("n2"), post("n3")}
			w.read([]market.Market{yesNo("m")}, nil, items)
			if err := (news.Store{}).Observe(t.Context(), w.db, items); err != nil {
				t.Fatal(err)
			}
			w.set(day.AddDate(0, 0, 1).Add(time.Hour))
			w.mustTick()
			left := func() int { return len(textsOf(w, "2026-11-21", archive.News)) }
			texts := func() (moved int64) {
				t.Helper()
				err := w.db.NewRaw("SELECT COALESCE(SUM(value), 0) FROM generations WHERE topic = 'texts'").Scan(t.Context(), &moved)
				if err != nil {
					t.Fatal(err)
				}
				return moved
			}
			step := func(after time.Duration, wantAsked string, wantLeft int) {
				t.Helper()
				moved, erases := texts(), left() != wantLeft
				asked = nil
				w.set(w.now().Add(after))
				if err := w.tick(); (err != nil) != (failing != nil) {
					t.Fatal(err)
				}
				w.mustRedact()
				if now := texts(); (now != moved) != erases {
					t.Errorf("the topic of texts went from %d to %d", moved, now)
				}
				if got := strings.Join(asked, " "); got != wantAsked || left() != wantLeft {
					t.Errorf("asked for %q, want %q; %d texts are left, want %d", got, wantAsked, left(), wantLeft)
				}
			}
			step(19*time.Hour, "", 3)
			failing = errors.New("http_500")
			step(time.Hour, "[n1 n2 n3]", 3)
			failing = nil
			step(time.Minute, "[n1 n2 n3]", 3) // an empty answer
			there, deleted = []string{"n1"}, []string{"n2"}
			step(time.Hour, "[n1 n2 n3]", 1) // an hour later, n3 is missing again
			step(time.Hour, "", 1)
			if got := w.redactions("2026-11-21"); !slices.Equal(got, []string{"news n2 deleted", "news n3 deleted"}) {
				t.Errorf("redactions %v", got)
			}
			if problems, _ := w.verify(); len(problems) > 0 {
				t.Errorf("problems %q", problems)
			}
			var known []string
			err := w.db.NewRaw("SELECT id FROM news_items WHERE title || url || permalink || COALESCE(author, '') <> ''").Scan(t.Context(), &known)
			if err != nil || !slices.Equal(known, []string{"n1"}) {
				t.Errorf("the database has the texts of %v, %v; want n1", known, err)
			}
			step(20*time.Hour, "[n1]", 1)
		})
	}
}

func (w *world) mustRedact() {
	w.t.Helper()
	if err := w.sealer.Redact(w.t.Context(), true); err != nil {
		w.t.Fatal(err)
	}
}
