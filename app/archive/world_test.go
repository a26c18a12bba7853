package archive_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path"
	"sync"
	"testing"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/archive"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/news"
)

// world is a service that records readings and seals days, with a test clock.
type world struct {
	t        testing.TB
	address  string
	db       *database.DB
	storage  *faulty
	recorder *archive.Recorder
	sealer   *archive.Sealer
	mu       sync.Mutex
	at       time.Time
}

func newWorld(t testing.TB, kind database.Kind) *world {
	t.Helper()
	w := &world{t: t, storage: &faulty{Writable: archive.OpenFolder(t.TempDir())}, at: day.Add(12 * time.Hour), sealer: &archive.Sealer{}}
	return w.on(dbtest.URL(t, kind))
}

// on returns the world with another database. It keeps the storage, the exporters and the time.
func (w *world) on(address string) *world {
	w.t.Helper()
	next := &world{t: w.t, address: address, db: dbtest.OpenAt(w.t, address), storage: w.storage, at: w.now()}
	next.recorder = archive.NewRecorder(next.now)
	next.sealer = &archive.Sealer{
		DB: next.db, Storage: next.storage, Exporters: w.sealer.Exporters, Now: next.now, Log: slog.New(slog.NewTextHandler(w.t.Output(), nil)),
	}
	return next
}

func (w *world) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.at
}

func (w *world) set(at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.at = at
}

// read records a reading of the markets and the news at the current time.
func (w *world) read(markets []market.Market, events []market.Event, items []news.Item) {
	w.t.Helper()
	w.readMarkets(markets, events)
	w.readNews(items)
}

func (w *world) readMarkets(markets []market.Market, events []market.Event) {
	w.t.Helper()
	for i := range markets {
		markets[i].ObservedAt = w.now()
	}
	for i := range events {
		events[i].UpdatedAt = w.now()
	}
	w.record(func(ctx context.Context, tx bun.Tx) (func(), error) {
		return w.recorder.Markets(ctx, tx, markets, events)
	})
}

func (w *world) readNews(items []news.Item) {
	w.t.Helper()
	for i := range items {
		items[i].ObservedAt = w.now()
	}
	w.record(func(ctx context.Context, tx bun.Tx) (func(), error) { return w.recorder.News(ctx, tx, items) })
}

func (w *world) record(reading func(ctx context.Context, tx bun.Tx) (func(), error)) {
	w.t.Helper()
	kept := func() {}
	err := w.db.InTx(w.t.Context(), func(ctx context.Context, tx bun.Tx) (err error) {
		kept, err = reading(ctx, tx)
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	kept()
}

// readPlain records a reading of one market and one item.
func (w *world) readPlain() {
	w.t.Helper()
	w.read([]market.Market{yesNo("m1")}, nil, []news.Item{post("n1")})
}

// tick runs the job until no work is left.
func (w *world) tick() error {
	w.t.Helper()
	for {
		next, err := w.sealer.Tick(w.t.Context())
		if err != nil || next == 0 {
			return err
		}
	}
}

func (w *world) mustTick() {
	w.t.Helper()
	if err := w.tick(); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) open(day string) *archive.Day {
	w.t.Helper()
	d, err := archive.OpenDay(w.t.Context(), w.storage, day)
	if err != nil {
		w.t.Fatal(err)
	}
	return d
}

// check returns the findings of a day.
func (w *world) check(day string) *archive.Findings {
	w.t.Helper()
	found, err := w.open(day).Check(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return found
}

func (w *world) days() (days []string) {
	w.t.Helper()
	list, err := archive.DaysBetween(w.t.Context(), w.db, "", "9999-12-31")
	if err != nil {
		w.t.Fatal(err)
	}
	for _, d := range list {
		days = append(days, d.Day)
	}
	return days
}

func (w *world) segments() int64 {
	w.t.Helper()
	st, err := archive.ReadStatus(w.t.Context(), w.db)
	if err != nil {
		w.t.Fatal(err)
	}
	return st.Waiting
}

func rowsOf[T any](w *world, day, table string) (rows []T) {
	w.t.Helper()
	for row, err := range archive.Rows[T](w.t.Context(), w.open(day), table) {
		if err != nil {
			w.t.Fatal(err)
		}
		rows = append(rows, row)
	}
	return rows
}

func textsOf(w *world, day, table string) map[string]string {
	w.t.Helper()
	texts := map[string]string{}
	for row, err := range archive.TextRows(w.t.Context(), w.open(day), table) {
		if err != nil {
			w.t.Fatal(err)
		}
		texts[row.Record] += string(row.Content)
	}
	return texts
}

// yesNo returns an open market.
func yesNo(id string) market.Market {
	return market.Market{
		ID: id, Source: "polymarket", Question: "Will " + id + "?", Title: "Will " + id + "?", Outcomes: []string{"Yes", "No"},
		Prices: []float64{0.4, 0.6}, BestBid: new(0.39), BestAsk: new(0.41), Liquidity: new(1000.0), Volume: new(5000.0), Active: true,
		Received: fmt.Sprintf("%064x", 1),
	}
}

func post(id string) news.Item {
	return news.Item{
		ID: id, Source: "hackernews", Community: "technology", Title: "Title of " + id, URL: "https://x.example/" + id,
		Permalink: "https://news.example/" + id, Author: "omber", PostedAt: day, Score: 1, ScoreKnown: true, Received: fmt.Sprintf("%064x", 2),
	}
}

var errDown = errors.New("no route to the archive")

// faulty is an archive that can be unreachable, or fail from some write on.
type faulty struct {
	archive.Writable
	mu    sync.Mutex
	down  bool
	puts  int // writes so far
	failN int // first write that fails; 0 for none
	// failOn is the last part of the names whose writes fail; "" for none.
	failOn string
}

func (f *faulty) fail(name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.puts++
	if f.down || f.failN > 0 && f.puts >= f.failN || f.failOn == path.Base(name) {
		return errDown
	}
	return nil
}

func (f *faulty) set(down bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.down = down
}

func (f *faulty) Put(ctx context.Context, name string, content io.Reader, size int64) error {
	if err := f.fail(name); err != nil {
		return err
	}
	return f.Writable.Put(ctx, name, content, size)
}

func (f *faulty) PutNew(ctx context.Context, name string, content io.Reader, size int64) error {
	if err := f.fail(name); err != nil {
		return err
	}
	return f.Writable.PutNew(ctx, name, content, size)
}

func (w *world) exec(query string, args ...any) {
	w.t.Helper()
	if _, err := w.db.ExecContext(w.t.Context(), query, args...); err != nil {
		w.t.Fatal(err)
	}
}

// copied names a table whose rows are kept.
type copied struct{ table string }

// copyOf copies the rows of a table to kept_rows.
func copyOf(t testing.TB, db *database.DB, table string) copied {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), "CREATE TABLE kept_rows AS SELECT * FROM "+table); err != nil {
		t.Fatal(err)
	}
	return copied{table}
}

func (c copied) restore(t testing.TB, db *database.DB) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), "INSERT INTO "+c.table+" SELECT * FROM kept_rows"); err != nil {
		t.Fatal(err)
	}
}
