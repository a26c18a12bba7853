package release_test

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/archive"
	"github.com/pulsecast/pulsecast/app/backup"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/demo"
	"github.com/pulsecast/pulsecast/app/leaderboard"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/release"
	"github.com/pulsecast/pulsecast/app/settlement"
)

// live is a service that settles, builds boards and seals days, with a test clock.
type live struct {
	t       *testing.T
	address string
	folder  string // of the archive
	db      *database.DB
	now     time.Time
	work    *settlement.Service
	board   *leaderboard.Builder
	sealer  *archive.Sealer
}

// serve returns the service on a database.
func serve(t *testing.T, address, folder string, now time.Time) *live {
	t.Helper()
	l := &live{t: t, address: address, folder: folder, db: dbtest.OpenAt(t, address), now: now}
	clock := func() time.Time { return l.now }
	l.work = settlement.New(settlement.Options{DB: l.db, Interval: time.Minute, MinLiquidity: 1000, Now: clock})
	l.board = leaderboard.NewBuilder(l.db, leaderboard.Thresholds{Events: 5, CategoryEvents: 3, Days: 1}, clock)
	l.board.Records = true
	l.sealer = &archive.Sealer{
		DB: l.db, Storage: archive.OpenFolder(folder), Now: clock, Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
		Exporters: []archive.Exporter{&release.Exporter{DB: l.db, Interval: time.Minute, MinLiquidity: 1000}},
	}
	return l
}

// seededAt is when the demo in the databases of seededURL started.
var seededAt = moment(22, 12)

var seededURL = dbtest.Filled(func(ctx context.Context, db *database.DB) error { return demo.Seed(ctx, db, seededAt) })

// moment returns an hour of a day in November.
func moment(day, hour int) time.Time { return time.Date(2026, 11, day, hour, 0, 0, 0, time.UTC) }

// correct gives a market another outcome, which settles its predictions again.
func (l *live) correct(at time.Time, market string) {
	l.t.Helper()
	o, err := settlement.OutcomeOf(l.t.Context(), l.db, market)
	if err != nil || o == nil {
		l.t.Fatalf("the outcome of %s is %v, %v", market, o, err)
	}
	i := slices.IndexFunc(o.Outcomes, func(name string) bool { return name != o.Winner })
	l.rule(at, settlement.KindMarketCorrected, market, o.Outcomes[i])
}

func (l *live) void(at time.Time, market string) {
	l.t.Helper()
	l.rule(at, settlement.KindMarketVoided, market, "")
}

func (l *live) rule(at time.Time, kind, market, outcome string) {
	l.t.Helper()
	l.now = at
	change, err := l.work.Rule(l.t.Context(), kind, market, settlement.Ruling{Outcome: outcome, Note: "A test.", Actor: "eve"})
	if err != nil || change.Open+change.Resolved+change.Void == 0 {
		l.t.Fatalf("%s of %s to %q: %+v, %v", kind, market, outcome, change, err)
	}
}

// build builds the first boards of a day.
func (l *live) build(at time.Time) {
	l.t.Helper()
	l.now = at
	if err := l.board.Rebuild(l.t.Context()); err != nil {
		l.t.Fatal(err)
	}
}

// seal seals the days before a moment.
func (l *live) seal(at time.Time) {
	l.t.Helper()
	l.now = at
	for next := time.Second; next > 0; {
		var err error
		if next, err = l.sealer.Tick(l.t.Context()); err != nil {
			l.t.Fatal(err)
		}
	}
}

func (l *live) backup() (file string) {
	l.t.Helper()
	file = filepath.Join(l.t.TempDir(), "backup")
	if _, err := backup.Make(l.t.Context(), backup.Options{Database: l.address, File: file}); err != nil {
		l.t.Fatal(err)
	}
	return file
}

// restore returns the service on a database that is restored from a backup.
func (l *live) restore(at time.Time, file string) *live {
	l.t.Helper()
	address := dbtest.Empty(l.t, l.db.Kind)
	if _, err := backup.Restore(l.t.Context(), address, file, func() time.Time { return at }); err != nil {
		l.t.Fatal(err)
	}
	return serve(l.t, address, l.folder, at)
}

// entries returns the ids of the ledger's rows in the database, and of those that count in the archive.
func (l *live) entries() (stored, published []string) {
	l.t.Helper()
	err := l.db.NewSelect().Table("score_entries").Column("id").Scan(l.t.Context(), &stored)
	if err != nil {
		l.t.Fatal(err)
	}
	names, err := archive.StoredDays(l.t.Context(), l.sealer.Storage)
	if err != nil {
		l.t.Fatal(err)
	}
	var days []*archive.Day
	var manifests []*archive.Manifest
	for _, name := range names {
		d, err := archive.OpenDay(l.t.Context(), l.sealer.Storage, name)
		if err != nil {
			l.t.Fatal(err)
		}
		days, manifests = append(days, d), append(manifests, d.Manifest)
	}
	abandoned := archive.Abandoned(manifests)
	for _, d := range days {
		for row, err := range archive.Rows[archive.LedgerRow](l.t.Context(), d, archive.Ledger) {
			if err != nil {
				l.t.Fatal(err)
			}
			if !abandoned[d.Manifest.Day] {
				published = append(published, row.ID)
			}
		}
	}
	slices.Sort(stored)
	slices.Sort(published)
	return stored, published
}

// recomputed checks that the archive gives the boards and the ledger of the service.
func (l *live) recomputed(board time.Time) {
	l.t.Helper()
	if stored, published := l.entries(); len(stored) == 0 || !slices.Equal(stored, published) {
		l.t.Errorf("the ledger has %d rows, and the archive %d", len(stored), len(published))
	}
	r, err := release.Recompute(l.t.Context(), l.sealer.Storage, func(string) {})
	if err != nil {
		l.t.Fatal(err)
	}
	if !r.AsOf.Equal(board) || len(r.Main()) < 10 {
		l.t.Errorf("recomputed the board of %s with %d rows, want that of %s", r.AsOf, len(r.Main()), board)
	}
	for _, text := range r.Differences {
		l.t.Error(text)
	}
	v, err := release.Verify(l.t.Context(), l.sealer.Storage, func(int, int) {})
	if err != nil || len(v.Problems) > 0 {
		l.t.Errorf("verify: %+v, %v", v, err)
	}
}

// settledMarkets returns markets with predictions that have a score.
func (l *live) settledMarkets() []string {
	l.t.Helper()
	var list []prediction.Prediction
	err := prediction.Select(l.db).Where("p.status = 'resolved' AND p.baseline_state = 'fixed'").OrderExpr("p.market_id").Scan(l.t.Context(), &list)
	if err != nil {
		l.t.Fatal(err)
	}
	var ids []string
	for i := range list {
		ids = append(ids, list[i].MarketID)
	}
	return slices.Compact(ids)
}

// TestRecomputeAfterARestore checks that the archive gives the live boards and ledger after the database
// was restored from a backup, although days between the backup and the restore are sealed. The decisions
// in these days are undone, and some are made again in another way.
func TestRecomputeAfterARestore(t *testing.T) {
	t.Parallel()
	for _, kind := range dbtest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			l := serve(t, seededURL(t, kind), t.TempDir(), seededAt)
			first := archive.PriceRow{Market: "m", Observed: archive.Observed{ObservedAt: l.now, Source: demo.Source, Sample: true}, Prices: []float64{0.3, 0.7}}
			if err := archive.Append(t.Context(), l.db, archive.Prices, []archive.PriceRow{first}, l.now); err != nil {
				t.Fatal(err)
			}
			markets := l.settledMarkets()
			if len(markets) < 4 {
				t.Fatalf("%d markets are settled, want at least 4", len(markets))
			}
			l.build(moment(22, 13))
			l.seal(moment(23, 1))
			l.correct(moment(23, 9), markets[0])
			l.build(moment(23, 10))
			file := l.backup()
			// The time from here on is given up.
			l.correct(moment(23, 15), markets[1])
			l.seal(moment(24, 1))
			l.correct(moment(24, 8), markets[2])
			l.void(moment(24, 9), markets[0])
			l.build(moment(24, 10))
			l.seal(moment(25, 1))
			l.recomputed(moment(24, 10))

			l = l.restore(moment(25, 8), file)
			l.void(moment(25, 9), markets[1])
			l.correct(moment(25, 9), markets[3])
			l.build(moment(25, 10))
			l.seal(moment(26, 1))
			l.recomputed(moment(25, 10))

			l = l.restore(moment(26, 8), file) // the same backup again
			l.correct(moment(26, 9), markets[2])
			l.build(moment(26, 10))
			l.seal(moment(27, 1))
			l.recomputed(moment(26, 10))
			elsewhere(t, l.folder)
		})
	}
}

// elsewhere rebuilds the board with DuckDB. It needs Node.js and the npm packages.
func elsewhere(t *testing.T, folder string) {
	t.Helper()
	modules, err := filepath.Abs("../../node_modules")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(modules, "@duckdb", "node-api")); errors.Is(err, fs.ErrNotExist) {
		t.Skip("DuckDB is missing: npm ci installs it (NEED_NPM)")
	}
	out, err := exec.CommandContext(t.Context(), "node", "testdata/recompute.mjs", folder, modules).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "numbers compared, 0 differ") {
		t.Errorf("DuckDB: %v\n%.2000s", err, out)
	}
}
